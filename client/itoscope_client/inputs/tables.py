"""Conversion of pandas, polars and pyarrow tables and of xarray objects, with their names."""

import importlib.util
import io
from typing import Any

import numpy as np

from itoscope_client.errors import InputError
from itoscope_client.inputs.trajectories import as_times, upload_of_trajectories
from itoscope_client.inputs.upload import LayoutOptions, Upload, columns_of

PARQUET = "application/vnd.apache.parquet"
TIMES = ("time", "t", "times", "frame")
TRAJECTORIES = (
    "trajectory", "traj", "track", "particle", "id", "member", "ensemble", "realization", "run",
    "replicate", "trial", "chain",
)  # fmt: skip
STATES = ("state", "variable", "component", "space", "coordinate", "xyz", "dimension", "dim")


def upload_of_frame(frame: Any, layout: LayoutOptions) -> Upload:
    """Convert a pandas object; a meaningful index becomes a column. Raise InputError."""
    if frame.ndim == 1:
        frame = frame.to_frame("x" if frame.name is None else frame.name)
    if frame.columns.nlevels > 1:
        raise InputError(
            "the columns have several levels: flatten them, "
            "df.columns = ['_'.join(c) for c in df.columns]"
        )
    frame = _with_index(frame, layout)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    for name in frame.columns:
        if frame[name].dtype.kind == "m":
            frame = frame.assign(**{name: frame[name].dt.total_seconds()})
            layout = {**layout, "time_unit": layout.get("time_unit") or "s"}
    if importlib.util.find_spec("pyarrow") is not None:
        return Upload(frame.to_parquet(index=False, engine="pyarrow"), PARQUET, layout=layout)
    return Upload(
        frame.to_csv(index=False, date_format="%Y-%m-%dT%H:%M:%S.%f").encode(),
        "text/csv",
        layout=layout,
    )


def upload_of_polars(frame: Any, layout: LayoutOptions) -> Upload:
    """Convert a polars DataFrame."""
    file = io.BytesIO()
    frame.write_parquet(file)
    return Upload(file.getvalue(), PARQUET, layout=layout)


