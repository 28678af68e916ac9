"""Options of the data's layout, where the data do not show it themselves."""

from collections.abc import Sequence
from typing import Literal, TypedDict


class LayoutOptions(TypedDict, total=False):
    """Options of the layout, all optional; the dataset's report states what was assumed instead.

    dt              sampling interval, where there is no time column
    time_column     name or 1-based number of the column (or dimension, or array) of sample times
    id_column       name or number of the column that tells which trajectory a sample belongs to
    state_columns   names or numbers of the columns of the state, in the order x, y, z, …
    orientation     `rows`: each row of a table is one trajectory
    axes            meaning of an array's axes: n trajectory, t time, d state; e.g. `ntd`
    time_unit       label of the time; calendar stamps are converted to it
    state_unit      label of the state
    gap_factor      a step longer than this many sampling intervals ends a segment
    """

    dt: float | None
    time_column: str | None
    id_column: str | None
    state_columns: Sequence[str] | str | None
    orientation: Literal["columns", "rows"] | None
    axes: str | None
    time_unit: str | None
    state_unit: str | None
    gap_factor: float | None


def columns_of(layout: LayoutOptions) -> list[str] | None:
    """Return the state columns as a list; None where none were named."""
    given = layout.get("state_columns")
    if given is None:
        return None
    return [given] if isinstance(given, str) else [str(name) for name in given]
