"""Trajectories as arrays → an upload in NumPy's own format, exact to the last bit."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import InputError
from itoscope_client.inputs.options import LayoutOptions
from itoscope_client.inputs.upload import Upload

Floats = NDArray[np.float64]
NO_CLOCK = "no time is known: give dt=… (the sampling interval) or t=… (the sample times); dt=1 counts time in samples"


def upload_of_trajectories(
    states: Sequence[Floats],
    times: Sequence[Floats] | None,
    names: Sequence[str] | None,
    layout: LayoutOptions,
) -> Upload:
    """Trajectories of shape (n_k, d), and their times of shape (n_k,) if there are any.

    names   of the d variables, as they are to be called beside x, y, z, …

    Raises InputError: nothing there, shapes that disagree, no time at all.
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
    layout = _without_places(layout)
    named = list(names or [f"x{j + 1}" for j in range(widths.pop())])
    if times is None and len(states) == 1 and names is None:
        return npy_upload(states[0], {**layout, "axes": "td"})
    lengths = np.array([len(part) for part in states])
    columns: dict[str, NDArray[Any]] = {}
    if len(states) > 1:
        columns["id"] = np.repeat(np.arange(len(states)), lengths)
    if times is not None:
        columns["t"] = np.concatenate(times)
    elif len(states) > 1:
        # Counted from 0 in each trajectory, and made time by the service with dt.
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
    return npz_upload(columns, {**layout, **roles})


def npy_upload(array: NDArray[Any], layout: LayoutOptions) -> Upload:
    """One array."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    return Upload(file.getvalue(), "application/x-npy", layout=layout)


def npz_upload(arrays: dict[str, NDArray[Any]], layout: LayoutOptions) -> Upload:
    """Arrays by name."""
    file = io.BytesIO()
    # Its names are free, but for the one that the function has itself.
    np.savez(
        file,
        **{
            name.replace("/", "_") if name != "file" else "file_": array
            for name, array in arrays.items()
        },
    )  # type: ignore[arg-type]
    return Upload(file.getvalue(), "application/x-npz", layout=layout)


def _check_times(states: Sequence[Floats], times: Sequence[Floats]) -> None:
    if len(times) != len(states):
        raise InputError(
            f"{len(states)} trajectories, but times of {len(times)}: give t=… one array of times for each"
        )
    for k, (part, own) in enumerate(zip(states, times, strict=True), start=1):
        if own.shape != (len(part),):
            raise InputError(
                f"trajectory {k} has {len(part)} samples, but its times t have the shape {own.shape}"
            )


def _without_places(layout: LayoutOptions) -> LayoutOptions:
    """The layout without what said where things are: that has been followed."""
    rest: LayoutOptions = layout.copy()
    rest.pop("axes", None)
    rest.pop("orientation", None)
    rest.pop("time_column", None)
    rest.pop("id_column", None)
    rest.pop("state_columns", None)
    return rest
