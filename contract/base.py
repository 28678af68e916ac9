"""The base of every document: frozen, no unknown fields, no NaN, every field with a description."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import ComputedFieldInfo, FieldInfo

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
