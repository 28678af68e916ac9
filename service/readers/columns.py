"""From a table with one row per sample to a record: every column in its role, as exact numbers."""

from collections.abc import Sequence

import numpy as np

from service.readers.cells import LOOKS_GROUPED
from service.readers.clock import elapsed
from service.readers.errors import UnreadableData, layout_fault
from service.readers.names import (
    SECONDS,
    bare,
    is_age,
    is_frame,
    is_identity,
    is_time,
    split_unit,
    standard_time_unit,
    unit_of_time_name,
    words,
)
from service.readers.options import Layout, Limits, Notes
from service.readers.roles import (
    counts_samples,
    groups_of,
    identity_column,
    is_whole,
    locate,
    reserved_columns,
    time_column,
    varies,
)
from service.readers.table import LARGEST_EXACT, NOT_A_TIME, Column, Floats, Record, Table, Variable

_COUNTED_FROM_1970 = words("epoch unix unixtime unix_time timestamp timestamps time_stamp")


def record_of(table: Table, layout: Layout, limits: Limits, notes: Notes) -> Record:
    """Make a record from a table. Raises UnreadableData where no column can be the state."""
    names = [column.name for column in table.columns]
    identity = identity_column(table, names, layout, notes)
    groups = None if identity is None else groups_of(identity, table)
    time = time_column(table, names, identity, groups, layout, notes)
    frame = None
    if time is None:
        reserved = reserved_columns(table, names, layout)
        counting = [
            column
            for column in table.columns
            if column is not identity and column not in reserved and counts_samples(column, groups)
        ]
        frame = counting[0] if counting else None
        if frame is not None:
            notes.assume(f"{frame.title} counts samples")
    states = _state_columns(
        table, names, [c for c in (identity, time, frame) if c is not None], layout, limits, notes
    )
    variables = tuple(
        Variable(column.name or f"column {column.position}", column.unit or layout.state_unit)
        for column in states
    )
    values = np.column_stack([_exact(column, table) for column in states])
    if not np.isfinite(values).any():
        raise UnreadableData(
            f"Every value of {states[0].title} is missing.",
            "Check delimiter and decimal mark, or name other columns with state_columns.",
            code="too-few-samples",
        )
    chosen = time or frame
    times, unit, printed = (None, None, None) if chosen is None else _times(chosen, layout, notes)
    if chosen is None and layout.time_unit:
        unit = standard_time_unit(layout.time_unit)
    resolved = {
        "time_column": chosen.key if chosen else None,
        "id_column": identity.key if identity else None,
        "state_columns": tuple(column.key for column in states),
        "orientation": "columns",
    }
    return Record(
        states=values,
        variables=variables,
        times=times,
        printed=printed,
        tick=_tick_of(chosen, unit) if chosen is not None else 0.0,
        trajectory=groups,
        time_name=chosen.title if chosen else None,
        time_unit=unit,
        time_is_age=bool(chosen is not None and chosen.name and is_age(chosen.name)),
        counted=frame is not None,
        resolved=resolved,
        lines=table.lines,
        row_word=table.row_word,
    )


def _state_columns(
    table: Table,
    names: Sequence[str | None],
    taken: Sequence[Column],
    layout: Layout,
    limits: Limits,
    notes: Notes,
) -> list[Column]:
    if layout.state_columns is not None:
        chosen = [table.columns[locate(x, names, "state_columns")] for x in layout.state_columns]
        for column in chosen:
            if column.kind != "number":
                raise layout_fault("state_columns", f"{column.title} does not hold numbers.")
        return chosen
    left = [column for column in table.columns if column not in taken]
    states = []
    for column in left:
        if column.kind != "number":
            if column.kind == "stamp" or len(column.labels) > 1:
                notes.warn(
                    "ignored-column",
                    f"{column.title} does not hold numbers and was ignored.{_grouped(column)}",
                )
            else:
                notes.assume(f"{column.title} holds the same text in every row and was ignored")
        elif _is_other_clock(column, taken, table):
            notes.assume(f"{column.title} counts or dates the rows and was ignored")
        else:
            states.append(column)
    if not states:
        titles = ", ".join(column.title for column in table.columns)
        raise UnreadableData(
            f"No column remains for the state: {titles or 'there is none'}."
            + "".join(_grouped(column) for column in left),
            "A table needs at least one column of numbers besides time and identity.",
            "Choose it with state_columns.",
        )
    if len(states) > 1:
        empty = [column for column in states if bool(np.isnan(column.numbers()).all())]
        if len(empty) < len(states):
            for column in empty:
                notes.assume(f"{column.title} is empty and was ignored")
            states = [column for column in states if column not in empty]
    if len(states) > limits.state_columns:
        raise UnreadableData(
            f"The table has {len(states)} state columns; at most {limits.state_columns} are read.",
            "Name the columns with state_columns.",
            "If rows are trajectories, set orientation=rows.",
        )
    return states


