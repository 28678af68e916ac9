"""The chain of reading: file → table or record → ordered samples → segments → arrays and report."""

import errno
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar.names import symbols_of
from grammar.terms import variable_name
from service.readers.columns import record_of
from service.readers.errors import UnreadableData, layout_fault
from service.readers.evidence import (
    likely_period,
    warn_of_glitches,
    without_missing_codes,
    without_stuck_values,
)
from service.readers.formats import csv
from service.readers.formats.arrays import (
    record_of_array,
    record_of_bundle,
    record_of_rows,
    rows_are_trajectories,
)
from service.readers.formats.sniffing import Format
from service.readers.names import SECONDS, is_position, split_unit, standard_time_unit
from service.readers.options import Layout, Limits, Notes
from service.readers.segments import Segmented, segmented
from service.readers.table import Flags, Floats, Record, Variable

_LONGEST = 200
"""Number of characters of a column's name in a report."""
_HEADER_BYTES = 128
"""Bytes of the header that `numpy.save` writes before an array."""


def read(path: Path, form: Format, layout: Layout, limits: Limits, folder: Path) -> dict[str, Any]:
    """Read an upload, write the files of a dataset to `folder`, return the report.

    Raises UnreadableData, and OSError where the files cannot be written or would be too large.
    """
    notes = Notes()
    record = _record(path, form, layout, limits, notes)
    _check_columns_beside(layout, record)
    states = without_missing_codes(record.states, record.variables, notes)
    record = without_stuck_values(replace(record, states=states), notes)
    warn_of_glitches(record, notes)
    dt, unit = _sampling_interval(record, layout, notes)
    record = replace(record, time_unit=record.time_unit or unit)
    read = _cut_apart(segmented(_side_by_side(record), dt, layout.gap_factor, notes), record)
    refuse_hopeless(read, record, notes)
    report = report_of(read, record, form, layout, dt, notes)
    files = {
        "states.npy": np.ascontiguousarray(read.states),
        "times.npy": read.times,
        "segments.npy": read.segments,
    }
    for name, beside in (("inputs.npy", read.inputs), ("errors.npy", read.errors)):
        if beside.shape[1]:
            files[name] = np.ascontiguousarray(beside)
    words = {"names": read.names, "groups": read.groups}
    named = json.dumps(words).encode() if any(words.values()) else b""
    size = sum(array.nbytes + _HEADER_BYTES for array in files.values()) + len(named)
    if size > limits.file_bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for name, array in files.items():
        _save(folder / name, array)
    if named:
        (folder / "trajectories.json").write_bytes(named)
    return report


def _check_columns_beside(layout: Layout, record: Record) -> None:
    """Check that the columns of groups, inputs and errors were found. Raises UnreadableData."""
    for field, found in (
        ("group_column", bool(record.groups)),
        ("input_columns", record.inputs is not None),
        ("error_columns", record.errors is not None),
    ):
        if getattr(layout, field) and not found:
            raise layout_fault(
                field,
                f"{field} names columns, but the data are no table with one row per sample.",
                "Upload a table, such as CSV or Parquet, with a column for each.",
            )


def _side_by_side(record: Record) -> Record:
    """Put inputs and errors beside the states, so that a sample lacks none of them."""
    if record.inputs is None and record.errors is None:
        return record
    parts = [p for p in (record.states, record.inputs, record.errors) if p is not None]
    return replace(record, states=np.column_stack(parts))


def _cut_apart(read: Segmented, record: Record) -> Segmented:
    """Take inputs and errors, which stand beside the states, apart."""
    d = len(record.variables)
    m = d + len(record.input_variables)
    return replace(
        read,
        states=np.ascontiguousarray(read.states[:, :d]),
        inputs=read.states[:, d:m],
        errors=read.states[:, m:],
    )


def _save(path: Path, array: NDArray[Any]) -> None:
    # NumPy bypasses `write` of a real file, and its error on a full disk only tells how many
    # numbers it wrote. Through `write` alone the error keeps its errno.
    with path.open("wb") as file:
        np.save(SimpleNamespace(write=file.write), array, allow_pickle=False)


