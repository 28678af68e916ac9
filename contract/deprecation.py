"""Deprecation of operations and fields that are still accepted and will be removed."""

from dataclasses import dataclass
from datetime import date
from typing import Any

EXTENSION = "x-deprecation"
"""Key of a JSON Schema or an OpenAPI operation that holds `since`, `link` and `sunset`."""


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Deprecation of an operation or a field, which new callers should not use.

    since     date of deprecation
    link      address of a text that says what to use instead
    sunset    date from which it may be removed; None if that is not decided
    """

    since: date
    link: str
    sunset: date | None = None

    @property
    def extra(self) -> dict[str, Any]:
        """Entries for `json_schema_extra` of a field or `openapi_extra` of a route."""
        dates = {"since": self.since.isoformat(), "link": self.link}
        if self.sunset is not None:
            dates["sunset"] = self.sunset.isoformat()
        return {"deprecated": True, EXTENSION: dates}

    @classmethod
    def of(cls, extra: Any) -> "Deprecation | None":
        """Read a deprecation from the entries of `extra`; None if there is none."""
        dates = extra.get(EXTENSION) if isinstance(extra, dict) else None
        if dates is None:
            return None
        sunset = dates.get("sunset")
        return cls(
            date.fromisoformat(dates["since"]),
            dates["link"],
            date.fromisoformat(sunset) if sunset else None,
        )
