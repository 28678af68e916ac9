"""Logs of service and worker: one JSON object per line on standard error, libraries' included."""

import logging
import logging.config
from typing import Any

import structlog


def configure(level: str = "INFO") -> None:
    """Send structlog's and the standard library's events to standard error, with their context."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    json = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [structlog.stdlib.ExtraAdder(), _without_colours, *shared],
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(default=str),
        ],
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": json},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"handlers": ["stderr"], "level": level},
            # The service writes an event for each request itself.
            "loggers": {"uvicorn.access": {"level": "WARNING"}},
        }
    )


def _without_colours(_logger: Any, _method: str, event: Any) -> Any:
    """Drop uvicorn's second message, which holds codes for a terminal."""
    event.pop("color_message", None)
    return event