def upload_of_arrow(table: Any, layout: LayoutOptions) -> Upload:
    """Convert a pyarrow Table."""
    parquet = importlib.import_module("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(table, file)
    return Upload(file.getvalue(), PARQUET, layout=layout)


def _with_index(frame: Any, layout: LayoutOptions) -> Any:
    index = frame.index
    named = all(name is not None for name in index.names)
    if index.nlevels > 1 and not named:
        raise InputError(
            "the index has several levels without names: name them, df.index.names = ['track', 't']"
        )
    if named:
        return frame.reset_index()
    if index.dtype.kind in "Mm":
        return frame.rename_axis("time").reset_index()
    if np.array_equal(index, np.arange(len(frame))) or _has_a_clock(frame, layout):
        return frame
    if index.dtype.kind in "fiu" and (np.diff(index.to_numpy()) > 0).all():
        raise InputError(
            "is the index the time? Name it, df.rename_axis('t'), or give dt=… or time_column=…"
        )
    return frame


def _has_a_clock(frame: Any, layout: LayoutOptions) -> bool:
    named = {"t", "time"} & {str(name).lower() for name in frame.columns}
    return layout.get("dt") is not None or layout.get("time_column") is not None or bool(named)


def upload_of_labelled(data: Any, layout: LayoutOptions) -> Upload:
    """Convert a DataArray or Dataset.

    The options `time_column`, `id_column` and `state_columns` name dimensions and variables that
    are not obvious. Raise InputError, with the option to give.
    """
    if hasattr(data, "data_vars"):
        data, names = _chosen(data, layout)
    else:
        names = None
    dims = [str(dim) for dim in data.dims]
    time = _dimension(dims, layout.get("time_column"), TIMES, "time_column") or _calendar_dimension(
        data, dims
    )
    if time is None and len(dims) == 1:
        time = dims[0]
    if time is None:
        raise InputError(f"which of the dimensions {', '.join(dims)} is time? Give time_column=…")
    rest = [dim for dim in dims if dim != time]
    state = "__state__" if "__state__" in rest else _dimension(rest, None, STATES, "state_columns")
    rest = [dim for dim in rest if dim != state]
    track = _dimension(rest, layout.get("id_column"), TRAJECTORIES, "id_column")
    if rest and rest != [track]:
        options = (
            "select one entry with .isel(…) or .sel(…), "
            "or give the dimension of the trajectories as id_column=…"
        )
        raise InputError(
            f"what are the dimensions {', '.join(dim for dim in rest if dim != track)}? {options}"
        )
    if state is not None and names is None and state in data.coords:
        names = [str(name) for name in data.coords[state].values]
    order = [dim for dim in (track, time, state) if dim is not None]
    values = np.asarray(data.transpose(*order).values, dtype=np.float64)
    values = values.reshape(values.shape[0] if track else 1, data.sizes[time], -1)
    times, unit = _times(data, time, layout)
    if names is None and values.shape[2] == 1:
        names = [str(data.name) if getattr(data, "name", None) else "x"]
    clocks = None if times is None else [times] * len(values)
    return upload_of_trajectories(list(values), clocks, names, {**layout, "time_unit": unit})


def _chosen(dataset: Any, layout: LayoutOptions) -> tuple[Any, list[str]]:
    """Return the states of a Dataset as one DataArray, with their names."""
    asked = columns_of(layout)
    known = {
        str(name): array for name, array in dataset.data_vars.items() if array.dtype.kind in "fiub"
    }
    listed = ", ".join(
        f"{name} ({', '.join(map(str, array.dims))})" for name, array in known.items()
    )
    if asked is None:
        if len(known) != 1:
            raise InputError(
                f"the variables are {listed or 'none'}: "
                "choose the state variables with state_columns=[…]"
            )
        asked = [*known]
    missing = [name for name in asked if name not in known]
    if missing:
        raise InputError(
            f"state_columns names {', '.join(missing)}, but the variables are {listed}"
        )
    arrays = [known[name] for name in asked]
    if len({array.dims for array in arrays}) > 1:
        raise InputError(f"the variables {', '.join(asked)} have different dimensions: {listed}")
    if len(arrays) == 1:
        # A dimension of its own may hold the state; its coordinates are the names then.
        only = arrays[0]
        named = set(STATES) & {str(dim) for dim in only.dims}
        return only, asked if not named else None  # type: ignore[return-value]
    return type(dataset)(dict(zip(asked, arrays, strict=True))).to_array(dim="__state__"), asked


def _dimension(
    dims: list[str], asked: str | None, known: tuple[str, ...], option: str
) -> str | None:
    if asked is not None:
        if asked not in dims:
            raise InputError(f"{option} names '{asked}', but the dimensions are {', '.join(dims)}")
        return asked
    found = [dim for dim in dims if dim.lower() in known]
    return found[0] if len(found) == 1 else None


def _calendar_dimension(data: Any, dims: list[str]) -> str | None:
    found = [dim for dim in dims if dim in data.coords and data.coords[dim].dtype.kind in "Mm"]
    return found[0] if len(found) == 1 else None


def _times(data: Any, time: str, layout: LayoutOptions) -> tuple[Any, str | None]:
    """Return the time coordinate as numbers and its unit; no numbers with `dt` or without times."""
    unit = layout.get("time_unit")
    if time not in data.coords or layout.get("dt") is not None:
        return None, unit
    coordinate = data.coords[time]
    values = coordinate.values
    if values.dtype.kind == "O":  # cftime, of calendars that NumPy does not know
        values = (
            np.array([(stamp - values[0]).total_seconds() for stamp in values])
            * np.timedelta64(10**9, "ns")
            // 1
        )
        values = values.astype("timedelta64[ns]")
    said = str(coordinate.attrs.get("units", "")).partition(" since ")[0].strip()
    return as_times(values, unit or (said or None if values.dtype.kind in "fiu" else None))