def _with_axes_of_a_table(layout: Layout) -> Layout:
    """Say by the orientation what the axes say, where they are those of rows and columns.

    Raises UnreadableData where they are not.
    """
    match layout.axes:
        case None | "tn":
            return layout
        case "nt":
            return replace(layout, orientation="rows")
        case "td":
            return replace(layout, orientation="columns")
    raise layout_fault(
        "axes",
        f"axes says '{layout.axes}', but a table has rows and columns.",
        "Set axes=td if a column is a variable, axes=tn if it is a trajectory of one variable, "
        "and axes=nt if a row is a trajectory.",
    )


def _record(path: Path, form: Format, layout: Layout, limits: Limits, notes: Notes) -> Record:
    if form in ("csv", "parquet", "arrow"):
        layout = _with_axes_of_a_table(layout)
    match form:
        case "csv":
            table = csv.read(path, layout, limits, notes)
            numeric = [column.numbers() for column in table.columns if column.kind == "number"]
            matrix_like = not table.named and len(numeric) == len(table.columns)
            matrix_like = matrix_like and layout.axes is None
            if numeric and (layout.orientation == "rows" or matrix_like):
                matrix = np.column_stack(numeric)
                if rows_are_trajectories(matrix, layout, notes, wide_is_rows=False):
                    return record_of_rows(matrix, table.lines, layout, notes)
        case "parquet" | "arrow":
            # pyarrow takes half a second to import, which the other formats need not pay.
            from service.readers.formats import arrow

            read_table = arrow.read_parquet if form == "parquet" else arrow.read_arrow
            table = read_table(path, limits, notes)
        case "zip":
            from service.readers.formats.archive import read_zip

            return read_zip(
                path,
                limits,
                notes,
                lambda file, kind, own: _record(file, kind, layout, limits, own),
            )
        case "json":
            from service.readers.formats import json

            return json.read(path, layout, limits, notes)
        case _:
            from service.readers.formats import numpy

            if form == "npy":
                return record_of_array(numpy.read_npy(path, limits), layout, limits, notes)
            if form == "mat":
                from service.readers.formats import matlab

                arrays = matlab.read_mat(path, limits, notes)
            else:
                arrays = numpy.read_npz(path, limits)
            return record_of_bundle(arrays, layout, limits, notes)
    return record_of(table, layout, limits, notes)


def _sampling_interval(
    record: Record, layout: Layout, notes: Notes
) -> tuple[float | None, str | None]:
    """Return dt, given or named in the file, and its unit; warn where it is needed but unknown."""
    if layout.dt is not None:
        return layout.dt, None
    needed = record.times is None or record.counted
    if notes.dt_in_file is not None:
        value, unit, words = notes.dt_in_file
        if needed:
            notes.assume(f"the file itself gives the sampling interval: '{words}'")
        return value, standard_time_unit(unit) if needed else None
    if needed:
        counted = f"; {record.time_name} counts samples" if record.counted else ""
        notes.warn(
            "no-time-axis",
            f"The time step (sampling interval dt) is unknown{counted}: dt = 1 was assumed, so "
            "rates are per sample. Give dt.",
        )
    return None, None


def refuse_hopeless(read: Segmented, record: Record, notes: Notes) -> None:
    """Check that the data can be analysed, and warn of constant coordinates.

    Raises UnreadableData where no two usable samples follow each other or no state variable varies.
    """
    n_samples = len(read.states)
    lengths = read.segments[:, 1] - read.segments[:, 0]
    if n_samples < 2 or not np.any(lengths > 1):
        missing = f"; {notes.n_missing} are missing" if notes.n_missing else ""
        detail = f"{n_samples} usable samples" if n_samples != 1 else "1 usable sample"
        raise UnreadableData(
            f"There are too few samples: {detail}{missing}, and no two usable ones are "
            "consecutive.",
            "A trajectory needs at least two samples in a row; an analysis needs hundreds.",
            code="too-few-samples",
        )
    idle = [j for j in range(read.states.shape[1]) if np.ptp(read.states[:, j]) == 0.0]
    if len(idle) == read.states.shape[1]:
        raise UnreadableData(
            f"The data are constant: {_title(record, idle[0])} does not vary, every sample is "
            f"{read.states[0, idle[0]]:.6g}.",
            "Check that the right column is read; name it with state_columns.",
            code="constant-data",
        )
    for j in idle:
        notes.warn(
            "constant-column",
            f"{_title(record, j)} is constant: every sample is {read.states[0, j]:.6g}. "
            "Omit it with state_columns.",
            variable=variable_name(j),
        )


