"""Identity: the columns that tell trajectories apart, and the rows that belong to none."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from service.readers.clock import rises_evenly
from service.readers.errors import UnreadableData
from service.readers.evidence import column_of, groups_of, is_whole, reserved_columns, rises, varies
from service.readers.names import axis_of, is_frame, is_identity, is_time
from service.readers.options import Layout, Notes
from service.readers.table import Column, Integers, Table

_FEW_REPEATS = 0.01
"""Share of samples that may repeat a time in their trajectory (rows that were written twice)."""


def identity_columns(table: Table, layout: Layout, notes: Notes) -> tuple[Column, ...]:
    """Find the columns that tell trajectories apart, as given, by their names, or by values."""
    if layout.single:
        return ()
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
            notes.place("identity", "repeats each text over many rows", column)
            return (column,)
        counted = column.kind == "number" and is_whole(column)
        if counted and _in_runs(groups := groups_of(column)):
            starts = np.flatnonzero(np.diff(groups)) + 1
            restarting = [
                other
                for other in free
                if other is not column and other.kind != "text" and _restarts_at(other, starts)
            ]
            if restarting:
                notes.assume(
                    f"{column.title} is a whole number that changes where {restarting[0].title} "
                    "starts again: it identifies the trajectories"
                )
                reason = f"changes where {restarting[0].title} starts again"
                notes.place("identity", reason, column)
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
    notes.place("identity", "tells trajectories apart by its name", *best)
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


def with_identity(table: Table, identity: Sequence[Column], notes: Notes) -> Table:
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
    """Return whether a column changes up and down along one even clock: it is no identity.

    Trajectories that are sampled in turns have an even clock each.
    """
    groups = groups_of(column)
    if _n_runs(groups) <= 2 * (int(groups.max(initial=0)) + 1):
        return False
    clocks = [
        other
        for other in table.columns
        if other is not column and (other.kind == "stamp" or _is_named_clock(other))
    ]
    order = np.argsort(groups, kind="stable")
    joined = np.diff(groups[order]) == 0
    for clock in clocks:
        steps = np.diff(clock.numbers()[order])[joined]
        apart = steps.size > 0 and np.median(steps) > 1.5 * np.median(np.diff(clock.numbers()))
        in_turns = apart and rises_evenly(steps, clock.numbers())
        if rises(clock, None, strictly_and_evenly=True) and not in_turns:
            return True
    return False


def groups_of_all(identity: Sequence[Column], table: Table) -> Integers:
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
