"""Logs and traces of service and worker.

Logs are one JSON object a line on standard error, for libraries' events, too. Traces are made where
OpenTelemetry's own variables ask for them; else nothing of it is imported. A job has one trace,
whose id is computed from the job's (`trace_of`), as is that of its first span, the submission. So
nothing has to travel with the job, and an attempt after a crash is in the same trace as the first.
"""

import hashlib
import logging
import logging.config
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
EXPORT_MILLISECONDS = 1000

Stage = Callable[[str], None]


def configure_logs(level: str = "INFO") -> None:
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


class TracingMissing(Exception):
    """Traces are asked for and OpenTelemetry is not installed."""


def trace_of(job_id: str) -> tuple[int, int]:
    """Return the ids of a job's trace and of its first span."""
    digest = hashlib.sha256(job_id.encode()).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")


class Attempt:
    """Span of an attempt, with one below it for each stage; without a tracer, nothing."""

    def __init__(self, run: Any = None, begun: Callable[[str], Any] | None = None) -> None:
        self._run, self._begun = run, begun
        self._name = ""
        self._stage: Any = None

    def stage(self, name: str) -> None:
        """Begin the next stage."""
        if self._begun is not None and name != self._name:
            if self._stage is not None:
                self._stage.end()
            self._name, self._stage = name, self._begun(name)

    def outcome(self, outcome: str) -> None:
        """Record how the attempt ended."""
        if self._run is not None:
            self._run.set_attribute("itoscope.outcome", outcome)

    def end(self) -> None:
        """End the open spans."""
        for span in (self._stage, self._run):
            if span is not None:
                span.end()


class Traces:
    """Tracer of one process; without an exporter it does nothing."""

    def __init__(self, process: str, exporter: Any = None) -> None:
        """Make a tracer that sends to one of OpenTelemetry's span exporters, or to none."""
        self._provider: Any = None
        self._tracer: Any = None
        self._made = threading.local()
        if exporter is None:
            return
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        made = self._made

        class Ids(RandomIdGenerator):
            """Random ones, but where they are made of a job's."""

            def generate_span_id(self) -> int:
                return int(made.__dict__.pop("span", 0)) or super().generate_span_id()

            def generate_trace_id(self) -> int:
                return int(made.__dict__.pop("trace", 0)) or super().generate_trace_id()

        resource = Resource.create({"service.name": f"itoscope-{process}"})
        self._provider = TracerProvider(
            resource=resource, id_generator=Ids(), shutdown_on_exit=False
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_MILLISECONDS)
        )
        self._tracer = self._provider.get_tracer("itoscope")

    def submitted(self, job_id: str, began: int, attributes: Mapping[str, Any]) -> None:
        """Record the job's first span: from its request (nanoseconds since 1970) until now."""
        if self._tracer is None:
            return
        from opentelemetry.context import Context

        self._made.trace, self._made.span = trace_of(job_id)
        told = {"itoscope.job": job_id, **attributes}
        start = self._tracer.start_span
        start("submit", context=Context(), start_time=began, attributes=told).end()

    @contextmanager
    def attempt(self, job_id: str, attempt: int) -> Iterator["Attempt"]:
        """Open a span for the attempt, which ends with the `with` block."""
        if self._tracer is None:
            yield Attempt()
            return
        from opentelemetry import trace as api

        trace, span = trace_of(job_id)
        first = api.SpanContext(
            trace, span, is_remote=True, trace_flags=api.TraceFlags(api.TraceFlags.SAMPLED)
        )
        above = api.set_span_in_context(api.NonRecordingSpan(first))
        run = self._tracer.start_span(
            "run", context=above, attributes={"itoscope.job": job_id, "itoscope.attempt": attempt}
        )
        below = api.set_span_in_context(run)
        found = Attempt(run, lambda name: self._tracer.start_span(name, context=below))
        try:
            yield found
        finally:
            found.end()

    def close(self) -> None:
        """Send what is left."""
        if self._provider is not None:
            self._provider.shutdown()


def traces(process: str, environment: Mapping[str, str] = os.environ) -> Traces:
    """Return the tracer that the environment asks for. Raise TracingMissing."""
    if (
        not any(environment.get(name) for name in ENDPOINTS)
        or environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    ):
        return Traces(process)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise TracingMissing(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and the extra `telemetry` is not installed"
        ) from error
    return Traces(process, OTLPSpanExporter())