def _grouped(column: Column) -> str:
    """Return a question for words like `1,234`, which are grouped digits or have three decimals."""
    labels = [label for label in column.labels if label]
    if not labels or not all(map(LOOKS_GROUPED.match, labels[:1000])):
        return ""
    return (
        f" Is the mark in '{labels[0]}' a thousands separator or a decimal mark? "
        "Write numbers without thousands separators."
    )


def _is_other_clock(column: Column, taken: Sequence[Column], table: Table) -> bool:
    if not taken or not table.named:
        return False
    if not column.name:
        return bool(np.all(np.diff(column.numbers()) == 1))
    counts = is_frame(column.name) or column.name.lower().startswith("unnamed")
    return (
        (is_identity(column.name) and is_whole(column))
        or (is_time(column.name) and not _is_temperature(column))
        or (counts and is_whole(column) and varies(column))
    )


def _is_temperature(column: Column) -> bool:
    """Return whether a column called T, which is not the time, is a state: it also falls."""
    falls = bool(np.any(np.diff(column.numbers()) < 0))
    return falls and split_unit(column.name or "")[0].strip() == "T"


def _exact(column: Column, table: Table) -> Floats:
    """Return a column as (n,) float64. Raises UnreadableData where a whole number would change."""
    if column.values.dtype.kind == "i":
        missing = column.values == NOT_A_TIME
        beyond = ~missing & ((column.values > LARGEST_EXACT) | (column.values < -LARGEST_EXACT))
        if beyond.any():
            place = table.lines[int(np.flatnonzero(beyond)[0])]
            raise UnreadableData(
                f"{table.row_word.capitalize()} {place}, {column.title}: whole numbers beyond 2^53 "
                "would lose digits."
            )
        return np.where(missing, np.nan, column.values.astype(np.float64))
    values = column.numbers()
    if np.isinf(values).any():
        place = table.lines[int(np.flatnonzero(np.isinf(values))[0])]
        raise UnreadableData(
            f"{table.row_word.capitalize()} {place}, {column.title}: the value is infinite.",
            "Write NaN for a missing value.",
        )
    return values


def _tick_of(column: Column, unit: str | None) -> float:
    if column.kind == "stamp":
        return column.tick / SECONDS[(unit or "s").lower()]
    return 1.0


def _times(
    column: Column, layout: Layout, notes: Notes
) -> tuple[Floats, str | None, Floats | None]:
    """Return elapsed time, its unit, and the numbers as printed (None for calendar stamps)."""
    since = elapsed(column)
    if column.kind == "stamp":
        wanted = layout.time_unit or ("day" if column.date_only else "s")
        seconds = SECONDS.get(wanted.strip().lower())
        if seconds is None:
            raise layout_fault(
                "time_unit",
                f"Calendar time stamps cannot be converted to '{wanted}'.",
                "Use s, min, h, day, week, month or year.",
            )
        unit = standard_time_unit(wanted) or wanted
        if layout.time_unit is None:
            notes.assume(f"time is counted in {unit}; time_unit converts it")
        # Division by a whole number of ticks keeps 30 s at exactly 30.0.
        ticks = seconds / column.tick
        return (since / round(ticks) if ticks >= 1 else since * round(1 / ticks)), unit, None
    if column.values.dtype.kind != "i" and np.isinf(column.values).any():
        raise UnreadableData(f"{column.title} holds an infinite time.")
    own = _own_unit(column, notes)
    wanted_unit = standard_time_unit(layout.time_unit)
    if own and wanted_unit and own != wanted_unit:
        notes.warn(
            "time-unit-disagrees",
            f"{column.title} is in {own} by its name, but time_unit says {wanted_unit}; the "
            "numbers were not converted.",
        )
    return since, wanted_unit or own, column.numbers()


def _own_unit(column: Column, notes: Notes) -> str | None:
    name = column.name or ""
    if column.unit or unit_of_time_name(name):
        return standard_time_unit(column.unit) or unit_of_time_name(name)
    largest = float(np.nanmax(np.abs(column.numbers()), initial=0.0))
    if bare(name) in _COUNTED_FROM_1970:
        for power, unit in ((1e8, "s"), (1e11, "ms"), (1e14, "us"), (1e17, "ns")):
            if power <= largest < power * 1000:
                notes.assume(f"{column.title} counts {unit} since 1970")
                return unit
    return None
