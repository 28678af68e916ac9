"""The values between a file and the canonical arrays: tables of columns, and records."""

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LARGEST_EXACT = 2**53
"""Largest number up to which every whole number is a double."""
NOT_A_TIME = int(np.iinfo(np.int64).min)
"""Value of a missing time stamp among int64 ticks (NumPy's own NaT)."""


@dataclass(slots=True)
class Lines:
    """Line of the file from which each sample came, counted from 1."""

    first_sample: list[int] = field(default_factory=lambda: [0])
    first_line: list[int] = field(default_factory=lambda: [1])

    def start(self, sample: int, line: int) -> None:
        """Let the lines count up from `line` from this sample on."""
        if line - self.first_line[-1] != sample - self.first_sample[-1]:
            self.first_sample.append(sample)
            self.first_line.append(line)

    def __getitem__(self, sample: int) -> int:
        """Return the line of a sample."""
        piece = bisect_right(self.first_sample, sample) - 1
        return self.first_line[piece] + sample - self.first_sample[piece]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column as the file has it.

    number   float64 values, NaN where missing, or int64 (exact until the first time is subtracted)
    stamp    int64 ticks of `tick` seconds since 1970 UTC, NOT_A_TIME where missing
    text     int64 codes, which are positions in `labels`, -1 where missing
    """

    position: int
    """Number of the column, counted from 1."""
    name: str | None
    kind: Literal["number", "stamp", "text"]
    values: npt.NDArray[Any]
    unit: str | None = None
    labels: tuple[str, ...] = ()
    tick: float = 1.0
    date_only: bool = False

    @property
    def title(self) -> str:
        """Words for the column in a message."""
        return f"column {self.position}" + (f" ('{self.name}')" if self.name else "")

    @property
    def key(self) -> str:
        """Name or number of the column in a layout."""
        return (self.name or str(self.position))[:200]

    def shown(self, count: int) -> tuple[str, ...]:
        """Return the first values as text, empty where missing."""
        first = self.values[:count]
        match self.kind:
            case "text":
                return tuple(self.labels[code][:40] if code >= 0 else "" for code in first)
            case "stamp":
                ticks = [None if v == NOT_A_TIME else int(v) for v in first]
                return tuple("" if v is None else _stamp(v * self.tick) for v in ticks)
        return tuple("" if np.isnan(v) else f"{v:.10g}" for v in np.asarray(first, np.float64))

    def numbers(self) -> Floats:
        """Return the values as (n,) float64, NaN where missing."""
        return np.asarray(self.values, dtype=np.float64)


def _stamp(seconds: float) -> str:
    """Write seconds since 1970 as a date, with the time of day where it is not midnight."""
    moment = np.datetime64(round(seconds * 1e6), "us")
    return str(moment).removesuffix("000").removesuffix(".000").removesuffix("T00:00:00")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns with one row per sample, before their roles (time, state, trajectory) are known."""

    columns: tuple[Column, ...]
    lines: Lines
    row_word: str = "row"
    """Word for the place of a sample in a message: `row` (line of the file) or `sample`."""
    unread: tuple[Column, ...] = ()
    """Columns that the layout leaves out and that were not read beyond their first values."""
    beside: tuple[Column, ...] = ()
    """Columns of groups, inputs and errors, which take no part in finding time and states."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def every_column(self) -> tuple[Column, ...]:
        """All columns of the file in its order, read or not."""
        return tuple(
            sorted((*self.columns, *self.unread, *self.beside), key=lambda column: column.position)
        )

    def taken(self, keep: Flags) -> "Table":
        """Select the rows to keep (n,)."""
        kept = np.flatnonzero(keep)
        jumps = set(kept[np.diff(kept, prepend=-2) > 1].tolist()) | set(self.lines.first_sample)
        lines = Lines([0], [self.lines[int(kept[0])] if kept.size else 1])
        for old in sorted(jumps):
            new = int(np.searchsorted(kept, old))
            if new < len(kept) and kept[new] == old:
                lines.start(new, self.lines[old])
        columns, beside = (
            tuple(replace(column, values=column.values[keep]) for column in several)
            for several in (self.columns, self.beside)
        )
        return replace(self, columns=columns, beside=beside, lines=lines)

    @property
    def named(self) -> bool:
        """Whether the file names at least one column."""
        return any(column.name for column in self.columns)


@dataclass(frozen=True, slots=True)
class Variable:
    """One coordinate of the state: the column it came from, its unit, and its given symbol."""

    column: str | None
    unit: str | None = None
    symbol: str | None = None
    """Word that the layout gives; None where it is made of the column's name."""
    key: str = ""
    """Word for the variable in a layout."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Samples with known roles, in the order of the file and with the missing ones in place.

    states      (n, d) float64, NaN where missing                                           [state]
    times       (n,)   float64 since the first time, NaN where missing; None without times  [time]
    trajectory  (n,)   int64 codes in order of appearance; None for one trajectory
    """

    states: Floats
    variables: tuple[Variable, ...]
    times: Floats | None = None
    trajectory: Integers | None = None
    padded: bool = False
    """Whether missing samples at either end of a trajectory are padding and not data."""
    time_name: str | None = None
    time_unit: str | None = None
    time_is_age: bool = False
    counted: bool = False
    """Whether `times` counts samples; multiplied by the sampling interval they are times."""
    printed: Floats | None = None
    """Times as the file prints them; their digits show the rounding. None for calendar stamps."""
    tick: float = 1.0
    """Resolution of calendar stamps [time]."""
    columns: tuple[dict[str, Any], ...] = ()
    """Columns of the file in the JSON form of contract.datasets.Column."""
    resolved: dict[str, Any] = field(default_factory=dict)
    """Fields of the layout, as given or inferred."""
    lines: Lines = field(default_factory=Lines)
    row_word: str = "row"
    inputs: Floats | None = None
    """(n, m) float64 signals that drive the system, NaN where missing."""
    input_variables: tuple[Variable, ...] = ()
    errors: Floats | None = None
    """(n, d) float64 standard errors of the states, NaN where missing [state]."""
    names: tuple[str, ...] = ()
    """Name of each trajectory of `trajectory`; empty where the file names none."""
    groups: tuple[str, ...] = ()
    """Group of each trajectory of `trajectory`; empty without groups."""

    files: tuple[tuple[int, str], ...] = ()
    """First sample and name of each file, where the record was joined from several."""
    whole_rows: bool = False
    """Whether every row of the file is a trajectory, all of the same number of columns."""

    def place(self, sample: int) -> str:
        """Return the place of a sample in the file, in words."""
        if self.files:
            name = next(name for start, name in reversed(self.files) if start <= sample)
            return name if self.whole_rows else f"{self.row_word} {self.lines[sample]} of {name}"
        if self.whole_rows and self.trajectory is not None:
            length = len(self.states) // (int(self.trajectory[-1]) + 1)
            column = sample % length
            return f"{self.row_word} {self.lines[sample - column]}, column {column + 1}"
        return f"{self.row_word} {self.lines[sample]}"
