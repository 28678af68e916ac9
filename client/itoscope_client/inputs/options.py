"""How the data are laid out, where they do not say so themselves."""

from collections.abc import Sequence
from typing import Literal, TypedDict


class LayoutOptions(TypedDict, total=False):
    """All optional; what was assumed instead comes back in the dataset's report.

    dt              sampling interval, where there is no time column
    time_column     name or 1-based number of the column (or dimension, or array) of sample times
    id_column       of the one that tells trajectories apart
    state_columns   of those that are the state, in the order x, y, z, …
    orientation     `rows`: each row of a table is one trajectory
    axes            what the axes of an array are: n trajectory, t time, d state; e.g. `ntd`
    time_unit, state_unit   labels; calendar stamps are converted to `time_unit`
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
    """The state columns as a list; None where none were named."""
    given = layout.get("state_columns")
    if given is None:
        return None
    return [given] if isinstance(given, str) else [str(name) for name in given]
