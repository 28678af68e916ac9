"""Conversion of arrays by name (HDF5, MATLAB, Zarr, a dict): choice of states and times."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import InputError
from itoscope_client.inputs.arrays import as_floats, upload_of_array
from itoscope_client.inputs.options import LayoutOptions, columns_of
from itoscope_client.inputs.upload import Upload

TIMES = frozenset({"t", "time", "times", "timestamp", "timestamps"})
STEPS = frozenset({"dt", "delta_t", "deltat", "time_step", "timestep", "sampling_interval"})

Arrays = Mapping[str, NDArray[Any]]


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
    rest: LayoutOptions = layout.copy()
    rest.pop("state_columns", None)
    rest.pop("time_column", None)
    times = None if time_name is None else arrays[time_name]
    if len(names) == 1:
        array = arrays[names[0]]
        short = [_short(names[0])] if array.ndim == 1 else None
        return upload_of_array(array, times, rest, short)
    columns = np.stack([as_floats(arrays[name], f"'{name}'") for name in names], axis=-1)
    axes = "td" if columns.ndim == 2 else "ntd"
    return upload_of_array(
        columns, times, {**rest, "axes": rest.get("axes") or axes}, [_short(name) for name in names]
    )


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
    return (
        ", ".join(listed[:12]) + (f" and {len(listed) - 12} more" if len(listed) > 12 else "")
        if listed
        else "none of numbers"
    )
