"""A plot as data, axes and layers of numbers, which static/plots/ draws on page and report."""

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from contract.curves import Bins
from contract.results import EncodedArray

Floats = NDArray[np.float64]
Layer = dict[str, Any]
Style = Literal[
    "model", "data", "second", "quiet", "series1", "series2", "series3", "series4", "series5"
]
SERIES: tuple[Style, ...] = ("series1", "series2", "series3", "series4", "series5")

MOST_POINTS = 500
"""Largest number of points of a line; longer ones are thinned to it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    range   shown range; None: what the layers need
    """

    label: str
    unit: str | None = None
    range: tuple[float, float] | None = None
    log: bool = False
    ticks: tuple[str, ...] = ()
    """Names in place of numbers 0, 1, 2, …"""


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot.

    name      name, unique on a page, also of the files to which the plot is saved
    title     plotted quantity, which is also the name of the vertical axis
    summary   content in a sentence, for those who cannot see the plot
    note      what a reader should know about the plot
    """

    name: str
    title: str
    x: Axis
    y: Axis
    layers: Sequence[Layer]
    summary: str
    note: str = ""
    wide: bool = False
    square: bool = False

    def document(self) -> dict[str, Any]:
        """Return the plot as the JSON that the script draws."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PlotGroup:
    """Plots under one heading; the first group of a result is shown at once, others when opened."""

    name: str
    title: str
    plots: Sequence[Plot]


@dataclass(slots=True)
class Layers:
    """Builder of a plot's layers; a layer without numbers is left out.

    log   whether an axis is logarithmic, so that small numbers must stay distinct
    """

    log: bool = False
    made: list[Layer] = field(default_factory=list)

    def _short(self, values: Any) -> list[float | None]:
        if not self.log:
            return rounded(values)
        return [None if not math.isfinite(v) else float(f"{v:.4g}") for v in values]

    def _add(
        self, kind: str, name: str, style: Style, lists: Mapping[str, Any], **others: Any
    ) -> None:
        """Add a layer with lists of numbers, which are shortened, and other parts as they are."""
        short = {
            part: None if values is None else self._short(numbers(values))
            for part, values in lists.items()
        }
        self.made.append({"kind": kind, "name": name, "style": style, **short, **others})

    def line(
        self, name: str, x: Any, y: Any, style: Style = "model", *, dashed: bool = False
    ) -> None:
        """Add a line, which is broken where there is no number."""
        across, up = _thinned(numbers(x), numbers(y))
        if np.isfinite(up).any():
            self._add("line", name, style, {"x": across, "y": up}, dashed=dashed, thin=False)

    def course(self, name: str, x: Any, y: Any, style: Style) -> None:
        """Add a line of minima and maxima, of which no point may be left out."""
        self._add("line", name, style, {"x": x, "y": y}, dashed=False, thin=True)

    def band(self, name: str, x: Any, low: Any, high: Any, style: Style = "model") -> None:
        """Add the area between two lines."""
        across, below, above = _thinned(numbers(x), numbers(low), numbers(high))
        if np.isfinite(below).any():
            self._add("band", name, style, {"x": across, "low": below, "high": above})

    def dots(self, name: str, x: Any, y: Any, error: Any = None, style: Style = "data") -> None:
        """Add points, with bars of one standard error if errors are given."""
        across, up = numbers(x), numbers(y)
        seen = np.isfinite(across) & np.isfinite(up)
        if seen.any():
            bars = None if error is None else numbers(error)[seen]
            self._add("dots", name, style, {"x": across[seen], "y": up[seen], "error": bars})

    def bars(self, name: str, edges: Any, y: Any) -> None:
        """Add a histogram."""
        self._add("bars", name, "data", {"edges": edges, "y": y})

    def marks(self, name: str, x: Sequence[float], y: Sequence[float], text: Sequence[str]) -> None:
        """Add labelled points."""
        if len(x):
            self._add("marks", name, "second", {"x": x, "y": y}, text=list(text))

    def rule(self, *, x: float | None = None, y: float | None = None) -> None:
        """Add a thin straight line across the whole plot."""
        self._add("rule", "", "quiet", {}, x=x, y=y)

    def heat(
        self,
        name: str,
        x: tuple[float, float],
        y: tuple[float, float],
        values: Floats,
        interval: tuple[Floats, Floats] | None = None,
        *,
        smooth: bool = True,
    ) -> None:
        """Add a table of values (n₀, n₁) ≥ 0 over a rectangle, drawn in 255 shades.

        values     values, the first index along x
        interval   lower and upper end at each value: not drawn, but shown at the pointer and saved
        """
        top = float(np.nanmax(values, initial=0.0))
        ceiling = 0.0 if interval is None else float(np.nanmax(interval[1], initial=0.0))
        ends = None if interval is None else [_shades(end, ceiling) for end in interval]
        place = {"x": list(x), "y": list(y), "shape": list(values.shape), "top": top}
        shades = {"values": _shades(values, top), "ceiling": ceiling, "ends": ends}
        self._add("heat", name, "quiet", {}, **place, **shades, smooth=smooth)

    def arrows(self, name: str, x: Floats, y: Floats, u: Floats, v: Floats) -> None:
        """Add arrows that start at points; the longest is as long as the grid spacing."""
        self._add("arrows", name, "second", {"x": x, "y": y, "u": u, "v": v})


def _shades(values: Floats, top: float) -> str:
    """Encode values between 0 and `top`, one byte each."""
    shades = np.nan_to_num(values / top if top > 0 else values * 0).clip(0, 1) * 255
    return base64.b64encode(np.round(shades).astype(np.uint8).tobytes()).decode()


def array(given: Any) -> Floats:
    """Decode an array of a result document, plain or encoded; null is NaN."""
    if isinstance(given, EncodedArray):
        return np.frombuffer(base64.b64decode(given.data), dtype="<f8").reshape(given.shape)
    return np.array(given, dtype=np.float64)


def numbers(given: Any) -> Floats:
    """Decode a one-dimensional array; null is NaN."""
    return np.atleast_1d(array(given)).ravel()


def density_of(bins: Bins | None) -> Floats | None:
    """Return the density (n_bins,) of the samples in each bin; None if there are no samples."""
    if bins is None or not sum(bins.counts):
        return None
    counts = np.array(bins.counts, dtype=float)
    return np.asarray(counts / counts.sum() / np.diff(np.array(bins.edges)))


def rounded(values: Iterable[float] | Floats) -> list[float | None]:
    """Round values to a ten-thousandth of their range, which no eye can see; NaN becomes null.

    Short numbers make a small file.
    """
    found = np.asarray(list(values), dtype=np.float64)
    finite = found[np.isfinite(found)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    scale = span or (abs(float(finite[0])) if finite.size else 0.0)
    if not scale:
        return [None if not math.isfinite(v) else float(v) for v in found]
    # Digits are counted from the range: times that start at 1.7e9 keep their seconds.
    places = 4 - math.floor(math.log10(scale))
    return [None if not math.isfinite(v) else round(float(v), places) + 0.0 for v in found]


def _thinned(*columns: Floats) -> tuple[Floats, ...]:
    n = len(columns[0])
    if n <= MOST_POINTS:
        return columns
    taken = np.unique(np.linspace(0, n - 1, MOST_POINTS).round().astype(np.int64))
    return tuple(column[taken] for column in columns)
