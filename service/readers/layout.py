"""The layout that the user gives with a file: contract.datasets.Layout without pydantic."""

from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of contract.datasets.Layout; None where the user gave nothing."""

    dt: float | None = None
    time_column: str | None = None
    id_column: str | None = None
    state_columns: tuple[str, ...] | None = None
    orientation: str | None = None
    axes: str | None = None
    time_unit: str | None = None
    state_unit: str | None = None
    gap_factor: float = 1.5

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        """Make a layout from the JSON form of contract.datasets.Layout."""
        known = {field.name: given[field.name] for field in fields(cls) if field.name in given}
        if known.get("state_columns") is not None:
            known["state_columns"] = tuple(known["state_columns"])
        return cls(**known)
