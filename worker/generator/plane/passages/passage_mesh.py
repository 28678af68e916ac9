"""Cells of a passage, along the coordinates of the state, with edges on those of its places."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.plane.box.coordinates import Chart, make_chart
from worker.generator.plane.grid import Axis, Grid, Span
from worker.generator.plane.passages.aligned_mesh import AlignedSpan, aligned
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.regions import Point, Region

BEYOND = 0.1
"""Part of an axis that is added behind a place that lies outside it."""
LONGEST = 4.0
"""Growth of an axis above which a place counts as out of reach."""


@dataclass(frozen=True, slots=True, eq=False)
class PassageDomain:
    """Rectangle of states in which passages take place.

    process  process
    spans    extent along each coordinate [state]
    peak     (2,) a state of high density [state]
    cut      whether the process is reflected where its diffusion is not positive, see `Chart`
    """

    process: DiffusionProcess
    spans: tuple[Span, Span]
    peak: FloatArray
    cut: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PassageMesh:
    """Domain with mesh lines along the edges of a passage's places.

    chart        coordinates in units of their spread
    spans        axes, in the chart's coordinates
    peak         (2,) a state of high density [state]
    start, goal  places [state]
    """

    chart: Chart
    spans: tuple[AlignedSpan, AlignedSpan]
    peak: FloatArray
    start: Point | Region
    goal: Region

    def grid(self, cells: int) -> Grid:
        """Cut the rectangle into cells × cells cells, a multiple of 16."""
        return Grid((self.spans[0].cut(cells), self.spans[1].cut(cells)))

    def cells_of(self, region: Region, grid: Grid) -> NDArray[np.bool_]:
        """Return which cells belong to the region (n₀, n₁)."""
        return region.holds(self.chart.state(grid.centres), self.chart.process.periods).reshape(
            grid.shape
        )

    def around(self, point: Point, grid: Grid) -> FloatArray:
        """Return the weights (n₀ · n₁,) of the cells in a linear interpolation to a point."""
        u = self.chart.coordinates(np.array([point]))[0]
        first, second = (_shares(axis, float(u[k])) for k, axis in enumerate(grid.axes))
        return np.outer(first, second).ravel()


def passage_mesh(domain: PassageDomain, start: Point | Region, goal: Region) -> PassageMesh | str:
    """Align the cells with the places of a passage, or say why that is impossible.

    Parameters
    ----------
    domain : rectangle of states
    start, goal : places [state]
    """
    process = domain.process
    scale = np.array([span.high - span.low if span.circle else span.core for span in domain.spans])
    origin = np.array([span.middle for span in domain.spans])
    spans = []
    for axis, (span, period) in enumerate(zip(domain.spans, process.periods, strict=True)):
        lines = [end for place in (start, goal) for end in _ends(place, axis) if np.isfinite(end)]
        if period is not None:
            lines = [span.low + float(np.mod(line - span.low, period)) for line in lines]
        else:
            wide = _reaching(span, lines, process.domain[axis])
            if wide is None:
                return (
                    "a region of the passage lies so far out that the process never comes near it"
                )
            span = wide
        low, high, middle = (
            float((end - origin[axis]) / scale[axis]) for end in (span.low, span.high, span.middle)
        )
        scaled = Span(low, high, middle, float(span.core / scale[axis]), span.circle)
        fitted = aligned(scaled, [float((line - origin[axis]) / scale[axis]) for line in lines])
        if fitted is None:
            return "the regions of the passage have too many edges"
        spans.append(fitted)
    chart = make_chart(process, origin, np.diag(scale**2), np.eye(2), free=False)
    return PassageMesh(
        replace(chart, cut=domain.cut), (spans[0], spans[1]), domain.peak, start, goal
    )


def with_process(mesh: PassageMesh, process: DiffusionProcess) -> PassageMesh:
    """Put another process on the same cells."""
    return replace(mesh, chart=replace(mesh.chart, process=process))


def _ends(place: Point | Region, axis: int) -> tuple[float, ...]:
    return place.intervals[axis] if isinstance(place, Region) else (place[axis],)


def _reaching(span: Span, lines: list[float], domain: tuple[float, float]) -> Span | None:
    """Lengthen the span to lines outside it; None where they are far."""
    length = span.high - span.low
    low, high = min(lines, default=span.low), max(lines, default=span.high)
    low = max(low - BEYOND * length, domain[0]) if low <= span.low else span.low
    high = min(high + BEYOND * length, domain[1]) if high >= span.high else span.high
    return replace(span, low=low, high=high) if high - low <= LONGEST * length else None


def _shares(axis: Axis, at: float) -> FloatArray:
    """Return the weights (n,) of cells in linear interpolation; the outermost are constant."""
    shares = np.zeros(axis.count)
    right = int(np.searchsorted(axis.centres, at))
    left = right - 1
    if axis.circle:
        turn = axis.edges[-1] - axis.edges[0]
        before = axis.centres[left] - (turn if left < 0 else 0.0)
        after = axis.centres[right % axis.count] + (turn if right == axis.count else 0.0)
        share = (at - before) / (after - before)
        shares[left % axis.count] += 1 - share
        shares[right % axis.count] += share
        return shares
    if left < 0 or right == axis.count:
        shares[np.clip(right, 0, axis.count - 1)] = 1.0
        return shares
    share = (at - axis.centres[left]) / (axis.centres[right] - axis.centres[left])
    shares[left], shares[right] = 1 - share, share
    return shares