def report_of(
    read: Segmented, record: Record, form: str, layout: Layout, dt: float | None, notes: Notes
) -> dict[str, Any]:
    """Return the report in the JSON form of contract.datasets.DatasetReport."""
    first, end, trajectory = read.segments.T
    samples_of = np.bincount(trajectory, end - first, read.n_trajectories)
    steps = _steps(read)
    sampling = _sampling(steps, read)
    if layout.dt is not None and read.source == "time_column" and not record.counted:
        _compare(layout.dt, sampling, record, notes)
    if layout.dt is None and read.source == "time_column" and not record.counted:
        _compare_with_file(sampling, record, notes)
    if notes.n_missing:
        notes.warn(
            "missing-values",
            f"{notes.n_missing} samples are missing (NaN or empty); they were ignored, and the "
            "time series was split there.",
            samples=notes.n_missing,
        )
    if notes.n_gaps:
        notes.warn(
            "gaps",
            f"{notes.n_gaps} steps are longer than {layout.gap_factor:g} sampling intervals of "
            f"{sampling['median']:.6g}; the time series was split at these gaps.",
            gaps=notes.n_gaps,
        )
    resolved = {
        "dt": dt if read.source == "given" else (1.0 if read.source == "assumed" else None),
        "time_unit": record.time_unit,
        "axes": layout.axes,
        "gap_factor": layout.gap_factor,
        "ignored_columns": layout.ignored_columns,
        **record.resolved,
    }
    return {
        "format": form,
        "layout": resolved,
        "assumptions": notes.assumptions,
        "variables": _described(record.variables),
        "columns": list(record.columns),
        "likely_periods": _likely_periods(read, record.variables),
        "time_unit": record.time_unit,
        "inputs": _inputs(record),
        "groups": dict(Counter(read.groups)),
        "errors": [float(e) for e in np.median(read.errors, axis=0)],
        "n_trajectories": read.n_trajectories,
        "n_segments": len(read.segments),
        "n_samples": len(read.states),
        "n_increments": len(steps),
        "duration": float(steps.sum()),
        "lengths": {
            "min": int(samples_of.min()),
            "median": float(np.median(samples_of)),
            "max": int(samples_of.max()),
        },
        "dt": sampling,
        "range": [
            [float(low), float(high)]
            for low, high in zip(read.states.min(axis=0), read.states.max(axis=0), strict=True)
        ],
        "n_gaps": notes.n_gaps,
        "n_missing": notes.n_missing,
        "n_duplicate_times": notes.n_duplicate_times,
        "warnings": notes.warnings,
    }


def _described(variables: Sequence[Variable]) -> list[dict[str, Any]]:
    """Describe the variables in the JSON form of contract.datasets.Variable.

    Raises UnreadableData where the layout gives one the name of another.
    """
    named = [v.column if v.column and not is_position(v.column) else None for v in variables]
    words = [split_unit(column)[0] if column else None for column in named]
    # Of `x_nm` and `x_um` the units are what tells them apart.
    distinct = [
        column if words.count(word) > 1 else word for column, word in zip(named, words, strict=True)
    ]
    symbols = symbols_of(distinct, {j: v.symbol for j, v in enumerate(variables) if v.symbol})
    for j, variable in enumerate(variables):
        if variable.symbol:
            _check_alone(j, symbols, variables)
    return [
        {
            "name": variable_name(j),
            "symbol": symbol,
            "label": (variable.symbol or words or variable.column or "")[:_LONGEST] or None,
            "column": (variable.column or "")[:_LONGEST] or None,
            "unit": variable.unit,
        }
        for j, (variable, words, symbol) in enumerate(
            zip(variables, distinct, symbols, strict=True)
        )
    ]


def _inputs(record: Record) -> list[dict[str, Any]]:
    """Describe the inputs in the JSON form of contract.datasets.Variable."""
    variables = record.input_variables
    names = ["u"] if len(variables) == 1 else [f"u{j + 1}" for j in range(len(variables))]
    own = symbols_of([split_unit(v.column or "")[0] for v in variables], {})
    taken = {entry["symbol"] for entry in _described(record.variables)}
    return [
        {
            "name": name,
            "symbol": name if symbol in taken or not variable.column else symbol,
            "label": (variable.column or "")[:_LONGEST] or None,
            "column": (variable.column or "")[:_LONGEST] or None,
            "unit": variable.unit,
        }
        for name, symbol, variable in zip(names, own, variables, strict=True)
    ]


