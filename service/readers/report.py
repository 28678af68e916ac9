"""The report of a reading (contract.datasets.DatasetReport as JSON); refusal of useless data."""

from typing import Any

import numpy as np

from grammar.terms import variable_name
from service.readers.errors import UnreadableData
from service.readers.layout import Layout
from service.readers.notes import Notes
from service.readers.segments import Segmented
from service.readers.table import Floats, Record


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
            code="too-few-samples",
            hints=["A trajectory needs at least two samples in a row; an analysis needs hundreds."],
        )
    idle = [j for j in range(read.states.shape[1]) if np.ptp(read.states[:, j]) == 0.0]
    if len(idle) == read.states.shape[1]:
        raise UnreadableData(
            f"The data are constant: {_title(record, idle[0])} does not vary, every sample is "
            f"{read.states[0, idle[0]]:.6g}.",
            code="constant-data",
            hints=["Check that the right column is read; name it with state_columns."],
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
        "state_unit": layout.state_unit,
        "axes": layout.axes,
        "gap_factor": layout.gap_factor,
        **record.resolved,
    }
    return {
        "format": form,
        "layout": resolved,
        "assumptions": notes.assumptions,
        "variables": [
            {
                "name": variable_name(j),
                "column": (variable.column or "")[:200] or None,
                "unit": variable.unit,
            }
            for j, variable in enumerate(record.variables)
        ],
        "time_unit": record.time_unit,
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


def _steps(read: Segmented) -> Floats:
    within = np.ones(len(read.times) - 1, dtype=bool)
    within[read.segments[1:, 0] - 1] = False
    return np.asarray(np.diff(read.times)[within])


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
            hints=["Name the column of time with time_column, or omit it and give dt."],
        )
    median, low, high = (float(f"{step:.10g}") for step in (median, low, high))
    return {"median": median, "min": low, "max": high, "jitter": jitter, "source": read.source}


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
    return column if column.startswith("column ") else f"column '{column}'"
