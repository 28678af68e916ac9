"""Uploaded trajectories: how a file is laid out, and the report of what was read."""

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from contract.base import Document, Name
from contract.curves import Bins
from contract.results import Notice
from grammar.names import LONGEST_SYMBOL, given_symbol

MOST_STATES = 64
"""Largest number of state variables."""

PositiveFinite = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Names = Annotated[tuple[Name, ...], Field(max_length=MOST_STATES)]
_Ignored = Annotated[tuple[Name, ...], Field(max_length=1000)]
_Axes = Annotated[str, Field(pattern=r"^[ntd]{1,3}$")]
_NO_LABEL = re.compile(r"[\x00-\x1f\x7f-\x9f=]")


def _unit(text: str) -> str:
    if _NO_LABEL.search(text):
        raise PydanticCustomError("unit", "must hold neither `=` nor a control character")
    return text


def _symbol(text: str) -> str:
    try:
        return given_symbol(text)
    except ValueError as error:
        message = f"cannot be the name of a variable: it {error}"
        raise PydanticCustomError("name", "{message}", {"message": message}) from None


_Unit = Annotated[
    str,
    Field(
        min_length=1, max_length=40, json_schema_extra={"pattern": f"^[^{_NO_LABEL.pattern[1:]}+$"}
    ),
    AfterValidator(_unit),
]
_UnitOrUnits = Annotated[
    Annotated[_Unit, Tag("all")]
    | Annotated[dict[Name, _Unit], Field(max_length=MOST_STATES), Tag("columns")],
    Discriminator(
        lambda given: {str: "all", dict: "columns"}.get(type(given)),
        custom_error_type="unit",
        custom_error_message="must be a unit, or an object of units by column",
    ),
]
_Symbol = Annotated[str, Field(min_length=1, max_length=LONGEST_SYMBOL), AfterValidator(_symbol)]


class PlainLayout(Document):
    """Fields of a layout that hold the same for the whole file, or list columns."""

    dt: Annotated[PositiveFinite | None, Field(examples=[0.01])] = None
    """Sampling interval, for files without a time column [time]."""
    time_column: Annotated[Name | None, Field(examples=["t"])] = None
    """Name or 1-based number of the column that holds the sample times; `none` if none does."""
    id_column: Annotated[Name | None, Field(examples=["track"])] = None
    """Name or 1-based number of the column that identifies the trajectory of each row (long
    form). Several columns are separated by commas: `movie,particle`; `none` if none does."""
    state_columns: Annotated[_Names | None, Field(examples=[["voltage"]])] = None
    """Names or 1-based numbers of the state columns, in the order x, y, z, x4, …; of a file of
    several arrays, names of the arrays to be read."""
    ignored_columns: Annotated[_Ignored | None, Field(examples=[["temperature"]])] = None
    """Names or 1-based numbers of columns that are neither time, nor identity, nor state."""
    group_column: Annotated[Name | None, Field(examples=["condition"])] = None
    """Name or 1-based number of the column that names the group of each trajectory, for example a
    condition. Groups are compared by jobs of the kind `comparison`."""
    input_columns: Annotated[
        Annotated[tuple[Name, ...], Field(max_length=16)] | None, Field(examples=[["voltage"]])
    ] = None
    """Names or 1-based numbers of the columns of measured signals that drive the system and have
    no equation of their own."""
    error_columns: Annotated[_Names | None, Field(examples=[["precision"]])] = None
    """Names or 1-based numbers of the columns with the standard error of each sample, such as a
    localisation precision: one for all states, or one for each in the order of `state_columns`."""
    orientation: Annotated[Literal["columns", "rows"] | None, Field(examples=["rows"])] = None
    """`columns`: one row per sample. `rows`: one row per trajectory of a single variable."""
    axes: Annotated[_Axes | None, Field(examples=["ntd"])] = None
    """Meaning of each axis of an array, or of rows and columns of a table: `n` trajectory, `t`
    time, `d` state variable; for example `ntd`, or `tn` where each column is a trajectory."""
    time_unit: Annotated[_Unit | None, Field(examples=["s"])] = None
    """Unit of time. Calendar time stamps are converted to this unit (s, min, h, day, year); for
    plain numbers it is only a label."""
    gap_factor: Annotated[float, Field(gt=1, le=1e6)] = 1.5
    """In a regularly sampled time series, a time step longer than this many sampling intervals
    is a gap and ends a segment."""