def _check_alone(j: int, symbols: Sequence[str], variables: Sequence[Variable]) -> None:
    """Raise UnreadableData where the name given to a variable is another's, too."""
    word, own = symbols[j], variables[j]
    for i, symbol in enumerate(symbols):
        if i != j and word in (symbol.rstrip("_"), variable_name(i)):
            other = variables[i].column or f"variable {i + 1}"
            standard = "standard " if word == variable_name(i) else ""
            both = "" if standard or variables[i].symbol else ", or name both"
            raise layout_fault(
                "state_names",
                f"'{(own.column or own.key)[:60]}' cannot be called {word}: that is the "
                f"{standard}name of '{other[:60]}'.",
                f"Choose another name{both}.",
                key=own.key,
            )


def _likely_periods(read: Segmented, variables: Sequence[Variable]) -> dict[str, float]:
    within = _within(read)
    periods = {
        variable_name(j): likely_period(variable.column, variable.unit, read.states[:, j], within)
        for j, variable in enumerate(variables)
    }
    return {name: period for name, period in periods.items() if period is not None}


def _within(read: Segmented) -> Flags:
    """Flag the steps (n - 1,) that stay in one segment."""
    within = np.ones(len(read.times) - 1, dtype=bool)
    within[read.segments[1:, 0] - 1] = False
    return within


def _steps(read: Segmented) -> Floats:
    return np.asarray(np.diff(read.times)[_within(read)])


def _sampling(steps: Floats, read: Segmented) -> dict[str, Any]:
    low, high, median = float(steps.min()), float(steps.max()), float(np.median(steps))
    if high - low <= 1e-9 * median + 8 * float(np.spacing(read.times.max())):
        # The interval of a regular clock is taken from the whole record, without the rounding
        # errors of single steps.
        interval = float(f"{steps.sum() / len(steps):.12g}")
        same = dict.fromkeys(("median", "min", "max"), interval)
        return {**same, "jitter": 0.0, "source": read.source}
    with np.errstate(over="ignore"):
        jitter = float(np.std(steps / median))
    if not np.isfinite(jitter):
        raise UnreadableData(
            f"The time steps range from {low:.3g} to {high:.3g}: this cannot be a time column.",
            "Name the column of time with time_column, or omit it and give dt.",
        )
    median, low, high = (float(f"{step:.10g}") for step in (median, low, high))
    return {"median": median, "min": low, "max": high, "jitter": jitter, "source": read.source}


def _compare_with_file(sampling: dict[str, Any], record: Record, notes: Notes) -> None:
    """Warn where the file names another sampling interval than its column of times has.

    Intervals in units that may differ are compared up to powers of a thousand; the scale of
    one wave (Igor) says nothing of another.
    """
    if notes.dt_in_file is None or "SetScale" in notes.dt_in_file[2]:
        return
    value, unit, words = notes.dt_in_file
    own, other = (SECONDS.get((name or "").lower()) for name in (record.time_unit, unit))
    ratio = value / float(sampling["median"])
    if own is not None and other is not None:
        ratio *= other / own
    elif ratio > 0:
        ratio /= 1000.0 ** round(np.log10(ratio) / 3)
    if abs(ratio - 1) > 0.01:
        notes.warn(
            "dt-disagrees",
            f"The file names a sampling interval, '{words}', but {record.time_name} says "
            f"{sampling['median']:g}; the column was used. To use the other, set "
            "time_column=none and give dt.",
        )


def _compare(dt: float, sampling: dict[str, Any], record: Record, notes: Notes) -> None:
    median = float(sampling["median"])
    if abs(dt - median) > 0.01 * median:
        notes.warn(
            "dt-disagrees",
            f"dt = {dt:g} was given, but {record.time_name} says {median:g}; the column was used. "
            "Omit dt, or omit the column with state_columns.",
            given=dt,
            column=median,
        )


def _title(record: Record, j: int) -> str:
    column = record.variables[j].column
    if not column:
        return f"'{variable_name(j)}'"
    return column if is_position(column) else f"column '{column}'"
