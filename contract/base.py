"""The manners every document shares: frozen, no unknown fields, no NaN."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Document(BaseModel):
    """Base of every document that crosses a process boundary."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        populate_by_name=True,
        ser_json_inf_nan="null",
        use_attribute_docstrings=True,
    )


Name = Annotated[str, Field(min_length=1, max_length=200)]
"""A short label: a column, a variable, a key."""

Interval = tuple[float | None, float | None]
"""Lower and upper end; `null` is an open end."""
