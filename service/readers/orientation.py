"""Orientation of a matrix of numbers without names: a row is a sample or a trajectory."""

import numpy as np

from service.readers.clock import rises_evenly
from service.readers.errors import UnreadableData
from service.readers.layout import Layout
from service.readers.notes import Notes
from service.readers.table import Column, Floats, Lines, Record, Table, Variable

_MANY_COLUMNS = 20


def rows_are_trajectories(
    matrix: Floats, layout: Layout, notes: Notes, *, wide_is_rows: bool
) -> bool:
    """Return whether each row of a nameless (rows, columns) matrix is a trajectory.

    Without a layout that is so for more than 20 columns; with `wide_is_rows` (arrays, not text)
    also for more columns than rows. Raises UnreadableData where both orientations are implausible.
    """
    if layout.orientation is not None:
        return layout.orientation == "rows"
    n_rows, n_columns = matrix.shape
    if layout.time_column or layout.id_column or layout.state_columns:
        return False
    if n_columns <= _MANY_COLUMNS and not (wide_is_rows and n_columns > max(n_rows, 2)):
        return False
    along, across = _roughness(matrix), _roughness(matrix.T)
    if along > 2 * across:
        raise UnreadableData(
            f"The data have {n_rows} rows and {n_columns} columns without names, and it is not "
            "clear what a row is: neighbours in a column are closer than neighbours in a row, as "
            "if every column were a trajectory.",
            hints=[
                "Set orientation=rows if a row is a trajectory.",
                "Transpose the data, or name the columns and give state_columns.",
            ],
        )
    notes.warn(
        "orientation-assumed",
        f"The data have {n_rows} rows and {n_columns} columns without names: each row was read as "
        "one trajectory. Set orientation=rows to confirm, or orientation=columns if each row is "
        "one sample.",
        rows=n_rows,
        columns=n_columns,
    )
    return True


def record_of_rows(matrix: Floats, lines: Lines, layout: Layout, notes: Notes) -> Record:
    """Make a record of one trajectory per row; NaN at either end of a row is padding."""
    times, first_row = None, 0
    if len(matrix) > 1 and _is_time(matrix[0]) and not _is_time(matrix[1]):
        times = matrix[0] - matrix[0, 0]
        matrix, first_row = matrix[1:], 1
        notes.assume("the first row rises evenly: it holds the times of the samples")
    if matrix.shape[1] > 2 and _numbers_rows(matrix):
        matrix = matrix[:, 1:]
        times = None if times is None else times[1:] - times[1]
        notes.assume("column 1 numbers the rows and was ignored")
    notes.assume("each row is one trajectory")
    n_rows, n_columns = matrix.shape
    starts = Lines(
        [n_columns * row for row in range(n_rows)],
        [lines[row + first_row] for row in range(n_rows)],
    )
    return Record(
        states=np.ascontiguousarray(matrix).reshape(-1, 1),
        variables=(Variable(None, layout.state_unit),),
        times=None if times is None else np.tile(times, n_rows),
        printed=None if times is None else np.tile(times, n_rows),
        trajectory=np.repeat(np.arange(n_rows, dtype=np.int64), n_columns),
        padded=True,
        time_unit=layout.time_unit,
        resolved={"orientation": "rows"},
        lines=starts,
        row_word="row",
        whole_rows=True,
    )


def table_of(matrix: Floats, lines: Lines, row_word: str) -> Table:
    """Make a table of nameless columns from a (rows, columns) matrix."""
    columns = tuple(Column(j + 1, None, "number", matrix[:, j]) for j in range(matrix.shape[1]))
    return Table(columns, lines, row_word)


def is_time_by_variable(matrix: Floats) -> bool:
    """Return whether each row of a wide matrix is one variable, and the first row is time."""
    n_rows, n_columns = matrix.shape
    return (
        2 <= n_rows <= _MANY_COLUMNS
        and n_columns > n_rows
        and n_columns >= 10
        and _is_time(matrix[0])
        and not _is_time(matrix[1])
    )


def _is_time(row: Floats) -> bool:
    return len(row) >= 10 and bool(np.isfinite(row).all()) and rises_evenly(np.diff(row), row)


def _numbers_rows(matrix: Floats) -> bool:
    first = matrix[:, 0]
    counted = len(first) > 3 and bool(np.all(np.diff(first) == 1)) and first[0] in (0, 1)
    return counted and bool(np.any(matrix[:, 1:] != np.floor(matrix[:, 1:])))


def _roughness(matrix: Floats) -> float:
    """Return the mean squared step along rows over the variance: 2 for noise, small for a path."""
    with np.errstate(invalid="ignore"):
        differences = np.diff(matrix[:2000], axis=1)
    variance = float(np.nanvar(matrix))
    present = differences[np.isfinite(differences)]
    return float(np.mean(present**2)) / variance if present.size and variance > 0 else 0.0
