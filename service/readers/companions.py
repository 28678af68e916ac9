"""Columns beside the states: inputs that drive the system, errors of the states, and groups."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from service.readers.errors import UnreadableData, layout_fault
from service.readers.evidence import column_of, groups_of
from service.readers.options import Layout, Notes
from service.readers.table import Column, Floats, Integers, Table, Variable

_MOST_GROUPS = 1000
_LONGEST = 100


def set_aside(table: Table, layout: Layout) -> Table:
    """Move the columns that the layout calls group, input or error out of the columns.

    Raises UnreadableData where one of them has another role, too, or does not hold numbers.
    """
    chosen: dict[int, str] = {}
    for field, names in layout.beside.items():
        for name in names:
            column = column_of(name, table, field)
            if column.position in chosen:
                raise layout_fault(
                    field,
                    f"{column.title} is named twice, in {chosen[column.position]} and {field}.",
                )
            if field != "group_column" and column.kind != "number":
                raise layout_fault(field, f"{column.title} does not hold numbers.")
            chosen[column.position] = field
    if not chosen:
        return table
    others: dict[str, list[str]] = {
        "time_column": [layout.time_column] if layout.time_column else [],
        "state_columns": list(layout.state_columns or ()),
    }
    for field, given in others.items():
        for name in given:
            column = column_of(name, table, field)
            if column.position in chosen:
                raise layout_fault(
                    chosen[column.position],
                    f"{column.title} is named twice, in {field} and {chosen[column.position]}.",
                )
    return replace(
        table,
        columns=tuple(c for c in table.columns if c.position not in chosen),
        beside=tuple(c for c in table.columns if c.position in chosen),
    )


def roles_beside(table: Table, layout: Layout) -> dict[int, str]:
    """Return the role of each column beside the states, by its number."""
    words = {"group_column": "group", "input_columns": "input", "error_columns": "error"}
    whole = replace(table, columns=table.every_column)
    return {
        column_of(name, whole, field).position: words[field]
        for field, names in layout.beside.items()
        for name in names
    }


def beside(table: Table, names: Sequence[str], field: str) -> list[Column]:
    """Return the columns beside the states that a field of the layout names, in its order."""
    if names and not table.beside:
        raise layout_fault(field, f"{field} cannot be used with a calendar of one row a year.")
    whole = replace(table, columns=table.beside)
    return [column_of(name, whole, field) for name in names]


def errors_of(table: Table, states: Sequence[Column], layout: Layout) -> Floats | None:
    """Return the standard errors (n, d) of the states; one column may hold those of all.

    Raises UnreadableData where their number is wrong or one is negative.
    """
    columns = beside(table, layout.error_columns or (), "error_columns")
    if not columns:
        return None
    if len(columns) not in (1, len(states)):
        raise layout_fault(
            "error_columns",
            f"There are {len(columns)} columns of errors for {len(states)} state columns.",
            "Name one column for all states, or one for each in the order of state_columns.",
        )
    values = np.column_stack([column.numbers() for column in columns])
    for column, numbers in zip(columns, values.T, strict=True):
        if not np.isfinite(numbers).any():
            raise layout_fault(
                "error_columns",
                f"{column.title} is to hold standard errors, and has none.",
                "Leave it out of error_columns.",
            )
        wrong = np.flatnonzero(numbers < 0)
        if len(wrong):
            place = f"{table.row_word} {table.lines[int(wrong[0])]}"
            raise UnreadableData(
                f"{column.title} is to hold standard errors, but {place} is negative: "
                f"{numbers[wrong[0]]:.6g}."
            )
    return np.repeat(values, len(states), axis=1) if len(columns) == 1 else values


def inputs_of(table: Table, layout: Layout) -> tuple[Floats | None, tuple[Variable, ...]]:
    """Return the inputs (n, m), and their names and units."""
    columns = beside(table, layout.input_columns or (), "input_columns")
    if not columns:
        return None, ()
    variables = tuple(
        Variable(c.name or f"column {c.position}", c.unit, key=c.key) for c in columns
    )
    return np.column_stack([column.numbers() for column in columns]), variables


def with_groups(table: Table, layout: Layout, notes: Notes) -> Table:
    """Leave out the rows that belong to no group, with a warning.

    Raises UnreadableData where no row belongs to one, or there are too many groups.
    """
    if layout.group_column is None:
        return table
    (column,) = beside(table, (layout.group_column,), "group_column")
    codes = groups_of(column)
    without = codes < 0
    if without.all():
        raise layout_fault("group_column", f"{column.title} is empty in every row.")
    if int(codes.max()) >= _MOST_GROUPS:
        raise layout_fault(
            "group_column",
            f"{column.title} has more than {_MOST_GROUPS} different values.",
            "A group is a condition that many trajectories share. Name the column that identifies "
            "trajectories with id_column.",
        )
    if not without.any():
        return table
    place = f"{table.row_word} {table.lines[int(np.flatnonzero(without)[0])]}"
    notes.warn(
        "rows-without-group",
        f"{int(without.sum())} rows have no value in {column.title}, first {place}: they belong to "
        "no group and were left out.",
        rows=int(without.sum()),
    )
    return table.taken(~without)


def groups_among(
    table: Table, trajectory: Integers | None, layout: Layout, notes: Notes
) -> tuple[Integers | None, tuple[str, ...]]:
    """Return the trajectory of each row, and the group of each trajectory.

    Where nothing else tells trajectories apart, each group is one. Raises UnreadableData where
    the group changes within a trajectory.
    """
    if layout.group_column is None:
        return trajectory, ()
    (column,) = beside(table, (layout.group_column,), "group_column")
    codes = groups_of(column)
    names = [value_at(column, int(row)) for row in np.unique(codes, return_index=True)[1]]
    if trajectory is None:
        if len(names) > 1:
            notes.assume(f"each group of {column.title} is one trajectory")
            return codes, tuple(names)
        return None, (names[0],)
    _, first = np.unique(trajectory, return_index=True)
    own = codes[first]
    wrong = np.flatnonzero(codes != own[trajectory])
    if len(wrong):
        row, start = int(wrong[0]), int(first[trajectory[wrong[0]]])
        raise layout_fault(
            "group_column",
            f"{column.title} changes within a trajectory: {table.row_word} {table.lines[start]} "
            f"says '{value_at(column, start)}' and {table.row_word} {table.lines[row]} "
            f"'{value_at(column, row)}'.",
            "Add the column to id_column if each group of it is a trajectory of its own.",
        )
    return trajectory, tuple(names[int(code)] for code in own)


def names_of(identity: Sequence[Column], trajectory: Integers | None) -> tuple[str, ...]:
    """Return the name of each trajectory: its values in the columns of identity."""
    if not identity or trajectory is None:
        return ()
    _, first = np.unique(trajectory, return_index=True)
    return tuple(
        ", ".join(value_at(column, int(row)) for column in identity)[:_LONGEST] for row in first
    )


def value_at(column: Column, row: int) -> str:
    """Return a value of a column as text."""
    return replace(column, values=column.values[row : row + 1]).shown(1)[0]
