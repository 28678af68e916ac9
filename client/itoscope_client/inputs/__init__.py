"""Conversion of any data to an upload; what the service reads is sent unchanged."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from itoscope_client.errors import InputError
from itoscope_client.inputs.arrays import upload_of_array, upload_of_list, upload_of_named
from itoscope_client.inputs.files import upload_of_file
from itoscope_client.inputs.tables import (
    upload_of_arrow,
    upload_of_frame,
    upload_of_labelled,
    upload_of_polars,
)
from itoscope_client.inputs.upload import LayoutOptions, Upload, asked
from itoscope_client.requests import belonging, did_you_mean

__all__ = ["LayoutOptions", "Upload", "asked", "upload_of"]


KNOWN = (
    "an array, a list of trajectories, a dict of arrays, "
    "a pandas, polars, pyarrow or xarray object, a path, or bytes"
)

_TABLES: Mapping[str, Callable[[Any, LayoutOptions], Upload]] = {
    "pandas": upload_of_frame,
    "xarray": upload_of_labelled,
    "polars": upload_of_polars,
    "pyarrow": upload_of_arrow,
}
"""What reads the objects of a package that names its columns."""


def upload_of(data: Any, t: Any = None, layout: LayoutOptions | None = None) -> Upload:
    """Convert any object that holds trajectories to an upload.

    t   sample times of arrays: (n,), or for several trajectories one array each

    Raise InputError, with the option that would settle it; MissingDependency; OSError.
    """
    layout = {} if layout is None else layout
    for option in layout:
        if option not in LayoutOptions.__annotations__:
            meant = did_you_mean(option, LayoutOptions.__annotations__, belonging(option))
            raise InputError(f"{option} is not an option for reading data; {meant}")
    dt = layout.get("dt")
    if dt is not None and not (np.isfinite(dt) and dt > 0):
        raise InputError(f"dt must be a positive number, not {dt}")
    if isinstance(data, Upload):
        return data
    packages = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    upload_of_table = next((_TABLES[name] for name in _TABLES if name in packages), None)
    if t is not None and (upload_of_table or isinstance(data, bytes | str | os.PathLike)):
        raise InputError(
            "t=… is for arrays; name the column (or dimension) of times with time_column=…"
        )
    if isinstance(data, bytes):
        return Upload(data, layout=layout)
    if isinstance(data, str | os.PathLike):
        return upload_of_file(Path(data), layout)
    if upload_of_table is not None:
        return upload_of_table(data, layout)
    if isinstance(data, Mapping):
        arrays = {str(name): np.asarray(array) for name, array in data.items()}
        return upload_of_named(
            arrays if t is None else arrays | {"t": np.asarray(t)}, layout, "the dict"
        )
    if isinstance(data, list | tuple):
        if not data:
            raise InputError("the list of trajectories is empty")
        return upload_of_list(data, t, layout)
    if hasattr(data, "__array__"):
        array = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        return upload_of_array(array, t, layout)
    raise InputError(f"data of type {type(data).__name__} cannot be read; give {KNOWN}")
