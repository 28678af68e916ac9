"""Arrays of numbers as records: a matrix and its orientation, named arrays, trajectories."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from service.readers.clock import rises_evenly
from service.readers.columns import record_of
from service.readers.errors import UnreadableData, layout_fault, too_large
from service.readers.labels import labelled_by_number
from service.readers.names import is_time, split_unit
from service.readers.options import Layout, Limits, Notes
from service.readers.table import Column, Floats, Lines, Record, Table, Variable

_DT_NAMES = frozenset(
    {"dt", "delta_t", "deltat", "time_step", "timestep", "sampling_interval", "sampling_period"}
)
_RATE_NAMES = frozenset(
    {"fs", "fps", "rate", "sampling_rate", "sample_rate", "samplerate", "frame_rate", "framerate"}
    | {"sfreq", "srate", "sampling_frequency", "sample_freq", "frequency"}
)
_NUMBERED = re.compile(
    r"(?:arr|array|traj|trajectory|track|run|path|x|sample|series)?_?\d+\Z", re.IGNORECASE
)


def record_of_array(array: Floats, layout: Layout, limits: Limits, notes: Notes) -> Record:
    """Make a record of one array with one to three dimensions. Raises UnreadableData."""
    if layout.axes is not None and not len(layout.axes) == len(set(layout.axes)) == array.ndim:
        detail = f"axes says '{layout.axes}', but the array has {array.ndim} dimensions."
        raise layout_fault("axes", detail)
    if array.size == 0 or array.ndim == 0:
        detail = f"The array of shape {array.shape} holds no samples."
        raise UnreadableData(detail, code="too-few-samples")
    refuse_infinite(array, "the array")
    if array.ndim == 1:
        return record_of(table_of(array[:, None], Lines(), "sample"), layout, limits, notes)
    if array.ndim == 3:
        axes = layout.axes or "ntd"
        if layout.axes is None:
            n, t, d = array.shape
            notes.assume(f"the axes are trajectory ({n}), time ({t}), state ({d})")
        array = np.transpose(array, [axes.index(axis) for axis in "ntd"])
        parts = [np.ascontiguousarray(part) for part in array]
        return record_of_list(parts, None, layout, limits, notes, padded=True)
    if array.ndim != 2:
        raise UnreadableData(
            f"The array has {array.ndim} dimensions; three are read: trajectory, time and state.",
            "Reshape it, and specify the axes with axes, for instance axes=ntd.",
        )
    return _record_of_matrix(array, layout, limits, notes)


def _record_of_matrix(array: Floats, layout: Layout, limits: Limits, notes: Notes) -> Record:
    axes = layout.axes
    if axes is None and layout.orientation is None and is_time_by_variable(array):
        notes.assume(f"row 1 of {len(array)} rises evenly and is time: each row is one variable")
        axes = "dt"
    if axes in ("nt", "tn"):
        return record_of_rows(array if axes == "nt" else array.T, Lines(), layout, notes)
    if axes in ("nd", "dn"):
        detail = f"axes says '{axes}', but without a time axis there are no trajectories."
        raise layout_fault("axes", detail)
    if axes == "dt":
        array = array.T
    elif axes is None and rows_are_trajectories(array, layout, notes, wide_is_rows=True):
        return record_of_rows(array, Lines(), layout, notes)
    if array.shape[1] > limits.columns:
        raise too_large(
            f"The array has {array.shape[1]:,} columns.",
            "Set orientation=rows if each row is a trajectory.",
        )
    return record_of(table_of(array, Lines(), "sample"), layout, limits, notes)


def record_of_bundle(
    arrays: Mapping[str, Floats], layout: Layout, limits: Limits, notes: Notes
) -> Record:
    """Make a record of arrays with names: columns of equal length, or one trajectory each.

    Raises UnreadableData where it is not clear how the arrays belong together.
    """
    scalars = {name: array for name, array in arrays.items() if array.size == 1 and array.ndim <= 1}
    for name, array in scalars.items():
        if name.lower() in _DT_NAMES and float(array.reshape(-1)[0]) > 0:
            notes.dt_in_file = (float(array.reshape(-1)[0]), None, name)
        if name.lower() in _RATE_NAMES and float(array.reshape(-1)[0]) > 0:
            value = float(f"{1 / float(array.reshape(-1)[0]):.15g}")
            notes.dt_in_file = (value, "s", name)
    shaped = {name: array for name, array in arrays.items() if array.ndim}
    data = {name: array for name, array in shaped.items() if name not in scalars} or shaped
    chosen = layout.state_columns or ()
    if chosen and set(chosen) <= set(data) and any(data[name].ndim > 1 for name in chosen):
        kept = {*chosen, layout.time_column}
        data = {name: a for name, a in data.items() if name in kept or is_time(name)}
        layout = replace(layout, state_columns=None)
    if not data:
        raise UnreadableData("There are only single numbers, no array.", code="too-few-samples")
    for name, array in data.items():
        refuse_infinite(array, f"'{name[:60]}'")
    given = layout.time_column
    time = next((x for x in data if (is_time(x) if given is None else x == given)), None)
    others = {name: array for name, array in data.items() if name != time}
    if time is not None and others:
        return _timed(time, data[time], others, layout, limits, notes)
    if len(data) == 1:
        name, array = next(iter(data.items()))
        if array.ndim == 1 and not _NUMBERED.match(name):
            return record_of(_table(data), layout, limits, notes)  # this keeps the name
        return record_of_array(array, layout, limits, notes)
    vectors = all(array.ndim == 1 for array in data.values())
    if vectors and len(set(map(len, data.values()))) == 1 and not all(map(_NUMBERED.match, data)):
        return record_of(_table(data), layout, limits, notes)
    matrices = all(array.ndim == 2 for array in data.values())
    if vectors or (matrices and len({array.shape[1] for array in data.values()}) == 1):
        notes.assume(f"each of the {len(data)} arrays is one trajectory")
        parts = [array.reshape(len(array), -1) for array in data.values()]
        return record_of_list(parts, None, layout, limits, notes)
    raise _unclear(data)


def _timed(
    name: str,
    times: Floats,
    others: Mapping[str, Floats],
    layout: Layout,
    limits: Limits,
    notes: Notes,
) -> Record:
    n = times.shape[-1]
    if times.ndim == 1 and all(array.ndim == 1 and len(array) == n for array in others.values()):
        return record_of(_table({name: times, **others}), layout, limits, notes)
    if len(others) > 1:
        raise _unclear({name: times, **others})
    state_name, states = next(iter(others.items()))
    if times.ndim == 1 and states.ndim == 2 and len(states) == n and layout.orientation != "rows":
        columns = {f"{state_name}_{j}": states[:, j] for j in range(states.shape[1])}
        return record_of(_table({name: times, **columns}), layout, limits, notes)
    if (
        states.ndim in (2, 3)
        and states.shape[1] == n
        and times.ndim in (1, 2)
        and (times.ndim == 1 or len(times) == len(states))
    ):
        notes.assume(f"'{name}' holds the times, and each row of '{state_name}' is one trajectory")
        parts = [part.reshape(n, -1) for part in states]
        own = [times if times.ndim == 1 else times[k] for k in range(len(states))]
        return record_of_list(parts, own, layout, limits, notes, padded=True, time_name=name)
    raise _unclear({name: times, **others})


def record_of_list(
    trajectories: Sequence[Floats],
    times: Sequence[Floats] | None,
    layout: Layout,
    limits: Limits,
    notes: Notes,
    *,
    padded: bool = False,
    time_name: str = "times",
) -> Record:
    """Make a record of trajectories (n_k, d) with their times (n_k,).

    Raises UnreadableData where shapes disagree.
    """
    if len(trajectories) > limits.trajectories:
        counts = f"{len(trajectories):,} trajectories; at most {limits.trajectories:,} are read"
        raise too_large(f"There are {counts}.")
    widths = {part.shape[1] for part in trajectories}
    if len(widths) != 1:
        raise UnreadableData("The trajectories have different numbers of state variables.")
    width = widths.pop()
    if width == 0 or width > limits.state_columns:
        raise UnreadableData(
            f"Each sample has {width} state variables; 1 to {limits.state_columns} are read.",
            "Specify the axes with axes, for instance axes=ntd.",
        )
    lengths = np.asarray([len(part) for part in trajectories], dtype=np.int64)
    stamps, start = None, 0.0
    if times is not None:
        for k, (part, own) in enumerate(zip(trajectories, times, strict=True), start=1):
            if len(own) != len(part):
                detail = f"Trajectory {k} has {len(part)} samples but {len(own)} times."
                raise UnreadableData(detail)
        stamps = np.concatenate(times)
        start = float(np.nanmin(stamps)) if np.isfinite(stamps).any() else 0.0
    starts = np.concatenate(([0], np.cumsum(lengths)))
    variables, resolved = labelled_by_number([Variable(None)] * width, layout)
    return Record(
        states=np.concatenate(trajectories),
        variables=variables,
        times=None if stamps is None else stamps - start,
        printed=stamps,
        trajectory=np.repeat(np.arange(len(lengths), dtype=np.int64), lengths),
        padded=padded,
        time_name=None if stamps is None else f"'{time_name}'",
        time_unit=layout.time_unit,
        resolved={"orientation": None, **resolved},
        lines=Lines([int(start) for start in starts[:-1]], [1] * len(lengths)),
        row_word="sample",
    )


def refuse_infinite(array: Floats, what: str) -> None:
    """Raise UnreadableData where an array holds an infinite value."""
    if np.isinf(array).any():
        where = ", ".join(str(int(axis[0]) + 1) for axis in np.nonzero(np.isinf(array)))
        raise UnreadableData(
            f"An infinite value stands in {what} at ({where}).", "Write NaN for a missing value."
        )


def _table(arrays: Mapping[str, Floats]) -> Table:
    columns = tuple(
        Column(position, name, "number", array, split_unit(name)[1])
        for position, (name, array) in enumerate(arrays.items(), start=1)
    )
    return Table(columns, Lines(), "sample")


def _unclear(arrays: Mapping[str, Floats]) -> UnreadableData:
    shapes = ", ".join(f"'{name[:40]}' {array.shape}" for name, array in list(arrays.items())[:10])
    return UnreadableData(
        f"It is not clear how these arrays belong together: {shapes}.",
        "Give one array t of n times and arrays of n values, or one array per trajectory.",
        "Or give one array of shape (trajectories, times, state).",
        "Or name the array to be read in state_columns.",
    )


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
    columns = (layout.time_column, layout.id_column, layout.state_columns, layout.ignored_columns)
    if any((*columns, *layout.beside.values())):
        return False
    if n_columns <= _MANY_COLUMNS and not (wide_is_rows and n_columns > max(n_rows, 2)):
        return False
    along, across = _roughness(matrix), _roughness(matrix.T)
    if along > 2 * across:
        raise UnreadableData(
            f"The data have {n_rows} rows and {n_columns} columns without names, and it is not "
            "clear what a row is: neighbours in a column are closer than neighbours in a row, as "
            "if every column were a trajectory.",
            "Set orientation=rows if a row is a trajectory.",
            "Transpose the data, or name the columns and give state_columns.",
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
    variables, resolved = labelled_by_number([Variable(None)], layout)
    return Record(
        states=np.ascontiguousarray(matrix).reshape(-1, 1),
        variables=variables,
        times=None if times is None else np.tile(times, n_rows),
        printed=None if times is None else np.tile(times, n_rows),
        trajectory=np.repeat(np.arange(n_rows, dtype=np.int64), n_columns),
        padded=True,
        time_unit=layout.time_unit,
        resolved={"orientation": "rows", **resolved},
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
