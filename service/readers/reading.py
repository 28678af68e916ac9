"""The chain of reading: file → table or record → ordered samples → segments → arrays and report."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.readers.columns import record_of
from service.readers.formats import csv
from service.readers.formats.sniffing import Format
from service.readers.layout import Layout
from service.readers.limits import Limits
from service.readers.missing_value_codes import without_missing_codes
from service.readers.names import standard_time_unit
from service.readers.notes import Notes
from service.readers.orientation import record_of_rows, rows_are_trajectories
from service.readers.report import refuse_hopeless, report_of
from service.readers.segments import segmented
from service.readers.table import Record


def read(path: Path, form: Format, layout: Layout, limits: Limits, folder: Path) -> dict[str, Any]:
    """Read an upload, write states.npy, times.npy and segments.npy to `folder`, return the report.

    Raises UnreadableData, and OSError where the files cannot be written.
    """
    notes = Notes()
    record = _record(path, form, layout, limits, notes)
    record = replace(record, states=without_missing_codes(record.states, record.variables, notes))
    dt, unit = _sampling_interval(record, layout, notes)
    record = replace(record, time_unit=record.time_unit or unit)
    read = segmented(record, dt, layout.gap_factor, notes)
    refuse_hopeless(read, record, notes)
    report = report_of(read, record, form, layout, dt, notes)
    _save(folder / "states.npy", np.ascontiguousarray(read.states))
    _save(folder / "times.npy", read.times)
    _save(folder / "segments.npy", read.segments)
    return report


def _save(path: Path, array: NDArray[Any]) -> None:
    # NumPy bypasses `write` of a real file, and its error on a full disk only tells how many
    # numbers it wrote. Through `write` alone the error keeps its errno.
    with path.open("wb") as file:
        np.save(SimpleNamespace(write=file.write), array, allow_pickle=False)


def _record(path: Path, form: Format, layout: Layout, limits: Limits, notes: Notes) -> Record:
    match form:
        case "csv":
            table = csv.read(path, layout, limits, notes)
            numeric = [column.numbers() for column in table.columns if column.kind == "number"]
            matrix_like = not table.named and len(numeric) == len(table.columns)
            if numeric and (layout.orientation == "rows" or matrix_like):
                matrix = np.column_stack(numeric)
                if rows_are_trajectories(matrix, layout, notes, wide_is_rows=False):
                    return record_of_rows(matrix, table.lines, layout, notes)
        case "parquet" | "arrow":
            # pyarrow takes half a second to import, which the other formats need not pay.
            from service.readers.formats import arrow

            read_table = arrow.read_parquet if form == "parquet" else arrow.read_arrow
            table = read_table(path, limits, notes)
        case "json":
            from service.readers.formats import json

            return json.read(path, layout, limits, notes)
        case _:
            from service.readers.formats import bundle, numpy

            if form == "npy":
                return bundle.record_of_array(numpy.read_npy(path, limits), layout, limits, notes)
            if form == "mat":
                from service.readers.formats import matlab

                arrays = matlab.read_mat(path, limits, notes)
            else:
                arrays = numpy.read_npz(path, limits)
            return bundle.record_of_bundle(arrays, layout, limits, notes)
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
