"""Conversion of trajectories and their times to NumPy's own format, exact to the last bit."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import InputError
from itoscope_client.inputs.upload import LayoutOptions, Upload, renamed_columns, without

SECONDS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0,
    "week": 604_800.0, "month": 86_400.0 * 365.25 / 12, "year": 86_400.0 * 365.25,
}  # fmt: skip
Floats = NDArray[np.float64]
NO_CLOCK = (
    "the sample times are unknown: give dt=… (the sampling interval) or t=… (the sample times); "
    "dt=1 counts time in samples"
)


def as_times(times: Any, unit: str | None) -> tuple[Floats, str | None]:
    """Return times as numbers, and their unit.

    Calendar stamps and durations are converted to `unit`, or else to seconds. Raise InputError for
    an unknown unit, and for values that are neither numbers nor stamps.
    """
    array = np.asarray(times)
    if array.dtype.kind == "M":
        array = array - array.reshape(-1)[0]
    if array.dtype.kind == "m":
        unit = unit or "s"
        if unit not in SECONDS:
            raise InputError(
                f"calendar times cannot be converted to {unit!r}: "
                f"give time_unit as one of {', '.join(SECONDS)}"
            )
        return array / np.timedelta64(1, "ns") * (1e-9 / SECONDS[unit]), unit
    if array.dtype.kind not in "fiu":
        raise InputError(f"the times are neither numbers nor calendar stamps (dtype {array.dtype})")
    return array.astype(np.float64), unit


def upload_of_trajectories(
    states: Sequence[Floats],
    times: Sequence[Floats] | None,
    names: Sequence[str] | None,
    layout: LayoutOptions,
) -> Upload:
    """Convert trajectories (n_k, d) and their times (n_k,), if there are any.

    names   names of the d variables beside x, y, z, …

    Raise InputError where nothing is given, shapes disagree, or no time is known.
    """
    if not states:
        raise InputError("there are no trajectories")
    widths = {part.shape[1] for part in states}
    if len(widths) > 1:
        raise InputError(
            f"the trajectories have {sorted(widths)} variables; give those of one kind at a time"
        )
    if times is None and layout.get("dt") is None:
        raise InputError(NO_CLOCK)
    if times is not None:
        _check_times(states, times)
    # The options that name axes and columns have been followed.
    layout = without(layout, "axes", "orientation", "time_column", "id_column", "state_columns")
    named = list(names or [variable_name(j) for j in range(widths.pop())])
    if times is None and len(states) == 1 and names is None:
        return npy_upload(states[0], {**layout, "axes": "td"})
    lengths = np.array([len(part) for part in states])
    columns: dict[str, NDArray[Any]] = {}
    if len(states) > 1:
        columns["id"] = np.repeat(np.arange(len(states)), lengths)
    if times is not None:
        columns["t"] = np.concatenate(times)
    elif len(states) > 1:
        # Samples are counted from 0 in each trajectory; the service multiplies by dt.
        columns["frame"] = np.concatenate([np.arange(length) for length in lengths])
    taken = {*columns}
    both = np.concatenate(states)
    own = [name if name not in taken else f"{name}_" for name in named]
    columns |= {name: both[:, j] for j, name in enumerate(own)}
    roles: LayoutOptions = {"state_columns": own}
    if "id" in columns:
        roles["id_column"] = "id"
    if "t" in columns:
        roles["time_column"] = "t"
    return npz_upload(columns, {**renamed_columns(layout, named, own), **roles})


def variable_name(index: int) -> str:
    """Return the name of a variable without one: x, y, z, x4, …, as the service calls it."""
    return "xyz"[index] if index < 3 else f"x{index + 1}"


def npy_upload(array: NDArray[Any], layout: LayoutOptions) -> Upload:
    """Write one array."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    return Upload(file.getvalue(), "application/x-npy", layout=layout)


def npz_upload(arrays: dict[str, NDArray[Any]], layout: LayoutOptions) -> Upload:
    """Write arrays by name."""
    file = io.BytesIO()
    # NumPy's function takes any name as a keyword except `file`, its own parameter.
    named = {"file_" if k == "file" else k.replace("/", "_"): a for k, a in arrays.items()}
    np.savez(file, **named)  # type: ignore[arg-type]
    return Upload(file.getvalue(), "application/x-npz", layout=layout)


def _check_times(states: Sequence[Floats], times: Sequence[Floats]) -> None:
    if len(times) != len(states):
        raise InputError(
            f"{len(states)} trajectories, but times of {len(times)}: "
            "give t=… one array of times for each"
        )
    for k, (part, own) in enumerate(zip(states, times, strict=True), start=1):
        if own.shape != (len(part),):
            raise InputError(
                f"trajectory {k} has {len(part)} samples, "
                f"but its times t have the shape {own.shape}"
            )
