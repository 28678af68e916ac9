"""A plot as data: axes and layers of numbers. static/plots/ draws it, on the page and in the report alike."""

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from contract.results import EncodedArray

Floats = NDArray[np.float64]
Layer = dict[str, Any]
Style = Literal[
    "model", "data", "second", "quiet", "series1", "series2", "series3", "series4", "series5"
]
SERIES: tuple[Style, ...] = ("series1", "series2", "series3", "series4", "series5")

MOST_POINTS = 500
"""Points of a line that is drawn; of longer ones so many are taken."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    range   of what is shown; None: what the layers need
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

    name      unique on a page; also of the files it is saved to
    title     what is plotted, which is the name of the vertical axis
    summary   what it shows, in a sentence for those who cannot see it
    note      what a reader should know of it
    """

    name: str
    title: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    summary: str
    note: str = ""
    wide: bool = False
    square: bool = False

    def document(self) -> dict[str, Any]:
        """As JSON that the script draws."""
        return asdict(self)


@dataclass(slots=True)
class Layers:
    """Layers in the making; what has no numbers is left out.

    log   for axes of powers of ten, on which small numbers must stay apart
    """

    log: bool = False
    made: list[Layer] = field(default_factory=list)

    def _short(self, values: Any) -> list[float | None]:
        return (
            [None if not math.isfinite(v) else float(f"{v:.4g}") for v in values]
            if self.log
            else rounded(values)
        )

    def line(
        self, name: str, x: Any, y: Any, style: Style = "model", *, dashed: bool = False
    ) -> None:
        """A line; it is broken where there is no number."""
        across, up = _thinned(numbers(x), numbers(y))
        if np.isfinite(up).any():
            self.made.append(
                {
                    "kind": "line",
                    "name": name,
                    "x": self._short(across),
                    "y": self._short(up),
                    "style": style,
                    "dashed": dashed,
                    "thin": False,
                }
            )

    def course(self, name: str, x: Any, y: Any, style: Style) -> None:
        """A line of which no point may be left out, as those are the extremes already."""
        self.made.append(
            {
                "kind": "line",
                "name": name,
                "x": self._short(numbers(x)),
                "y": self._short(numbers(y)),
                "style": style,
                "dashed": False,
                "thin": True,
            }
        )

    def band(self, name: str, x: Any, low: Any, high: Any, style: Style = "model") -> None:
        """The area between two lines."""
        across, below, above = _thinned(numbers(x), numbers(low), numbers(high))
        if np.isfinite(below).any():
            self.made.append(
                {
                    "kind": "band",
                    "name": name,
                    "x": self._short(across),
                    "low": self._short(below),
                    "high": self._short(above),
                    "style": style,
                }
            )

    def dots(self, name: str, x: Any, y: Any, error: Any = None, style: Style = "data") -> None:
        """Points, with bars of one standard error where there are any."""
        across, up = numbers(x), numbers(y)
        seen = np.isfinite(across) & np.isfinite(up)
        if seen.any():
            bars = None if error is None else self._short(numbers(error)[seen])
            self.made.append(
                {
                    "kind": "dots",
                    "name": name,
                    "x": self._short(across[seen]),
                    "y": self._short(up[seen]),
                    "error": bars,
                    "style": style,
                }
            )

    def bars(self, name: str, edges: Any, y: Any, style: Style = "data") -> None:
        """A histogram."""
        self.made.append(
            {
                "kind": "bars",
                "name": name,
                "edges": self._short(numbers(edges)),
                "y": self._short(numbers(y)),
                "style": style,
            }
        )

    def marks(self, name: str, x: Sequence[float], y: Sequence[float], text: Sequence[str]) -> None:
        """Labelled points."""
        if len(x):
            self.made.append(
                {
                    "kind": "marks",
                    "name": name,
                    "x": self._short(x),
                    "y": self._short(y),
                    "text": list(text),
                    "style": "second",
                }
            )

    def rule(self, *, x: float | None = None, y: float | None = None) -> None:
        """A thin straight line over all of the plot."""
        self.made.append({"kind": "rule", "name": "", "x": x, "y": y, "style": "quiet"})

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
        """A table of values (n₀, n₁) ≥ 0 over a rectangle, the first index along x; drawn in 255 shades.

        interval   lower and upper ends at each value; not drawn, but read by pointer and saved with the numbers
        """
        top = float(np.nanmax(values, initial=0.0))
        ceiling = 0.0 if interval is None else float(np.nanmax(interval[1], initial=0.0))
        ends = None if interval is None else [_shades(end, ceiling) for end in interval]
        self.made.append(
            {
                "kind": "heat",
                "name": name,
                "x": list(x),
                "y": list(y),
                "shape": list(values.shape),
                "top": top,
                "values": _shades(values, top),
                "ceiling": ceiling,
                "ends": ends,
                "smooth": smooth,
                "style": "quiet",
            }
        )

    def arrows(
        self, name: str, x: Floats, y: Floats, u: Floats, v: Floats, style: Style = "second"
    ) -> None:
        """Arrows that begin at points; the longest is as long as the grid is wide."""
        self.made.append(
            {
                "kind": "arrows",
                "name": name,
                "x": self._short(x),
                "y": self._short(y),
                "u": self._short(u),
                "v": self._short(v),
                "style": style,
            }
        )

    def tuple(self) -> "tuple[Layer, ...]":
        return tuple(self.made)


def _shades(values: Floats, top: float) -> str:
    """Between nothing and `top`, a byte each."""
    shades = np.nan_to_num(values / top if top > 0 else values * 0).clip(0, 1) * 255
    return base64.b64encode(np.round(shades).astype(np.uint8).tobytes()).decode()


def array(given: Any) -> Floats:
    """An array of a result document, plain or encoded; null is NaN."""
    if isinstance(given, EncodedArray):
        return np.frombuffer(base64.b64decode(given.data), dtype="<f8").reshape(given.shape)
    return np.array(given, dtype=np.float64)


def numbers(given: Any) -> Floats:
    """One-dimensional array; null is NaN."""
    return np.atleast_1d(array(given)).ravel()


def rounded(values: Iterable[float] | Floats) -> list[float | None]:
    """To a ten-thousandth of their range, which no eye can tell: short numbers make a small file. NaN is null."""
    found = np.asarray(list(values), dtype=np.float64)
    finite = found[np.isfinite(found)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    scale = span or (abs(float(finite[0])) if finite.size else 0.0)
    if not scale:
        return [None if not math.isfinite(v) else float(v) for v in found]
    # Counted from the range down: a clock that starts at 1.7e9 keeps its seconds.
    places = 4 - math.floor(math.log10(scale))
    return [None if not math.isfinite(v) else round(float(v), places) + 0.0 for v in found]


def _thinned(*columns: Floats) -> tuple[Floats, ...]:
    n = len(columns[0])
    if n <= MOST_POINTS:
        return columns
    taken = np.unique(np.linspace(0, n - 1, MOST_POINTS).round().astype(np.int64))
    return tuple(column[taken] for column in columns)
