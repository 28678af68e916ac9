"""Conversion of NumPy arrays and lists of them to an upload."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import InputError
from itoscope_client.inputs.options import LayoutOptions
from itoscope_client.inputs.stamps import as_times
from itoscope_client.inputs.trajectories import NO_CLOCK, Floats, npy_upload, upload_of_trajectories
from itoscope_client.inputs.upload import Upload

MOST_VARIABLES = 20
"""Number of columns beyond which they are hardly the variables of one process."""
AXES = (
    "axes='td' (samples × variables), axes='nt' (trajectories × samples), "
    "or axes='dt' (variables × samples)"
)


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
            kept = layout.copy()
            kept.pop("orientation", None)
            if (
                states.ndim == 2
                and layout.get("axes") is None
                and layout.get("orientation") is None
            ):
                # The service decides on the axes.
                return npy_upload(states, kept)
            return npy_upload(states, {**kept, "axes": axes})
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
