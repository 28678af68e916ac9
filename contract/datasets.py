"""Uploaded trajectories: how a file is laid out, and the report of what was read."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from contract.base import Document, Name
from contract.curves import Bins
from contract.results import Notice

PositiveFinite = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Layout(Document):
    """How to read an upload. Every field is optional; what was assumed instead comes back in the report."""

    dt: Annotated[PositiveFinite | None, Field(examples=[0.01])] = None
    """Sampling interval, where the file has no time column [time]."""
    time_column: Annotated[Name | None, Field(examples=["t"])] = None
    """Name or 1-based number of the column of sample times."""
    id_column: Annotated[Name | None, Field(examples=["track"])] = None
    """Name or 1-based number of the column that tells trajectories apart (long form)."""
    state_columns: Annotated[Annotated[tuple[Name, ...], Field(max_length=64)] | None, Field(examples=[["voltage"]])] = None
    """Names or 1-based numbers of the state columns, in the order x, y, z, x4, …"""
    orientation: Annotated[Literal["columns", "rows"] | None, Field(examples=["rows"])] = None
    """`columns`: one row per sample. `rows`: one row per trajectory of a single variable."""
    axes: Annotated[Annotated[str, Field(pattern=r"^[ntd]{1,3}$")] | None, Field(examples=["ntd"])] = None
    """Meaning of the axes of an array: n trajectory, t time, d state; for instance `ntd`."""
    time_unit: Annotated[Annotated[str, Field(min_length=1, max_length=40)] | None, Field(examples=["s"])] = None
    """Unit of time. Calendar stamps are converted to it (s, min, h, day, year); numbers are only labelled."""
    state_unit: Annotated[Annotated[str, Field(min_length=1, max_length=40)] | None, Field(examples=["nm"])] = None
    """Unit of the state; a label."""
    gap_factor: Annotated[float, Field(gt=1, le=1e6)] = 1.5
    """In a regularly sampled record, a step longer than this many sampling intervals ends a segment."""


class Variable(Document):
    """One coordinate of the state, by its standard name and by the name it had in the file."""

    name: Name
    """x, y, z, x4, …"""
    column: Annotated[str, Field(max_length=200)] | None = None
    """Its name in the file; null where there was none."""
    unit: str | None = None
    """A label, as given or found."""


class SamplingReport(Document):
    """Steps between consecutive samples inside segments [time]."""

    median: float
    """[time]"""
    min: float
    """[time]"""
    max: float
    """[time]"""
    jitter: float
    """Standard deviation of the steps over their median; 0 for a regular clock."""
    source: Literal["time_column", "given", "assumed"]
    """Whence: a column of times, the layout's `dt`, or nowhere: then 1 was assumed."""


class LengthReport(Document):
    """Samples per trajectory."""

    min: int
    """The shortest."""
    median: float
    """Half are shorter."""
    max: int
    """The longest."""


class DatasetReport(Document):
    """What was read from an upload, and what was assumed to read it."""

    format: str
    """csv, json, npy, npz, parquet, arrow or mat."""
    layout: Layout
    """The layout as resolved: what was given and what was inferred."""
    assumptions: tuple[str, ...] = ()
    """Each inference in words, e.g. "column 1 ('t') is time"."""
    variables: tuple[Variable, ...]
    """The state, in the order x, y, z, x4, …"""
    time_unit: str | None = None
    """A label, as given or found."""
    n_trajectories: int
    """Trajectories."""
    n_segments: int
    """Stretches without a gap; no increment ever spans two of them."""
    n_samples: int
    """Samples that are used."""
    n_increments: int
    """Pairs of consecutive samples."""
    duration: float
    """Sum of all increments' time steps [time]."""
    lengths: LengthReport
    """Samples of a trajectory."""
    dt: SamplingReport
    """The clock."""
    range: tuple[tuple[float, float], ...]
    """Smallest and largest value of each variable [state]."""
    n_gaps: int = 0
    """Steps longer than `gap_factor` sampling intervals."""
    n_missing: int = 0
    """Samples dropped because a value was NaN or empty."""
    n_duplicate_times: int = 0
    """Samples dropped because their time was there already."""
    warnings: tuple[Notice, ...] = ()
    """What may change the answer."""


class Dataset(Document):
    """An uploaded record. Immutable; the id is a hash of its content and layout."""

    id: str
    """`ds_` and a hash of content and layout."""
    created_at: datetime
    """When it was first uploaded."""
    sha256: str
    """Digest of the bytes as uploaded, hexadecimal."""
    bytes: int
    """Size of the upload."""
    label: Annotated[str, Field(max_length=200)] | None = None
    """The uploaded file's name; a label, never a path."""
    report: DatasetReport
    """What was read."""


class DatasetList(Document):
    """A page of datasets, newest first."""

    items: tuple[Dataset, ...]
    """The datasets of this page."""
    next_cursor: str | None = None
    """To be given as `cursor` for the next page; null on the last."""


class Stretch(Document):
    """A stretch of the record without a gap, as the smallest and largest sample of each of some pieces of equal length."""

    trajectory: int
    """Number of the trajectory, from 0."""
    times: tuple[float, ...]
    """Of each piece's first sample [time]."""
    low: dict[str, tuple[float, ...]]
    """By variable [state]."""
    high: dict[str, tuple[float, ...]]
    """By variable; equal to `low` where pieces are single samples [state]."""


class DatasetPreview(Document):
    """What a dataset looks like, in a few thousand numbers."""

    stretches: tuple[Stretch, ...]
    """The first and longest of them, in order."""
    n_segments: int
    """How many there are in all."""
    histograms: dict[str, Bins]
    """Of all samples, by variable."""
