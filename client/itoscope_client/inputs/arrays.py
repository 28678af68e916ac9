"""Conversion of NumPy arrays, lists of them, and arrays by name (HDF5, MATLAB, Zarr, a dict)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import InputError
from itoscope_client.inputs.trajectories import (
    NO_CLOCK,
    Floats,
    as_times,
    npy_upload,
    upload_of_trajectories,
)
from itoscope_client.inputs.upload import (
    LayoutOptions,
    Upload,
    columns_of,
    renamed_columns,
    without,
)

MOST_VARIABLES = 20
"""Number of columns beyond which they are hardly the variables of one process."""
AXES = (
    "axes='td' (samples × variables), axes='nt' (trajectories × samples), "
    "or axes='dt' (variables × samples)"
)
TIMES = frozenset({"t", "time", "times", "timestamp", "timestamps"})
STEPS = frozenset({"dt", "delta_t", "deltat", "time_step", "timestep", "sampling_interval"})

Arrays = Mapping[str, NDArray[Any]]


def upload_of_array(
    array: NDArray[Any], times: Any, layout: LayoutOptions, names: Sequence[str] | None = None
) -> Upload:
    """Convert an array of up to three dimensions. Raise InputError where its axes are unclear."""
    states = as_floats(array, "the data")
    axes = _axes(states, layout)
    parts = [np.ascontiguousarray(part) for part in _trajectories(states, axes)]
    if times is None:
        if layout.get("dt") is None:
            raise InputError(NO_CLOCK)
        if names is None:
            given = layout.get("axes") or layout.get("orientation")
            kept = without(layout, "orientation")
            # Where none were given, the service decides on the axes of a table.
            unclear = states.ndim == 2 and given is None
            return npy_upload(states, kept if unclear else {**kept, "axes": axes})
        return upload_of_trajectories(parts, None, names, layout)
    own, unit = as_times(times, layout.get("time_unit"))
    clocks = [own] * len(parts) if own.ndim == 1 else list(own)
    return upload_of_trajectories(parts, clocks, names, {**layout, "time_unit": unit})


def upload_of_list(items: Sequence[Any], times: Any, layout: LayoutOptions) -> Upload:
    """Convert a list of numbers, or of trajectories, each (n,) or (n, d). Raise InputError."""
    if all(np.ndim(item) == 0 for item in items):
        return upload_of_array(np.asarray(items), times, layout)
    parts = [
        as_floats(np.asarray(item), f"trajectory {k}") for k, item in enumerate(items, start=1)
    ]
    if any(part.ndim not in (1, 2) for part in parts):
        raise InputError(
            "a list holds trajectories, each an array of samples (n,) "
            "or of samples × variables (n, d)"
        )
    longest = max(len(part) for part in parts)
    if all(part.ndim == 1 for part in parts) and longest <= 3 < len(parts):
        raise InputError(
            f"a list of {len(parts)} lists of {longest}: samples of one trajectory, or very short "
            "trajectories? Give np.asarray(x) with axes='td' or axes='nt'"
        )
    states = [part.reshape(len(part), -1) for part in parts]
    if times is None:
        return upload_of_trajectories(states, None, None, layout)
    if np.ndim(times[0]) == 0:
        if len({len(part) for part in states}) > 1:
            raise InputError(
                "the trajectories differ in length: give t=[…] with one array of times for each"
            )
        times = [times] * len(states)
    pairs = [as_times(np.asarray(own), layout.get("time_unit")) for own in times]
    return upload_of_trajectories(
        states, [own for own, _ in pairs], None, {**layout, "time_unit": pairs[0][1]}
    )


def as_floats(array: NDArray[Any], what: str) -> Floats:
    """Return the array in double precision, masked values as NaN. Raise InputError."""
    if isinstance(array, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(array.astype(np.float64), np.nan))
    if array.dtype.kind == "c":
        raise InputError(
            f"{what} are complex: give two variables, np.stack([z.real, z.imag], axis=-1)"
        )
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"{what} are not numbers (dtype {array.dtype}); convert them with array.astype(float)"
        )
    return np.asarray(array, dtype=np.float64)


def _axes(states: Floats, layout: LayoutOptions) -> str:
    axes = layout.get("axes")
    if axes is not None:
        if not ({"t"} <= set(axes) <= set("ntd") and len(set(axes)) == len(axes) == states.ndim):
            raise InputError(
                f"axes={axes!r} does not fit an array of shape {states.shape}; "
                f"write one letter an axis: {AXES}"
            )
        return axes
    if states.ndim == 1:
        return "t"
    if states.ndim == 3:
        if states.shape[2] > MOST_VARIABLES:
            raise InputError(
                f"which axis of the array of shape {states.shape} is what? "
                "Give axes, e.g. axes='ntd'"
            )
        return "ntd"
    if states.ndim != 2:
        raise InputError(
            f"an array of {states.ndim} dimensions; "
            "at most trajectories × samples × variables (axes='ntd') is read"
        )
    if layout.get("orientation") == "rows":
        return "nt"
    n, d = states.shape
    if layout.get("orientation") == "columns" or (d <= MOST_VARIABLES and n > d):
        return "td"
    raise InputError(f"an array of shape {states.shape} is ambiguous: give {AXES}")


def _trajectories(states: Floats, axes: str) -> list[Floats]:
    """Return the trajectories, each (n_k, d)."""
    full = states
    for axis in "ntd":
        if axis not in axes:
            full, axes = full[..., None], axes + axis
    return list(full.transpose([axes.index(axis) for axis in "ntd"]))


def upload_of_named(arrays: Arrays, layout: LayoutOptions, what: str) -> Upload:
    """Convert the arrays of a container, given by their path in it.

    The option `state_columns` names the states, `time_column` the times, `dt` the interval; where
    they are missing there must be only one candidate. Raise InputError, with a list of the arrays.
    """
    arrays = {
        name: np.squeeze(array) if array.ndim > 1 else array
        for name, array in arrays.items()
        if array.dtype.kind in "fiubMm"
    }
    time_name = _time_of(arrays, layout, what)
    layout = _with_step(arrays, layout)
    length = None if time_name is None else arrays[time_name].shape[-1]
    names = _states_of(arrays, time_name, length, layout, what)
    rest = without(layout, "state_columns", "time_column")
    short = [_short(name) for name in names]
    times = None if time_name is None else arrays[time_name]
    if len(names) == 1:
        array = arrays[names[0]]
        if array.ndim > 1:
            return upload_of_array(array, times, rest)
        return upload_of_array(array, times, renamed_columns(rest, names, short), short)
    columns = np.stack([as_floats(arrays[name], f"'{name}'") for name in names], axis=-1)
    axes = "td" if columns.ndim == 2 else "ntd"
    rest = renamed_columns({**rest, "axes": rest.get("axes") or axes}, names, short)
    return upload_of_array(columns, times, rest, short)


def _time_of(arrays: Arrays, layout: LayoutOptions, what: str) -> str | None:
    asked = layout.get("time_column")
    if asked is not None:
        return _named(asked, arrays, "time_column", what)
    found = [
        name for name, array in arrays.items() if _short(name).lower() in TIMES and array.size > 1
    ]
    if len(found) > 1:
        raise InputError(
            f"{what} has several arrays of times ({_listed(arrays, found)}): "
            "choose one with time_column=…"
        )
    return found[0] if found else None


def _with_step(arrays: Arrays, layout: LayoutOptions) -> LayoutOptions:
    """Add the sampling interval that stands beside the data, unless one was given."""
    found = [
        float(array.reshape(-1)[0])
        for name, array in arrays.items()
        if _short(name).lower() in STEPS and array.size == 1
    ]
    return {**layout, "dt": found[0]} if layout.get("dt") is None and len(found) == 1 else layout


def _states_of(
    arrays: Arrays, time_name: str | None, length: int | None, layout: LayoutOptions, what: str
) -> list[str]:
    asked = columns_of(layout)
    if asked is not None:
        names = [_named(name, arrays, "state_columns", what) for name in asked]
        if len({arrays[name].shape for name in names}) > 1:
            raise InputError(
                f"{what}: the arrays named by state_columns differ in shape: "
                f"{_listed(arrays, names)}"
            )
        return names
    others = [
        name
        for name, array in arrays.items()
        if array.size > 1 and name != time_name and array.dtype.kind in "fiub"
    ]
    if length is not None:
        others = [name for name in others if length in arrays[name].shape]
    if len(others) == 1:
        return others
    if not others:
        wanted = "" if length is None else " as long as its times"
        raise InputError(f"{what} has no array of samples{wanted}: {_listed(arrays, arrays)}")
    raise InputError(
        f"{what} has several arrays ({_listed(arrays, others)}): "
        "choose the state variables with state_columns=[…]"
        + (", and which the times with time_column=… (or give dt=…)" if time_name is None else "")
    )


def _named(asked: str, arrays: Arrays, option: str, what: str) -> str:
    """Return an array's name, given by its path or its unique last part. Raise InputError."""
    found = [name for name in arrays if name.strip("/") == asked.strip("/")] or [
        name for name in arrays if _short(name) == asked
    ]
    if len(found) == 1:
        return found[0]
    raise InputError(
        f"{what}: {option} names '{asked}', but there is {_listed(arrays, found or arrays)}"
    )


def _short(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1]


def _listed(arrays: Arrays, names: Any) -> str:
    listed = [f"{name.strip('/')} {arrays[name].shape}" for name in names]
    more = f" and {len(listed) - 12} more" if len(listed) > 12 else ""
    return ", ".join(listed[:12]) + more if listed else "none of numbers"
