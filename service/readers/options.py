"""What every reader is given besides the file: the user's layout, limits, notes for the report."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol, Self

NONE = "none"
"""Word of a layout for the absence of a column."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of contract.datasets.Layout; None where the user gave nothing."""

    dt: float | None = None
    time_column: str | None = None
    id_column: str | None = None
    state_columns: tuple[str, ...] | None = None
    ignored_columns: tuple[str, ...] | None = None
    orientation: str | None = None
    axes: str | None = None
    time_unit: str | None = None
    state_unit: str | dict[str, str] | None = None
    state_names: dict[str, str] | None = None
    group_column: str | None = None
    input_columns: tuple[str, ...] | None = None
    error_columns: tuple[str, ...] | None = None
    gap_factor: float = 1.5
    timeless: bool = False
    """Whether no column is time (`time_column=none`)."""
    single: bool = False
    """Whether no column tells trajectories apart (`id_column=none`)."""

    @property
    def beside(self) -> dict[str, tuple[str, ...]]:
        """Columns of groups, inputs and errors that are named, by field."""
        return {
            "group_column": () if self.group_column is None else (self.group_column,),
            "input_columns": self.input_columns or (),
            "error_columns": self.error_columns or (),
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        """Make a layout from the JSON form of contract.datasets.Layout."""
        known = {field.name: given[field.name] for field in fields(cls) if field.name in given}
        for several in ("state_columns", "ignored_columns", "input_columns", "error_columns"):
            if known.get(several) is not None:
                known[several] = tuple(known[several])
        for name, absent in (("time_column", "timeless"), ("id_column", "single")):
            if known.get(name) == NONE:
                known[name], known[absent] = None, True
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the data, checked before memory is allocated, and on the process that reads."""

    numbers: int = 50_000_000
    """Number of samples times number of columns."""
    columns: int = 10_000
    """Columns of a text file, which are the samples of a trajectory where rows are trajectories."""
    state_columns: int = 64
    trajectories: int = 1_000_000
    line_length: int = 1_048_576
    """Characters in one line of a text file."""
    json_bytes: int = 64 * 2**20
    """Size of a JSON file; it is parsed as a whole and then takes about thirty times its size."""
    members: int = 10_000
    """Arrays in an npz file; arrays, cells and fields in a MAT file."""
    memory_bytes: int = 3 * 2**30
    """Address space of the reading process [byte]."""
    file_bytes: int = 2**62
    """Bytes that the files of the dataset may take."""
    cpu_seconds: int = 90
    wall_seconds: float = 360.0
    """Longest time of a read; on a busy machine, its CPU time may take as long."""

    def for_numbers(self, numbers: int) -> "Limits":
        """Return the limits for data of `numbers`; memory and time grow in proportion to them."""
        factor = max(1.0, numbers / self.numbers)
        return replace(
            self,
            numbers=numbers,
            memory_bytes=int(factor * self.memory_bytes),
            cpu_seconds=int(factor * self.cpu_seconds),
            wall_seconds=factor * self.wall_seconds,
        )


class _Numbered(Protocol):
    """A column of a table."""

    @property
    def position(self) -> int: ...


@dataclass(slots=True)
class Notes:
    """Assumptions, warnings and counts, in the order in which they arose."""

    assumptions: list[str] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    dt_in_file: tuple[float, str | None, str] | None = None
    """Sampling interval that the file names outside its columns, its unit, and the words that name
    it."""
    places: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Role of a column and the reason for it, by the column's number, where it was inferred."""
    n_missing: int = 0
    n_duplicate_times: int = 0
    n_gaps: int = 0

    def assume(self, sentence: str) -> None:
        """Add an assumption, unless it is there already."""
        if sentence not in self.assumptions:
            self.assumptions.append(sentence)

    def place(self, role: str, reason: str, *columns: _Numbered) -> None:
        """Note the role of columns and the reason for it."""
        self.places.update({column.position: (role, reason) for column in columns})

    def warn(self, code: str, message: str, **details: Any) -> None:
        """Add a warning of something that may change the result; the message says what to try."""
        self.warnings.append({"code": code, "message": message, "details": details})
