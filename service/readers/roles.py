"""Which column is time, which counts samples, which tells trajectories apart."""

from collections.abc import Sequence

import numpy as np

from service.readers.errors import UnreadableData, layout_fault
from service.readers.layout import Layout
from service.readers.names import bare, is_frame, is_identity, is_time, split_unit
from service.readers.notes import Notes
from service.readers.table import Column, Flags, Integers, Table


def locate(given: str, names: Sequence[str | None], field: str) -> int:
    """Index of the column that a layout calls `given`: its name, its name without unit, or its 1-based number."""
    if given in names:
        return names.index(given)
    if given.isdigit() and 1 <= int(given) <= len(names):
        return int(given) - 1
    for form in (lambda name: name.strip().lower(), lambda name: bare(split_unit(name)[0])):
        alike = [j for j, name in enumerate(names) if name and form(name) == form(given)]
        if len(alike) == 1:
            return alike[0]
    listed = ", ".join(
        f"{j} ('{name}')" if name else str(j) for j, name in enumerate(names[:20], start=1)
    )
    raise layout_fault(field, f"{field} names '{given[:60]}', but the file has columns {listed}.")


def identity_column(
    table: Table, names: Sequence[str | None], layout: Layout, notes: Notes
) -> Column | None:
    if layout.id_column is not None:
        return table.columns[locate(layout.id_column, names, "id_column")]
    reserved = reserved_columns(table, names, layout)
    free = [column for column in table.columns if column not in reserved]
    named = [column for column in free if column.name and is_identity(column.name)]
    named = [column for column in named if column.kind == "text" or is_whole(column)]
    if named:
        best = min(named, key=lambda column: _n_runs(groups_of(column, table)))
        notes.assume(f"{best.title} tells trajectories apart")
        return best
    for column in free:
        if column.name and is_time(column.name):
            continue
        worded = (
            column.kind == "text"
            and 1 < len(column.labels) <= len(table) // 3
            and bool(np.all(column.values >= 0))
        )
        if worded and _in_runs(groups_of(column, table)):
            notes.assume(
                f"{column.title} holds words that stay the same over many rows: it tells trajectories apart"
            )
            return column
        if (
            column.kind == "number"
            and is_whole(column)
            and _in_runs(groups := groups_of(column, table))
        ):
            starts = np.flatnonzero(np.diff(groups)) + 1
            restarting = [
                other
                for other in free
                if other is not column and other.kind == "number" and _restarts_at(other, starts)
            ]
            if restarting:
                notes.assume(
                    f"{column.title} is a whole number that changes where {restarting[0].title} starts again: "
                    "it tells trajectories apart"
                )
                return column
    return None


def reserved_columns(table: Table, names: Sequence[str | None], layout: Layout) -> list[Column]:
    given = [
        (layout.time_column, "time_column"),
        *((name, "state_columns") for name in layout.state_columns or ()),
    ]
    return [table.columns[locate(name, names, field)] for name, field in given if name is not None]


def is_whole(column: Column) -> bool:
    values = column.numbers()
    return bool(len(values)) and bool(np.all(values == np.floor(values)))


def groups_of(column: Column, table: Table) -> Integers:
    """(n,) trajectory codes in order of appearance."""
    if column.kind == "text":
        if (missing := np.flatnonzero(column.values < 0)).size:
            raise UnreadableData(
                f"{table.row_word.capitalize()} {table.lines[int(missing[0])]} has no value in {column.title}."
            )
        return np.asarray(column.values, dtype=np.int64)
    values = column.numbers() if column.kind == "number" else column.values
    if column.kind == "number" and (missing := np.flatnonzero(np.isnan(values))).size:
        raise UnreadableData(
            f"{table.row_word.capitalize()} {table.lines[int(missing[0])]} has no value in {column.title}."
        )
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[inverse]


def _n_runs(groups: Integers) -> int:
    return 1 + int(np.count_nonzero(np.diff(groups)))


def _in_runs(groups: Integers) -> bool:
    """Whether every group is one stretch of rows, three or more long on average, and there is more than one."""
    n_groups = int(groups.max(initial=0)) + 1
    return n_groups > 1 and _n_runs(groups) == n_groups and len(groups) >= 3 * n_groups


def _restarts_at(column: Column, starts: Integers) -> bool:
    """Whether a column rises everywhere but at `starts`, where it falls."""
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
    if layout.time_column is not None:
        column = table.columns[locate(layout.time_column, names, "time_column")]
        if column.kind == "text":
            raise layout_fault("time_column", f"{column.title} holds words, not times.")
        return column
    reserved = reserved_columns(table, names, layout)
    free = [
        column
        for column in table.columns
        if column is not identity and column not in reserved and column.kind != "text"
    ]
    if {"year", "month"} <= {bare(column.name) for column in free if column.name}:
        raise UnreadableData(
            "Year and month stand in columns of their own.",
            hints=[
                "Join them into one column of dates such as 2024-01-31, or leave them out and give dt."
            ],
        )
    stamps = [column for column in free if column.kind == "stamp"]
    named = [
        column
        for column in free
        if column.name and is_time(column.name) and column.kind == "number"
    ]
    if layout.state_columns is None and len(free) == 1 and not stamps:
        # A lone column called t is more likely a time axis without data than a state.
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
    if len(rising) > 1:
        rising = [column for column in rising if _rises(column, groups, strictly_and_evenly=True)][
            :1
        ] or rising[:1]
    if rising:
        notes.assume(
            f"{rising[0].title} is time: {'it rises from row to row' if groups is None else 'it rises in every trajectory'}"
        )
        return rising[0]
    return None


def _inside(groups: Integers | None, n: int) -> Flags:
    return np.ones(max(n - 1, 0), dtype=bool) if groups is None else np.diff(groups) == 0


def varies(column: Column) -> bool:
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
    if not strictly_and_evenly:
        return True
    usual = float(np.median(steps))
    return (
        bool(np.all(steps > 0))
        and float(
            np.mean(np.abs(steps - usual) <= 0.01 * usual + 4 * np.spacing(np.abs(values).max()))
        )
        >= 0.9
    )


def counts_samples(column: Column, groups: Integers | None) -> bool:
    """Whether a column counts samples, by its name and its values: whole numbers, rising, mostly by one."""
    counting = (
        column.name is None or is_frame(column.name) or column.name.lower().startswith("unnamed")
    )
    if column.kind != "number" or not counting or len(column.values) < 2 or not is_whole(column):
        return False
    order = np.arange(len(column.values)) if groups is None else np.argsort(groups, kind="stable")
    steps = np.diff(column.numbers()[order])[
        _inside(None if groups is None else groups[order], len(order))
    ]
    return bool(steps.size and np.all(steps >= 1) and np.median(steps) == 1)
