"""The two forms between a file and the canonical arrays: a table of columns, and a record of trajectories."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NOT_A_TIME = int(np.iinfo(np.int64).min)
"""A missing stamp among int64 ticks (NumPy's own NaT)."""


@dataclass(slots=True)
class Lines:
    """Which line of the file a sample came from, as an editor counts them."""

    first_sample: list[int] = field(default_factory=lambda: [0])
    first_line: list[int] = field(default_factory=lambda: [1])

    def start(self, sample: int, line: int) -> None:
        """From `sample` on, lines count up from `line`."""
        if line - self.first_line[-1] != sample - self.first_sample[-1]:
            self.first_sample.append(sample)
            self.first_line.append(line)

    def __getitem__(self, sample: int) -> int:
        piece = bisect_right(self.first_sample, sample) - 1
        return self.first_line[piece] + sample - self.first_sample[piece]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column as the file has it.

    number   values float64, NaN where missing, or int64 (kept exact until the smallest stamp is subtracted)
    stamp    values int64 ticks of `tick` seconds since 1970 UTC, NOT_A_TIME where missing
    text     values int64 codes into `labels`, -1 where missing
    """

    position: int
    """1-based, as the user counts."""
    name: str | None
    kind: Literal["number", "stamp", "text"]
    values: npt.NDArray[Any]
    unit: str | None = None
    labels: tuple[str, ...] = ()
    tick: float = 1.0
    date_only: bool = False

    @property
    def title(self) -> str:
        """How a message speaks of it."""
        return f"column {self.position}" + (f" ('{self.name}')" if self.name else "")

    @property
    def key(self) -> str:
        """What a layout would call it."""
        return (self.name or str(self.position))[:200]

    def numbers(self) -> Floats:
        """(n,) float64, NaN where missing."""
        return np.asarray(self.values, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One row per sample, before anyone knows which column is what."""

    columns: tuple[Column, ...]
    lines: Lines
    row_word: str = "row"
    """What a message calls a sample's place: `row` (line of the file) or `sample`."""

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    @property
    def named(self) -> bool:
        """Whether the file names its columns."""
        return any(column.name for column in self.columns)


@dataclass(frozen=True, slots=True)
class Variable:
    """One coordinate of the state."""

    column: str | None
    unit: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Samples with their meaning, still in file order and with everything missing still in place.

    states      (n, d) float64, NaN where missing                                         [state]
    times       (n,)   float64 from the first stamp on, NaN where missing; None without a time column   [time]
    trajectory  (n,)   int64, codes in order of appearance; None for one trajectory
    """

    states: Floats
    variables: tuple[Variable, ...]
    times: Floats | None = None
    trajectory: Integers | None = None
    padded: bool = False
    """Missing samples at either end of a trajectory are padding, not data."""
    time_name: str | None = None
    time_unit: str | None = None
    time_is_age: bool = False
    counted: bool = False
    """`times` counts frames; the sampling interval turns them into time."""
    printed: Floats | None = None
    """Time stamps as the file has them; their digits show how finely they were rounded. None for calendar stamps."""
    tick: float = 1.0
    """Unit of calendar stamps [time]."""
    resolved: dict[str, Any] = field(default_factory=dict)
    """Layout fields as resolved."""
    lines: Lines = field(default_factory=Lines)
    row_word: str = "row"

    whole_rows: bool = False
    """Every row of the file is a trajectory of the same number of columns."""

    def place(self, sample: int) -> str:
        """Where a sample stands in the file, in words."""
        if self.whole_rows and self.trajectory is not None:
            length = len(self.states) // (int(self.trajectory[-1]) + 1)
            return f"{self.row_word} {self.lines[sample - sample % length]}, column {sample % length + 1}"
        return f"{self.row_word} {self.lines[sample]}"
