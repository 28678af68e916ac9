"""Documents: frozen, no unknown fields, no NaN, described and perhaps deprecated fields, terms."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic.fields import ComputedFieldInfo, FieldInfo
from pydantic_core import PydanticCustomError

from grammar.terms import LONGEST, NotATerm, parse

_WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")
_UNIT = re.compile(r"\[([\w/()·²³]+)\]")


def _title(name: str, field: FieldInfo | ComputedFieldInfo) -> str:
    """Return a field's title for forms, such as `Polynomial degree`."""
    words = name.strip("_").replace("_", " ")
    return words[:1].upper() + words[1:]


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Join the lines of descriptions, and copy the unit in brackets to `x-unit` for programs.

    The units `time` and `state` are those of the data.
    """
    for described in (schema, *schema.get("properties", {}).values()):
        if "description" in described:
            described["description"] = _WRAPPED.sub(" ", described["description"])
    for described in schema.get("properties", {}).values():
        unit = _UNIT.search(described.get("description", ""))
        if unit is not None:
            described["x-unit"] = unit[1]


class Document(BaseModel):
    """Base of every document that crosses a process boundary."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        ser_json_inf_nan="null",
        use_attribute_docstrings=True,
        field_title_generator=_title,
        json_schema_extra=_describe,
    )


Name = Annotated[str, Field(min_length=1, max_length=200)]
"""A short label: a column, a variable, a key."""

Interval = tuple[float | None, float | None]
"""Lower and upper end; `null` is an unbounded end."""


CHECKED = {"checked": True}
"""Context of a validation that leaves out what takes long and was checked before."""


def checked_term(text: str) -> str:
    """Return the term as given. Raises ValueError, which names what is not understood and where."""
    try:
        parse(text)
    except NotATerm as error:
        message = f"the term {error.fault}"
        # A plain ValueError's message would begin with the words "Value error".
        raise PydanticCustomError("term", "{message}", {"message": message}) from None
    return text


def _term(text: str, info: ValidationInfo) -> str:
    return text if info.context is CHECKED else checked_term(text)


Term = Annotated[str, Field(min_length=1, max_length=LONGEST), AfterValidator(_term)]
"""A term by its text, e.g. `x^3` or `sin(2*x)`."""


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
