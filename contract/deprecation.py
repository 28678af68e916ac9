"""What is still understood, yet will go away one day."""

from dataclasses import dataclass
from datetime import date
from typing import Any

EXTENSION = "x-deprecation"
"""Where a JSON Schema or an operation of the OpenAPI document says since when, until when, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """An operation or a field that nobody should begin to use.

    since     the day it was deprecated
    link      address of a text that says what to do instead
    sunset    the day from which it may be gone; None while that is open
    """

    since: date
    link: str
    sunset: date | None = None

    @property
    def extra(self) -> dict[str, Any]:
        """For `json_schema_extra` of a field, and `openapi_extra` of a route."""
        told = {"since": self.since.isoformat(), "link": self.link}
        if self.sunset is not None:
            told["sunset"] = self.sunset.isoformat()
        return {"deprecated": True, EXTENSION: told}

    @classmethod
    def of(cls, extra: Any) -> "Deprecation | None":
        """The way back; None where nothing is deprecated."""
        told = extra.get(EXTENSION) if isinstance(extra, dict) else None
        if told is None:
            return None
        sunset = told.get("sunset")
        return cls(
            date.fromisoformat(told["since"]),
            told["link"],
            date.fromisoformat(sunset) if sunset else None,
        )
