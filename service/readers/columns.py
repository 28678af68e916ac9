"""From a table with one row per sample to a record: every column in its role, as exact numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from service.readers.calendar import with_calendar
from service.readers.clock import elapsed
from service.readers.companions import (
    errors_of,
    groups_among,
    inputs_of,
    names_of,
    roles_beside,
    set_aside,
    with_groups,
)
from service.readers.errors import UnreadableData, layout_fault
from service.readers.evidence import column_of
from service.readers.labels import labelled
from service.readers.names import (
    SECONDS,
    bare,
    is_age,
    replicate_word,
    standard_time_unit,
    unit_of_time_name,
    words,
)
from service.readers.options import NONE, Layout, Limits, Notes
from service.readers.roles import Clocked, clocked
from service.readers.states import replicates, state_columns
from service.readers.table import (
    LARGEST_EXACT,
    NOT_A_TIME,
    Column,
    Floats,
    Lines,
    Record,
    Table,
    Variable,
)

_MOST_DESCRIBED = 200
"""Largest number of columns in a report; a list of datasets holds many reports."""
_SHOWN = 4
"""Number of first values of a column in a report."""
_LONGEST = 200
_TYPES = {"number": "number", "stamp": "time stamp", "text": "text"}
_COUNTED_FROM_1970 = words("epoch unix unixtime unix_time timestamp timestamps time_stamp")


def record_of(table: Table, layout: Layout, limits: Limits, notes: Notes) -> Record:
    """Make a record from a table. Raises UnreadableData where no column can be the state."""
    whole = table
    table = set_aside(_without_ignored(table, layout), layout)
    table = with_groups(table, layout, notes)
    table, dated = (table, None) if layout.timeless else with_calendar(table, layout, notes)
    found = clocked(table, dated, layout, notes)
    table = found.table
    states = state_columns(found, layout, limits, notes)
    values = np.column_stack([_exact(column, table) for column in states])
    if not np.isfinite(values).any():
        raise UnreadableData(
            f"Every value of {states[0].title} is missing.",
            "Check delimiter and decimal mark, or name other columns with state_columns.",
            code="too-few-samples",
        )
    chosen = found.time
    times, unit, printed = (None, None, None) if chosen is None else _times(chosen, layout, notes)
    if times is not None and found.counted:
        times = _intervals(times, chosen, layout, notes)
        unit = standard_time_unit(layout.time_unit)
    if chosen is None and layout.time_unit:
        unit = standard_time_unit(layout.time_unit)
    together = replicates(states, found, layout)
    trajectory, groups = groups_among(table, found.groups, layout, notes)
    inputs, input_variables = inputs_of(table, layout)
    variables, labels = _labelled(states, _origin(states, whole, table), layout, together=together)
    resolved = {
        "time_column": chosen.key if chosen else NONE if layout.timeless else None,
        "id_column": ",".join(column.key for column in found.identity)[:200]
        or (NONE if layout.single else None),
        "state_columns": tuple(variable.key for variable in variables),
        "orientation": "columns",
        "group_column": layout.group_column,
        "input_columns": layout.input_columns,
        "error_columns": layout.error_columns,
        **labels,
    }
    record = Record(
        states=values,
        variables=variables,
        times=times,
        printed=printed,
        tick=_tick_of(chosen, unit) if chosen is not None else 0.0,
        trajectory=trajectory,
        names=names_of(found.identity, found.groups) or (groups if trajectory is not None else ()),
        groups=groups,
        inputs=inputs,
        input_variables=input_variables,
        errors=errors_of(table, states, layout),
        time_name=chosen.title if chosen else None,
        time_unit=unit,
        time_is_age=bool(chosen is not None and chosen.name and is_age(chosen.name)),
        counted=found.counted,
        columns=_described(whole, found, states, layout, notes),
        resolved=resolved,
        lines=table.lines,
        row_word=table.row_word,
    )
    if not together:
        return record
    for field in ("group_column", "error_columns"):
        if getattr(layout, field):
            raise layout_fault(field, f"{field} cannot be used where each column is a trajectory.")
    if layout.axes is None:
        _warn_of_replicates(record, notes)
    else:
        notes.assume("each column is one trajectory")
    return _side_by_side(record)


def _origin(states: Sequence[Column], whole: Table, made: Table) -> Table:
    """Return the table that has the states as columns: the file's, or the one made of it.

    A file with a column for each month is made a table of months and values.
    """
    there = {(column.position, column.name) for column in whole.every_column}
    return whole if all((c.position, c.name) in there for c in states) else made


def _labelled(
    states: Sequence[Column], table: Table, layout: Layout, *, together: bool
) -> tuple[tuple[Variable, ...], dict[str, Any]]:
    """Return the variables of the columns under the names and units of the layout.

    table      all columns, so that one in another role is told from an unknown one
    together   whether every column is a trajectory of one variable, which has one name
    """
    index = {column.position: 0 if together else j for j, column in enumerate(states)}
    whole = replace(table, columns=table.every_column)

    def place(key: str, field: str) -> int:
        column = column_of(key, whole, field)
        if column.position in index:
            return index[column.position]
        otherwise = ", or read it as one: name it in state_columns."
        raise layout_fault(
            field,
            f"{field} names {column.title}, which was not read as a state variable.",
            f"Leave it out of {field}{otherwise if column.kind == 'number' else '.'}",
        )

    keys = _keys(table)
    variables = [
        Variable(column.name or f"column {column.position}", column.unit, key=keys[column.position])
        for column in states
    ]
    return labelled(variables, place, layout)


def _keys(table: Table) -> dict[int, str]:
    """Return the word for each column in a layout, by the column's number.

    It is the number where no name tells the column from others.
    """
    every = table.every_column
    times = Counter(column.name for column in every)

    def names_it(name: str | None) -> bool:
        return (
            bool(name) and times[name] == 1 and "," not in str(name) and len(str(name)) <= _LONGEST
        )

    return {c.position: str(c.name if names_it(c.name) else c.position) for c in every}


def _without_ignored(table: Table, layout: Layout) -> Table:
    """Leave out the columns that the layout says to ignore.

    Raises UnreadableData where it names a column that the file has not, or every column.
    """
    ignored = _ignored(table, layout)
    kept = tuple(column for column in table.columns if column.position not in ignored)
    if not kept and ignored:
        raise layout_fault("ignored_columns", "ignored_columns names every column of the file.")
    return replace(table, columns=kept)


def _ignored(table: Table, layout: Layout) -> set[int]:
    whole = replace(table, columns=table.every_column)
    names = layout.ignored_columns or ()
    return {column_of(name, whole, "ignored_columns").position for name in names}


def _described(
    table: Table, found: Clocked, states: Sequence[Column], layout: Layout, notes: Notes
) -> tuple[dict[str, Any], ...]:
    """Describe the columns of the file and their roles, in the JSON form of the contract."""
    given: dict[int, str] = dict.fromkeys(_ignored(table, layout), "ignored")
    given |= roles_beside(table, layout)
    roles = {column.position: ("state", "holds numbers") for column in states}
    if layout.state_columns is not None:
        given |= dict.fromkeys(roles, "state")
    if layout.id_column is not None:
        given |= {column.position: "identity" for column in found.identity}
    if layout.time_column is not None and found.time is not None:
        given[found.time.position] = "time"
    keys = _keys(table)
    described = []
    for column in table.every_column[:_MOST_DESCRIBED]:
        other = ("ignored", "is not among the columns that the layout names")
        role, reason = notes.places.get(column.position) or roles.get(column.position, other)
        described.append(
            {
                "number": column.position,
                "key": keys[column.position],
                "column": (column.name or "")[:_LONGEST] or None,
                "unit": column.unit,
                "type": _TYPES[column.kind],
                "role": given.get(column.position, role),
                "reason": None if column.position in given else reason,
                "values": column.shown(_SHOWN),
            }
        )
    return tuple(described)


def _warn_of_replicates(record: Record, notes: Notes) -> None:
    first, last = record.variables[0].column, record.variables[-1].column
    notes.warn(
        "orientation-assumed",
        f"The names of the {len(record.variables)} columns '{first}' to '{last}' "
        "number trajectories: each column was read as one trajectory (replicate) of one variable. "
        "If they are variables of one system, set orientation=columns.",
    )


def _side_by_side(record: Record) -> Record:
    """Put trajectories of one variable, one a column, below each other."""
    n, width = record.states.shape
    first = record.variables[0]
    lines = Lines([], [])
    for k in range(width):
        lines.first_sample += [k * n + sample for sample in record.lines.first_sample]
        lines.first_line += record.lines.first_line
    return replace(
        record,
        states=record.states.T.reshape(-1, 1),
        variables=(replace(first, column=replicate_word(first.column)),),
        times=None if record.times is None else np.tile(record.times, width),
        printed=None if record.printed is None else np.tile(record.printed, width),
        trajectory=np.repeat(np.arange(width), n),
        names=tuple((v.column or "")[:_LONGEST] for v in record.variables),
        inputs=None if record.inputs is None else np.tile(record.inputs, (width, 1)),
        padded=True,
        lines=lines,
        # Reading again with these fields gives the same trajectories.
        resolved={**record.resolved, "state_columns": None, "orientation": None},
    )


def _intervals(times: Floats, column: Column | None, layout: Layout, notes: Notes) -> Floats:
    """Count sampling intervals where numbers of samples rise by more than one throughout.

    A given dt is the interval between samples: a simulation that writes every hundredth step
    counts 0, 100, 200.
    """
    if layout.dt is None and notes.dt_in_file is None:
        return times
    present = times[np.isfinite(times)]
    stride = int(np.gcd.reduce(present.astype(np.int64))) if present.size else 1
    if stride <= 1:
        return times
    notes.assume(f"{column.title if column else 'the count'} rises by {stride} per dt")
    return times / stride


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
