"""Roles of columns: one place decides which are time, count, identity, state, or none of these.

The layout decides first, then names of the trade's formats, then values: an identity repeats, and
time rises in every trajectory. `states` holds the choice among the columns that are left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.readers.errors import UnreadableData, layout_fault
from service.readers.evidence import (
    column_of,
    inside,
    is_whole,
    n_falls,
    reserved_columns,
    rises,
    varies,
)
from service.readers.identity import groups_of_all, identity_columns, with_identity
from service.readers.names import bare, is_frame, is_row_number, is_time, split_unit, words
from service.readers.options import Layout, Notes
from service.readers.table import Column, Integers, Table

_PARTS_OF_DATES = words("month months day hour minute second week mo dy hr")


@dataclass(frozen=True, slots=True, eq=False)
class Clocked:
    """A table whose columns of identity and time are known.

    table     rows that belong to a trajectory
    identity  columns that tell trajectories apart; none for one trajectory
    groups    (n,) trajectory of each row
    time      column of times or counts
    counted   whether `time` counts samples
    """

    table: Table
    identity: tuple[Column, ...]
    groups: Integers | None
    time: Column | None
    counted: bool

    @property
    def taken(self) -> tuple[Column, ...]:
        """Columns of identity and time."""
        return self.identity if self.time is None else (*self.identity, self.time)


def clocked(table: Table, dated: Column | None, layout: Layout, notes: Notes) -> Clocked:
    """Find the columns of identity and time.

    table   all columns of the file
    dated   time that was put together from the parts of a calendar
    layout  the user's choice, which precedes every inference

    Raises UnreadableData where the layout does not fit the table.
    """
    identity = identity_columns(table, layout, notes)
    if identity:
        table = with_identity(table, identity, notes)
        identity = tuple(_same(table, column) for column in identity)
    groups = groups_of_all(identity, table) if identity else None
    if dated is not None and layout.time_column is None:
        return Clocked(table, identity, groups, _same(table, dated), False)
    time, counted = _time(table, identity, groups, layout, notes)
    return Clocked(table, identity, groups, time, counted)


def _same(table: Table, column: Column) -> Column:
    return next(other for other in table.columns if other.position == column.position)


def _time(
    table: Table,
    identity: Sequence[Column],
    groups: Integers | None,
    layout: Layout,
    notes: Notes,
) -> tuple[Column | None, bool]:
    """Find the column of times, and say whether it counts samples.

    Raises UnreadableData where the given column holds words, or a calendar lacks its year.
    """
    if layout.timeless:
        return None, False
    if layout.time_column is not None:
        column = column_of(layout.time_column, table, "time_column")
        if column.kind == "text":
            raise layout_fault("time_column", f"{column.title} holds text, not times.")
        # A count becomes time by a given dt; without one its numbers are the times.
        known = layout.dt is not None or notes.dt_in_file is not None
        return column, known and _counts(column, groups)
    reserved = reserved_columns(table, layout)
    free = [
        column
        for column in table.columns
        if column not in identity and column not in reserved and column.kind != "text"
    ]
    stamps = [column for column in free if column.kind == "stamp"]
    numeric = [
        column
        for column in free
        if column.kind == "number" and not np.isnan(column.numbers()).all()
    ]
    named = [column for column in numeric if column.name and is_time(column.name)]
    if layout.state_columns is None and len(free) == 1 and not stamps:
        # A single column called t is more likely a time axis without data than a state.
        named = [
            column
            for column in named
            if column.name and bare(split_unit(column.name)[0]) not in ("age", "clock")
        ]
    varied = [column for column in named if varies(column)] or named
    if stamps or varied:
        best = stamps[0] if stamps else min(varied, key=lambda column: n_falls(column, groups))
        _refuse_part(best, groups)
        notes.assume(f"{best.title} is time")
        notes.place("time", "holds time stamps" if stamps else "is time by its name", best)
        return best, False
    counting = [column for column in free if _counts(column, groups)]
    frames = [column for column in counting if column.name and is_frame(column.name)]
    if frames:
        notes.assume(f"{frames[0].title} counts samples")
        notes.place("time", "counts samples", frames[0])
        return frames[0], True
    rising = _rising(table, free, groups, layout, notes)
    if rising is not None:
        return rising, False
    if counting:
        notes.assume(f"{counting[0].title} counts samples")
        notes.place("time", "counts samples", counting[0])
        return counting[0], True
    return None, False


def _rising(
    table: Table,
    free: Sequence[Column],
    groups: Integers | None,
    layout: Layout,
    notes: Notes,
) -> Column | None:
    if layout.state_columns is None and len(free) < 2:
        return None
    dt_known = layout.dt is not None or notes.dt_in_file is not None
    rising = [
        column
        for column in free
        if rises(column, groups, strictly_and_evenly=column.name is not None or len(table) < 20)
        and not ((dt_known or table.named) and _counts(column, groups))
        and not (column.name and is_row_number(column.name) and groups is not None)
    ]
    evenly = [column for column in rising if rises(column, groups, strictly_and_evenly=True)]
    if not rising:
        return None
    best = (evenly or rising)[0]
    where = "from row to row" if groups is None else "in every trajectory"
    notes.assume(f"{best.title} is time: it rises {where}")
    notes.place("time", f"rises {where}", best)
    return best


def _refuse_part(column: Column, groups: Integers | None) -> None:
    """Refuse hours or months that start again and again, because their day or year is unknown."""
    word = bare(split_unit(column.name)[0]) if column.name else ""
    if column.kind == "number" and word in _PARTS_OF_DATES and n_falls(column, groups) > 1:
        raise UnreadableData(
            f"{column.title} starts again and again: it is one part of a calendar whose other "
            "parts (year and month, day) are missing.",
            "Join the parts into dates such as 2024-01-31T12:00, or omit the column and give dt.",
        )


def rises_along(column: Column, groups: Integers | None) -> bool:
    """Return whether whole numbers rise, or stay, from row to row or in every trajectory."""
    if column.kind != "number" or not is_whole(column) or not varies(column):
        return False
    order = np.arange(len(column.values)) if groups is None else np.argsort(groups, kind="stable")
    joined = inside(None if groups is None else groups[order], len(order))
    steps = np.diff(column.numbers()[order])
    return not np.any(steps[joined] < 0) or not np.any(np.diff(column.numbers()) < 0)


def _counts(column: Column, groups: Integers | None) -> bool:
    """Return whether a column counts samples: its name allows it, and its values rise.

    A `frame` may leave out numbers. Other names and none must rise by ones, and a running number of
    all rows is not the clock of several trajectories.
    """
    name = column.name
    framed = name is not None and is_frame(name)
    counting = name is None or framed or is_row_number(name)
    if column.kind != "number" or not counting or len(column.values) < 2 or not is_whole(column):
        return False
    order = np.arange(len(column.values)) if groups is None else np.argsort(groups, kind="stable")
    joined = inside(None if groups is None else groups[order], len(order))
    steps = np.diff(column.numbers()[order])[joined]
    if not steps.size:
        return False
    if framed:
        # `order` and `segments` see to rows out of order, and to times that repeat.
        return bool(np.any(steps > 0)) and float(np.mean(steps < 0)) < 0.1
    return bool(np.all(steps >= 1) and np.median(steps) == 1)
