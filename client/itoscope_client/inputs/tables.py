"""Conversion of pandas, polars and pyarrow tables, with their column names."""

import importlib.util
import io
from typing import Any

import numpy as np

from itoscope_client.errors import InputError
from itoscope_client.inputs.options import LayoutOptions
from itoscope_client.inputs.upload import Upload

PARQUET = "application/vnd.apache.parquet"


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