class Layout(PlainLayout):
    """Layout of an uploaded file.

    Every field is optional; whatever is left out is inferred, and the report says what was
    inferred.
    """

    state_unit: Annotated[
        _UnitOrUnits | None,
        Field(examples=["nm", {"Position": "nm", "3": "pN"}]),
    ] = None
    """Unit of all state variables, or the unit of each by the name or 1-based number of its
    column; `none` if it has none. It is only a label, and replaces the unit found in the file."""
    state_names: Annotated[
        Annotated[dict[Name, _Symbol], Field(max_length=MOST_STATES)] | None,
        Field(examples=[{"Position": "height"}]),
    ] = None
    """Word for a state variable in equations, sentences and plots, by the name or 1-based number
    of its column; of an array without columns, by the number of the variable. It is made of
    letters, digits and `_`; other characters become `_`."""


class Variable(Document):
    """A state variable: its standard name, its symbol, and its name in the file."""

    name: Name
    """Standard name: x, y, z, x4, …; the key of the variable in every document."""
    symbol: Name = Field(default_factory=lambda given: given["name"])
    """Word for the variable in equations, sentences and plots, given by the layout's `state_names`
    or made from the column's name: `Position` for `Position (µm)`; the standard name if the file
    names no columns. Parameters and terms of a job may use it instead of the standard name."""
    label: Annotated[str, Field(max_length=200)] | None = None
    """Words for the variable on the axes of plots: the name that the layout gives, or the column's
    name without its unit; null if there is neither."""
    column: Annotated[str, Field(max_length=200)] | None = None
    """Name of the column in the file; null if the file names no columns."""
    unit: str | None = None
    """Unit, as given or as found in the file; only a label."""


class Column(Document):
    """A column of the uploaded table, and the role in which it was read."""

    number: int
    """Number of the column in the file, starting at 1."""
    key: Name
    """Word for the column in a layout: its name, or its number if no name tells it from others."""
    column: Annotated[str, Field(max_length=200)] | None = None
    """Name of the column in the file; null if it has none."""
    unit: str | None = None
    """Unit, as found in the file; only a label."""
    type: Literal["number", "time stamp", "text"]
    """Type of the values. Only numbers can be a state."""
    role: Literal["time", "identity", "group", "state", "input", "error", "ignored"]
    """Role in which the column was read. `identity`: it tells trajectories apart. `group`: it
    names their condition. `input`: it drives the states. `error`: a measurement error or a measure
    of quality; it is used where the layout names it in `error_columns`."""
    reason: str | None = None
    """Reason for the role; null if the layout gives the role."""
    values: tuple[str, ...] = ()
    """The first values, as text; an empty text is a missing value."""


class SamplingReport(Document):
    """Time steps between consecutive samples inside segments."""

    median: float
    """Median time step [time]."""
    min: float
    """Shortest time step [time]."""
    max: float
    """Longest time step [time]."""
    jitter: float
    """Standard deviation of the time steps divided by their median; 0 for regular sampling."""
    source: Literal["time_column", "given", "assumed"]
    """Source of the sampling interval: a time column, the layout's `dt`, or an assumed value of
    1."""


class LengthReport(Document):
    """Number of samples per trajectory."""

    min: int
    """Number of samples in the shortest trajectory."""
    median: float
    """Median number of samples per trajectory."""
    max: int
    """Number of samples in the longest trajectory."""


class DatasetReport(Document):
    """Content read from an upload, and the assumptions that were made."""

    format: str
    """File format: csv, json, npy, npz, parquet, arrow, mat, or zip (several files)."""
    layout: Layout
    """The complete layout: the given fields and the inferred ones."""
    assumptions: tuple[str, ...] = ()
    """Each inference as a sentence, e.g. "column 1 ('t') is time"."""
    variables: tuple[Variable, ...]
    """The state variables, in the order x, y, z, x4, …"""
    columns: tuple[Column, ...] = ()
    """The first 200 columns of the file with their roles; empty if the file is no table of
    samples, for example if each row is a trajectory."""
    likely_periods: dict[str, float] = Field(default_factory=dict)
    """Period of each variable that looks like an angle: its values stay within a turn, and its
    name, its unit or its jumps by a whole turn say so. It is a suggestion for the parameter
    `periodic`, and is not applied [state]."""
    inputs: tuple[Variable, ...] = ()
    """The inputs, in the order u, or u1, u2, …"""
    groups: dict[str, int] = Field(default_factory=dict)
    """Number of trajectories in each group; empty without groups. Files in several folders of a
    ZIP archive are groups by the names of their folders."""
    errors: tuple[float, ...] = ()
    """Median standard error of the samples of each state variable, as given in `error_columns`;
    empty if none were given [state]."""
    time_unit: str | None = None
    """Unit of time, as given or as found in the file; only a label."""
    n_trajectories: int
    """Number of trajectories."""
    n_segments: int
    """Number of segments without a gap. No increment spans two segments."""
    n_samples: int
    """Number of samples that are used."""
    n_increments: int
    """Number of increments, i.e. pairs of consecutive samples."""
    duration: float
    """Total duration: the sum of the time steps of all increments [time]."""
    lengths: LengthReport
    """Number of samples per trajectory."""
    dt: SamplingReport
    """Time steps between consecutive samples."""
    range: tuple[tuple[float, float], ...]
    """Smallest and largest value of each variable [state]."""
    n_gaps: int = 0
    """Number of time steps longer than `gap_factor` sampling intervals."""
    n_missing: int = 0
    """Number of samples dropped because a value was NaN or empty."""
    n_duplicate_times: int = 0
    """Number of samples dropped because their time occurred before."""
    warnings: tuple[Notice, ...] = ()
    """Findings that may affect the result."""


