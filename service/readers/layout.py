"""How the user says a file is laid out, as the reading child knows it (contract.datasets.Layout without pydantic)."""

from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Layout:
    """Fields as in contract.datasets.Layout; None where nothing was said."""

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
        """From the JSON form of the contract's document."""
        known = {field.name: given[field.name] for field in fields(cls) if field.name in given}
        if known.get("state_columns") is not None:
            known["state_columns"] = tuple(known["state_columns"])
        return cls(**known)
