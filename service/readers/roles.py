"""Roles of columns: which one is time, which counts samples, which tells trajectories apart."""

from collections.abc import Sequence

import numpy as np

from service.readers.clock import rises_evenly
from service.readers.errors import UnreadableData, layout_fault
from service.readers.names import bare, is_frame, is_identity, is_time, split_unit
from service.readers.options import Layout, Notes
from service.readers.table import Column, Flags, Integers, Table


def locate(given: str, names: Sequence[str | None], field: str) -> int:
    """Find the column that a layout gives by its name, its name without unit, or its number.

    Returns its index. Raises UnreadableData naming the field of the layout where no column fits.
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


def identity_column(
    table: Table, names: Sequence[str | None], layout: Layout, notes: Notes
) -> Column | None:
    """Find the column that tells trajectories apart, as given, by its name, or by its values."""
    if layout.id_column is not None:
        return table.columns[locate(layout.id_column, names, "id_column")]
    reserved = reserved_columns(table, names, layout)
    free = [column for column in table.columns if column not in reserved]
    named = [column for column in free if column.name and is_identity(column.name)]
    named = [column for column in named if column.kind == "text" or is_whole(column)]
    if named:
        best = min(named, key=lambda column: _n_runs(groups_of(column, table)))
        notes.assume(f"{best.title} identifies the trajectories")
        return best
    for column in free:
        if column.name and is_time(column.name):
            continue
        worded = column.kind == "text" and 1 < len(column.labels) <= len(table) // 3
        if worded and bool(np.all(column.values >= 0)) and _in_runs(groups_of(column, table)):
            notes.assume(
                f"{column.title} repeats each text over many rows: it identifies the trajectories"
            )
            return column
        counted = column.kind == "number" and is_whole(column)
        if counted and _in_runs(groups := groups_of(column, table)):
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
                return column
    return None


def reserved_columns(table: Table, names: Sequence[str | None], layout: Layout) -> list[Column]:
    """Return the columns that the layout gives as time or state."""
    given = [
        (layout.time_column, "time_column"),
        *((name, "state_columns") for name in layout.state_columns or ()),
    ]
    return [table.columns[locate(name, names, field)] for name, field in given if name is not None]


def is_whole(column: Column) -> bool:
    """Return whether a column holds nothing but whole numbers."""
    values = column.numbers()
    return bool(len(values)) and bool(np.all(values == np.floor(values)))


def groups_of(column: Column, table: Table) -> Integers:
    """Return the trajectory of each row: (n,) int64 codes in order of appearance.

    Raises UnreadableData naming a row without a value.
    """
    values = column.numbers() if column.kind == "number" else column.values
    if column.kind != "stamp":
        absent = values < 0 if column.kind == "text" else np.isnan(values)
        if (missing := np.flatnonzero(absent)).size:
            place = f"{table.row_word.capitalize()} {table.lines[int(missing[0])]}"
            raise UnreadableData(f"{place} has no value in {column.title}.")
    if column.kind == "text":
        return np.asarray(values, dtype=np.int64)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[inverse]


def _n_runs(groups: Integers) -> int:
    return 1 + int(np.count_nonzero(np.diff(groups)))


def _in_runs(groups: Integers) -> bool:
    """Return whether several groups are one stretch of rows each, three or more long on average."""
    n_groups = int(groups.max(initial=0)) + 1
    return n_groups > 1 and _n_runs(groups) == n_groups and len(groups) >= 3 * n_groups


def _restarts_at(column: Column, starts: Integers) -> bool:
    """Return whether a column falls at all of `starts` and rises everywhere else."""
    steps = np.diff(column.numbers())
    falls = np.flatnonzero(~(steps > 0)) + 1
    return bool(np.array_equal(falls, starts)) and bool(np.all(steps[starts - 1] < 0))


def time_column(
    table: Table,
    names: Sequence[str | None],
    identity: Column | None,
    groups: Integers | None,
    layout: Layout,
    notes: Notes,
) -> Column | None:
    """Find the column of times, as given, by its name, or by its values.

    Raises UnreadableData where the given column holds words, or the time is in several columns.
    """
    if layout.time_column is not None:
        column = table.columns[locate(layout.time_column, names, "time_column")]
        if column.kind == "text":
            raise layout_fault("time_column", f"{column.title} holds text, not times.")
        return column
    reserved = reserved_columns(table, names, layout)
    free = [
        column
        for column in table.columns
        if column is not identity and column not in reserved and column.kind != "text"
    ]
    if {"year", "month"} <= {bare(column.name) for column in free if column.name}:
        raise UnreadableData(
            "Year and month are two columns.",
            "Join them into dates such as 2024-01-31, or omit them and give dt.",
        )
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
        notes.assume(f"{best.title} is time")
        return best
    if layout.state_columns is None and len(free) < 2:
        return None
    dt_known = layout.dt is not None or notes.dt_in_file is not None
    rising = [
        column
        for column in free
        if _rises(column, groups, strictly_and_evenly=column.name is not None or len(table) < 20)
        and not ((dt_known or table.named) and counts_samples(column, groups))
    ]
    evenly = [column for column in rising if _rises(column, groups, strictly_and_evenly=True)]
    if rising:
        best = (evenly or rising)[0]
        where = "from row to row" if groups is None else "in every trajectory"
        notes.assume(f"{best.title} is time: it rises {where}")
        return best
    return None


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
    if column.kind != "number" or len(column.values) < 3:
        return False
    values = column.numbers()
    steps = np.diff(values)[_inside(groups, len(values))]
    if not steps.size or not np.all(steps >= 0) or not np.any(steps > 0):
        return False
    return not strictly_and_evenly or rises_evenly(steps, values)


def counts_samples(column: Column, groups: Integers | None) -> bool:
    """Return whether a column counts samples: its name allows it, and its values rise by ones."""
    name = column.name
    counting = name is None or is_frame(name) or name.lower().startswith("unnamed")
    if column.kind != "number" or not counting or len(column.values) < 2 or not is_whole(column):
        return False
    order = np.arange(len(column.values)) if groups is None else np.argsort(groups, kind="stable")
    inside = _inside(None if groups is None else groups[order], len(order))
    steps = np.diff(column.numbers()[order])[inside]
    return bool(steps.size and np.all(steps >= 1) and np.median(steps) == 1)
