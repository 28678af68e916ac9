"""Roles of columns: one place decides which are time, count, identity, state, or none of these.

The layout decides first, then names of the trade's formats, then values: an identity repeats, and
time rises in every trajectory. `states` holds the choice among the columns that are left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from service.readers.clock import rises_evenly
from service.readers.errors import UnreadableData, layout_fault
from service.readers.names import (
    axis_of,
    bare,
    is_frame,
    is_identity,
    is_row_number,
    is_time,
    split_unit,
    words,
)
from service.readers.options import Layout, Notes
from service.readers.table import Column, Flags, Integers, Table

_FEW_REPEATS = 0.01
"""Share of samples that may repeat a time in their trajectory (rows that were written twice)."""
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
    identity = _identity(table, layout, notes)
    if identity:
        table = _with_identity(table, identity, notes)
        identity = tuple(_same(table, column) for column in identity)
    groups = _groups_of_all(identity, table) if identity else None
    if dated is not None and layout.time_column is None:
        return Clocked(table, identity, groups, _same(table, dated), False)
    time, counted = _time(table, identity, groups, layout, notes)
    return Clocked(table, identity, groups, time, counted)


def locate(given: str, names: Sequence[str | None], field: str) -> int:
    """Find the column that a layout gives by its name, its name without unit, or its number.

    Returns its index in the file. Raises UnreadableData naming the field of the layout where no
    column fits.
    """
    if given in names:
        return names.index(given)
    if given.isdigit() and 1 <= int(given) <= len(names):
        return int(given) - 1
    for form in (lambda name: name.strip().lower(), lambda name: bare(split_unit(name)[0])):
        alike = [j for j, name in enumerate(names) if name and form(name) == form(given)]
        if len(alike) == 1:
            return alike[0]
    numbered = enumerate(names[:20], start=1)
    listed = ", ".join(f"{j} ('{name}')" if name else str(j) for j, name in numbered)
    raise layout_fault(field, f"{field} names '{given[:60]}', but the file has columns {listed}.")


def column_of(given: str, table: Table, field: str) -> Column:
    """Return the column that a layout gives; numbers count the columns of the file."""
    width = max((column.position for column in table.columns), default=0)
    at = {column.position: column for column in table.columns}
    names = [at[j].name if j in at else None for j in range(1, width + 1)]
    position = locate(given, names, field) + 1
    if position not in at:
        raise layout_fault(field, f"{field} names column {position}, which was not read.")
    return at[position]


def located_all(given: str, names: Sequence[str | None]) -> list[int]:
    """Return the indices of one or several columns of identity; commas separate their names."""
    if "," not in given or given in names:
        return [locate(given, names, "id_column")]
    return [locate(part.strip(), names, "id_column") for part in given.split(",")]


def reserved_columns(table: Table, layout: Layout) -> list[Column]:
    """Return the columns that the layout gives as time or state."""
    given = [
        (layout.time_column, "time_column"),
        *((name, "state_columns") for name in layout.state_columns or ()),
    ]
    return [column_of(name, table, field) for name, field in given if name is not None]


def _same(table: Table, column: Column) -> Column:
    return next(other for other in table.columns if other.position == column.position)


# --- identity -----------------------------------------------------------------------------------


def _identity(table: Table, layout: Layout, notes: Notes) -> tuple[Column, ...]:
    """Find the columns that tell trajectories apart, as given, by their names, or by values."""
    if layout.id_column is not None:
        given = layout.id_column
        whole = any(column.name == given for column in table.columns)
        parts = (
            [given] if whole or "," not in given else [part.strip() for part in given.split(",")]
        )
        return tuple(column_of(part, table, "id_column") for part in parts)
    reserved = reserved_columns(table, layout)
    free = [column for column in table.columns if column not in reserved]
    named = [
        column
        for column in free
        if column.name
        and is_identity(column.name)
        and _repeats(column)
        and not _wanders(column, table)
    ]
    if named:
        return _named_identity(named, free, table, notes)
    for column in free:
        if column.name and (is_time(column.name) or is_frame(column.name)):
            continue
        worded = column.kind == "text" and 1 < len(column.labels) <= len(table) // 3
        if worded and bool(np.all(column.values >= 0)) and _in_runs(groups_of(column)):
            notes.assume(
                f"{column.title} repeats each text over many rows: it identifies the trajectories"
            )
            return (column,)
        counted = column.kind == "number" and is_whole(column)
        if counted and _in_runs(groups := groups_of(column)):
            starts = np.flatnonzero(np.diff(groups)) + 1
            restarting = [
                other
                for other in free
                if other is not column and other.kind == "number" and _restarts_at(other, starts)
            ]
            if restarting:
                notes.assume(
                    f"{column.title} is a whole number that changes where {restarting[0].title} "
                    "starts again: it identifies the trajectories"
                )
                return (column,)
    return ()


def _named_identity(
    named: Sequence[Column], free: Sequence[Column], table: Table, notes: Notes
) -> tuple[Column, ...]:
    """Choose the fewest columns in whose trajectories no time repeats."""
    by_runs = sorted(named, key=lambda column: _n_runs(groups_of(column)))
    clocks = [
        column
        for column in free
        if column not in named and (column.kind == "stamp" or _is_named_clock(column))
    ]
    best: tuple[Column, ...] = (by_runs[0],)
    clock = min(clocks, key=lambda column: _n_repeats(best, column, table), default=None)
    if clock is not None and _n_repeats(best, clock, table) > _FEW_REPEATS * len(table):
        outer = [
            column
            for column in free
            if column not in by_runs
            and column is not clock
            and column.kind != "stamp"
            and not (column.name and (is_time(column.name) or axis_of(column.name) is not None))
            and _repeats(column)
            and _in_runs(groups_of(column))
        ]
        pool = [*by_runs[:6], *outer[:6]]
        choices = [
            *((column,) for column in by_runs[:6]),
            *(pair for pair in combinations(pool, 2) if pair[0] in by_runs),
            *(three for three in combinations(by_runs[:5], 3)),
        ]
        best = min(choices, key=lambda choice: (_n_repeats(choice, clock, table), len(choice)))
    if len(best) == 1:
        notes.assume(f"{best[0].title} identifies the trajectories")
    else:
        titles = " and ".join(column.title for column in best)
        notes.assume(
            f"{titles} together identify the trajectories: {best[0].title} alone repeats times"
        )
    return best


def _is_named_clock(column: Column) -> bool:
    if column.kind != "number" or not column.name or not varies(column):
        return False
    return is_time(column.name) or is_frame(column.name)


def _n_repeats(choice: Sequence[Column], clock: Column, table: Table) -> int:
    """Count the rows whose time is there already in their trajectory."""
    _, inverse = np.unique(clock.values, return_inverse=True)
    codes = inverse.astype(np.int64)
    for column in choice:
        groups = groups_of(column)
        codes = codes * (int(groups.max(initial=0)) + 2) + groups
        _, codes = np.unique(codes, return_inverse=True)
    present = np.all([groups_of(column) >= 0 for column in choice], axis=0)
    return int(present.sum()) - len(np.unique(codes[present]))


def _with_identity(table: Table, identity: Sequence[Column], notes: Notes) -> Table:
    """Drop the rows that belong to no trajectory, with a warning."""
    present = np.all([groups_of(column) >= 0 for column in identity], axis=0)
    n_without = int(np.count_nonzero(~present))
    if not n_without:
        return table
    first = table.lines[int(np.flatnonzero(~present)[0])]
    title = " and ".join(column.title for column in identity)
    place = f"{table.row_word} {first}"
    if n_without == len(table):
        raise UnreadableData(
            f"{title} is to identify the trajectories, but is empty in every row.",
            "Name another column with id_column.",
            code="too-few-samples",
        )
    notes.warn(
        "rows-without-identity",
        f"{n_without} rows have no value in {title}, first {place}: they belong to no trajectory "
        "and were left out.",
        rows=n_without,
    )
    return table.taken(present)


def _repeats(column: Column) -> bool:
    """Return whether a column of text or whole numbers holds some value in several rows."""
    if column.kind == "stamp" or (column.kind == "number" and not is_whole(column)):
        return False
    groups = groups_of(column)
    n_present = int(np.count_nonzero(groups >= 0))
    return 0 <= int(groups.max(initial=-1)) < max(n_present - 1, 1)


def _wanders(column: Column, table: Table) -> bool:
    """Return whether numbers go up and down along one clock: they are a state, no identity."""
    if column.kind != "number":
        return False
    groups = groups_of(column)
    if _n_runs(groups) <= 2 * (int(groups.max(initial=0)) + 1):
        return False
    clocks = [
        other
        for other in table.columns
        if other is not column and (other.kind == "stamp" or _is_named_clock(other))
    ]
    return any(_rises(clock, None, strictly_and_evenly=True) for clock in clocks)


def groups_of(column: Column) -> Integers:
    """Return the trajectory of each row: (n,) int64 codes in order of appearance, -1 for none."""
    if column.kind == "text":
        return np.asarray(column.values, dtype=np.int64)
    values = column.numbers() if column.kind == "number" else column.values
    unique, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    order = np.argsort(first, kind="stable")
    if column.kind == "number" and len(unique) and np.isnan(unique[-1]):
        order = order[order != len(unique) - 1]
        rank[-1] = -1
    rank[order] = np.arange(len(order))
    return rank[inverse]


def _groups_of_all(identity: Sequence[Column], table: Table) -> Integers:
    """Return the trajectory of each row (n,) for one or several columns of identity."""
    codes = groups_of(identity[0])
    for column in identity[1:]:
        groups = groups_of(column)
        codes = codes * (int(groups.max(initial=0)) + 1) + groups
    return codes if len(identity) == 1 and codes.max(initial=0) < len(table) else _in_order(codes)


def _in_order(codes: Integers) -> Integers:
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[inverse]


def is_whole(column: Column) -> bool:
    """Return whether a column holds whole numbers, and otherwise nothing but missing values."""
    if column.values.dtype.kind == "i":
        return bool(len(column.values))
    values = column.numbers()
    present = values[~np.isnan(values)]
    return bool(len(present)) and bool(np.all(present == np.floor(present)))


def _n_runs(groups: Integers) -> int:
    return 1 + int(np.count_nonzero(np.diff(groups)))


def _in_runs(groups: Integers) -> bool:
    """Return whether several groups are one stretch of rows each, three or more long on average."""
    n_groups = int(groups.max(initial=0)) + 1
    return (
        n_groups > 1
        and bool(np.all(groups >= 0))
        and _n_runs(groups) == n_groups
        and len(groups) >= 3 * n_groups
    )


def _restarts_at(column: Column, starts: Integers) -> bool:
    """Return whether a column falls at all of `starts` and rises everywhere else."""
    steps = np.diff(column.numbers())
    falls = np.flatnonzero(~(steps > 0)) + 1
    return bool(np.array_equal(falls, starts)) and bool(np.all(steps[starts - 1] < 0))


# --- time ---------------------------------------------------------------------------------------


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
    numeric = [column for column in free if column.kind == "number"]
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
        best = stamps[0] if stamps else min(varied, key=lambda column: _n_falls(column, groups))
        _refuse_part(best, groups)
        notes.assume(f"{best.title} is time")
        return best, False
    counting = [column for column in free if _counts(column, groups)]
    frames = [column for column in counting if column.name and is_frame(column.name)]
    if frames:
        notes.assume(f"{frames[0].title} counts samples")
        return frames[0], True
    rising = _rising(table, free, groups, layout, notes)
    if rising is not None:
        return rising, False
    if counting:
        notes.assume(f"{counting[0].title} counts samples")
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
        if _rises(column, groups, strictly_and_evenly=column.name is not None or len(table) < 20)
        and not ((dt_known or table.named) and _counts(column, groups))
        and not (column.name and is_row_number(column.name) and groups is not None)
    ]
    evenly = [column for column in rising if _rises(column, groups, strictly_and_evenly=True)]
    if not rising:
        return None
    best = (evenly or rising)[0]
    where = "from row to row" if groups is None else "in every trajectory"
    notes.assume(f"{best.title} is time: it rises {where}")
    return best


def _refuse_part(column: Column, groups: Integers | None) -> None:
    """Refuse hours or months that start again and again, because their day or year is unknown."""
    word = bare(split_unit(column.name)[0]) if column.name else ""
    if column.kind == "number" and word in _PARTS_OF_DATES and _n_falls(column, groups) > 1:
        raise UnreadableData(
            f"{column.title} starts again and again: it is one part of a calendar whose other "
            "parts (year and month, day) are missing.",
            "Join the parts into dates such as 2024-01-31T12:00, or omit the column and give dt.",
        )


def _inside(groups: Integers | None, n: int) -> Flags:
    return np.ones(max(n - 1, 0), dtype=bool) if groups is None else np.diff(groups) == 0


def varies(column: Column) -> bool:
    """Return whether a column holds at least two different numbers."""
    values = column.numbers()
    return bool(np.nanmax(values, initial=-np.inf) > np.nanmin(values, initial=np.inf))


def _n_falls(column: Column, groups: Integers | None) -> int:
    steps = np.diff(column.numbers())
    return int(np.count_nonzero(steps[_inside(groups, len(steps) + 1)] < 0))


def _rises(column: Column, groups: Integers | None, *, strictly_and_evenly: bool) -> bool:
    if column.kind == "text" or len(column.values) < 3:
        return False
    values = column.numbers()
    steps = np.diff(values)[_inside(groups, len(values))]
    if not steps.size or not np.all(steps >= 0) or not np.any(steps > 0):
        return False
    return not strictly_and_evenly or rises_evenly(steps, values)


def rises_along(column: Column, groups: Integers | None) -> bool:
    """Return whether whole numbers rise, or stay, from row to row or in every trajectory."""
    if column.kind != "number" or not is_whole(column) or not varies(column):
        return False
    order = np.arange(len(column.values)) if groups is None else np.argsort(groups, kind="stable")
    inside = _inside(None if groups is None else groups[order], len(order))
    steps = np.diff(column.numbers()[order])
    return not np.any(steps[inside] < 0) or not np.any(np.diff(column.numbers()) < 0)


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
    inside = _inside(None if groups is None else groups[order], len(order))
    steps = np.diff(column.numbers()[order])[inside]
    if not steps.size:
        return False
    if framed:
        # `order` and `segments` see to rows out of order, and to times that repeat.
        return bool(np.any(steps > 0)) and float(np.mean(steps < 0)) < 0.1
    return bool(np.all(steps >= 1) and np.median(steps) == 1)