class Dataset(Document):
    """An uploaded set of trajectories.

    It never changes; its id is a hash of its content and layout.
    """

    id: str
    """Identifier: `ds_` followed by a hash of content and layout."""
    created_at: datetime
    """Time of the first upload."""
    sha256: str
    """SHA-256 digest of the uploaded bytes, in hexadecimal."""
    bytes: int
    """Size of the upload in bytes."""
    label: Annotated[str, Field(max_length=200)] | None = None
    """Name of the uploaded file. It is only a label, never a path."""
    report: DatasetReport
    """Content read from the upload, and the assumptions that were made."""


def difference_of(one: DatasetReport, other: DatasetReport) -> tuple[str, str] | None:
    """Return in what a dataset differs from the first so that one job cannot take both."""
    names = [[v.symbol for v in report.variables] for report in (one, other)]
    if names[0] != names[1]:
        return (
            f"has the variables {', '.join(names[1])}, and the first dataset {', '.join(names[0])}",
            "Upload it again with layout.state_columns, or with the same layout.state_names.",
        )
    inputs = [[v.symbol for v in report.inputs] for report in (one, other)]
    if inputs[0] != inputs[1]:
        first, second = (", ".join(symbols) or "none" for symbols in inputs)
        return (
            f"has the inputs {second}, and the first dataset {first}",
            "Upload it again with the same layout.input_columns.",
        )
    every = (*one.variables, *one.inputs), (*other.variables, *other.inputs)
    for v, w in zip(*every, strict=True):
        if v.unit and w.unit and v.unit != w.unit:
            return (
                f"has {w.symbol} in {w.unit}, and the first dataset in {v.unit}",
                "Convert the values to one unit and upload them again; layout.state_unit only "
                "labels.",
            )
    if one.time_unit and other.time_unit and one.time_unit != other.time_unit:
        return (
            f"has time in {other.time_unit}, and the first dataset in {one.time_unit}",
            "Upload it again with the same unit of time.",
        )
    if (one.dt.source == "assumed") != (other.dt.source == "assumed"):
        which = "it" if other.dt.source == "assumed" else "the first dataset"
        return (
            "has another clock than the first dataset: the sampling interval of "
            f"{which} was assumed to be 1",
            "Upload the data again with layout.dt.",
        )
    return None


class DatasetList(Document):
    """A page of datasets, newest first."""

    items: tuple[Dataset, ...]
    """The datasets on this page."""
    next_cursor: str | None = None
    """Value of the `cursor` parameter for the next page; null on the last page."""


class Stretch(Document):
    """A segment without a gap, downsampled: minimum and maximum of each time bin."""

    trajectory: int
    """Number of the trajectory, starting at 0."""
    times: tuple[float, ...]
    """Time of the first sample in each bin [time]."""
    first: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """First sample in each bin, by variable: a state of the system at the bin's time [state]."""
    low: dict[str, tuple[float, ...]]
    """Minimum in each bin, by variable [state]."""
    high: dict[str, tuple[float, ...]]
    """Maximum in each bin, by variable; equal to `low` if each bin holds one sample [state]."""


class DatasetPreview(Document):
    """A dataset reduced to a few thousand numbers for plotting."""

    stretches: tuple[Stretch, ...]
    """The first and longest segments, in order of time."""
    n_segments: int
    """Number of segments in the dataset."""
    histograms: dict[str, Bins]
    """Histogram of all samples, by variable."""
