"""Domain and cells of passages, along the coordinates of the state.

The edges of the cells fall on those of the places, on every level of refinement.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from worker.generator.plane.box.box import Chart, has_smooth_velocity, make_chart
from worker.generator.plane.grid import Axis, Grid, Span
from worker.generator.plane.grid_refinement import Solution
from worker.generator.process import DiffusionProcess, FloatArray, read_only
from worker.generator.quantities.outcomes import FAR_OUT, TOO_MANY_EDGES, Reason
from worker.generator.quantities.regions import Point, Region

BASE = 16
"""Steps of an axis between which lines may stand; all levels are multiples of it."""
SAME = 1e-6
"""Distance, in lengths of the axis, below which a line counts as its end."""


@dataclass(frozen=True, slots=True)
class AlignedSpan:
    """Axis with lines to which the edges of its cells are fitted.

    span   extent
    knots  numbers of the edges, of BASE, that stand on lines or ends, increasing
    steps  their positions, in 0 … 1 along the span's own even steps
    lines  their positions in the span's coordinate
    """

    span: Span
    knots: FloatArray
    steps: FloatArray
    lines: FloatArray

    def cut(self, count: int) -> Axis:
        """Cut the axis into `count` cells, a multiple of BASE, evenly graded between the lines."""
        warp = PchipInterpolator(self.knots / BASE, self.steps)
        steps = warp(np.arange(count + 1) / count)
        edges = _placed(self.span, steps)
        edges[np.round(self.knots * count / BASE).astype(int)] = self.lines
        return Axis(read_only(edges), self.span.circle)


def aligned(span: Span, lines: list[float]) -> AlignedSpan | None:
    """Align the span with the lines inside it; None where there are more than half of BASE."""
    length = span.high - span.low
    inside = sorted(
        {line for line in lines if SAME * length < line - span.low < (1 - SAME) * length}
    )
    apart = [line for k, line in enumerate(inside) if not k or line - inside[k - 1] > SAME * length]
    if len(apart) > BASE // 2:
        return None
    steps = _steps(span, np.array(apart))
    knots = np.round(steps * BASE).astype(int)
    # No knot stands before its left neighbour, nor behind its right neighbour.
    for k in range(len(knots)):
        knots[k] = max(knots[k], (knots[k - 1] if k else 0) + 1)
    for k in reversed(range(len(knots))):
        knots[k] = min(knots[k], (knots[k + 1] if k + 1 < len(knots) else BASE) - 1)
    return AlignedSpan(
        span,
        read_only(np.array([0, *knots, BASE], dtype=float)),
        read_only(np.array([0.0, *steps, 1.0])),
        read_only(np.array([span.low, *apart, span.high])),
    )


def _steps(span: Span, lines: FloatArray) -> FloatArray:
    if span.circle:
        return np.asarray((lines - span.low) / (span.high - span.low))
    first, last = np.arcsinh((np.array([span.low, span.high]) - span.middle) / span.core)
    return np.asarray((np.arcsinh((lines - span.middle) / span.core) - first) / (last - first))


def _placed(span: Span, steps: FloatArray) -> FloatArray:
    if span.circle:
        return np.asarray(span.low + steps * (span.high - span.low))
    first, last = np.arcsinh((np.array([span.low, span.high]) - span.middle) / span.core)
    edges = span.middle + span.core * np.sinh(first + steps * (last - first))
    edges[0], edges[-1] = span.low, span.high
    return np.asarray(edges)


@dataclass(frozen=True, slots=True)
class EvenSpan:
    """Axis that is lengthened at one end, so that a line falls on an edge of its even steps.

    Its cells are as smooth as those of `Span`, as fluxes of high order require.
    """

    span: Span

    @classmethod
    def of(cls, span: Span, line: float) -> "EvenSpan":
        """Lengthen the span, whose line is inside it, by less than one of BASE steps."""
        first, last = np.arcsinh((np.array([span.low, span.high]) - span.middle) / span.core)
        at = np.arcsinh((line - span.middle) / span.core)
        share = BASE * (at - first) / (last - first)
        before, after = max(int(np.floor(share)), 1), min(int(np.ceil(share)), BASE - 1)
        further = first + (at - first) * BASE / before
        earlier = last - (last - at) * BASE / (BASE - after)
        if further - last < first - earlier:
            return cls(replace(span, high=span.middle + span.core * float(np.sinh(further))))
        return cls(replace(span, low=span.middle + span.core * float(np.sinh(earlier))))

    def cut(self, count: int) -> Axis:
        """Cut the axis into `count` cells, a multiple of BASE."""
        return self.span.cut(count)


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
    spans: tuple[AlignedSpan, AlignedSpan] | tuple[EvenSpan, Span]
    peak: FloatArray
    start: Point | Region
    goal: Region

    @property
    def in_position(self) -> bool:
        """Whether it is for a first passage of the position, see `position_mesh`."""
        return isinstance(self.spans[0], EvenSpan)

    @property
    def starts_below(self) -> bool:
        """Whether the first coordinate is smaller at the start than in the goal."""
        start = self.start.intervals[0][1] if isinstance(self.start, Region) else self.start[0]
        return start <= self.goal.intervals[0][0]

    def grid(self, cells: int) -> Grid:
        """Cut the rectangle into cells × cells cells, a multiple of 16."""
        return Grid((self.spans[0].cut(cells), self.spans[1].cut(cells)))

    def cells_of(self, region: Region, grid: Grid) -> NDArray[np.bool_]:
        """Return which cells belong to the region (n₀, n₁)."""
        return region.holds(self.chart.state(grid.centres), self.chart.process.periods).reshape(
            grid.shape
        )

    def shares_of(self, region: Region, grid: Grid) -> FloatArray:
        """Return how much of each cell belongs to the region (n₀, n₁), 0 to 1."""
        if not self.in_position:
            return self.cells_of(region, grid).astype(float)
        shares = []
        for k, (axis, ends) in enumerate(zip(grid.axes, region.intervals, strict=True)):
            low, high = (np.array(ends) - self.chart.origin[k]) * self.chart.matrix[k, k]
            held = np.minimum(axis.edges[1:], high) - np.maximum(axis.edges[:-1], low)
            shares.append(np.clip(held / axis.widths, 0.0, 1.0))
        return np.outer(*shares)

    def around(self, point: Point, grid: Grid) -> FloatArray:
        """Return the weights (n₀ · n₁,) of the cells in a linear interpolation to a point."""
        u = self.chart.coordinates(np.array([point]))[0]
        first, second = (_shares(axis, float(u[k])) for k, axis in enumerate(grid.axes))
        return np.outer(first, second).ravel()


def passage_mesh(
    domain: PassageDomain, start: Point | Region, goal: Region
) -> PassageMesh | Reason:
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
                return FAR_OUT
            span = wide
        low, high, middle = (
            float((end - origin[axis]) / scale[axis]) for end in (span.low, span.high, span.middle)
        )
        scaled = Span(low, high, middle, float(span.core / scale[axis]), span.circle)
        fitted = aligned(scaled, [float((line - origin[axis]) / scale[axis]) for line in lines])
        if fitted is None:
            return TOO_MANY_EDGES
        spans.append(fitted)
    chart = make_chart(process, origin, np.diag(scale**2), np.eye(2), free=False)
    return PassageMesh(
        replace(chart, cut=domain.cut), (spans[0], spans[1]), domain.peak, start, goal
    )


def position_mesh(domain: PassageDomain, start: Point | Region, goal: Region) -> PassageMesh | None:
    """Return the mesh for a first passage of the position, whatever the velocity.

    None where the fluxes are not of high order, or the goal is not reached from one side.

    Parameters
    ----------
    domain : rectangle of states
    start, goal : places [state]
    """
    process, (along, across) = domain.process, domain.spans
    if (
        not has_smooth_velocity(process, domain.cut)
        or along.circle
        or np.isfinite(goal.intervals[1]).any()
    ):
        return None
    low, high = goal.intervals[0]
    first, last = start.intervals[0] if isinstance(start, Region) else (start[0],) * 2
    if not (last <= low or first >= high):
        return None
    edge = low if last <= low else high
    lines = [line for line in (first, last, edge) if np.isfinite(line)]
    wide = _reaching(along, lines, process.domain[0])
    if wide is None:
        return None
    scale, origin = (np.array([f(along), f(across)]) for f in (_core, _middle))
    chart = make_chart(process, origin, np.diag(scale**2), np.eye(2), free=False)
    spans = [
        Span((s.low - m) / c, (s.high - m) / c, 0.0, s.core / c)
        for s, m, c in zip((wide, across), origin, scale, strict=True)
    ]
    even = EvenSpan.of(spans[0], (edge - origin[0]) / scale[0])
    return PassageMesh(chart, (even, spans[1]), domain.peak, start, goal)


def _core(span: Span) -> float:
    return span.core


def _middle(span: Span) -> float:
    return span.middle


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


LOW = 1e-8
"""Density, over its peak, at which the domain ends."""
MARGIN = 0.05
"""Part of the length in use that is added on either side."""
CORE = 2.0
"""Half width of the finely cut part of an axis, in standard deviations."""
REACH = 6.0
"""Standard deviations of a Gaussian distribution that the domain reaches from the mean."""


def passage_domain(solution: Solution) -> PassageDomain:
    """Return the rectangle of states around the distribution on the finest cells."""
    level, chart = solution.finest, solution.box.chart
    process = chart.process
    states, density = chart.state(level.grid.centres), level.density.ravel()
    masses = np.maximum(density * level.grid.volumes.ravel(), 0.0)
    masses = masses / masses.sum()
    mean = masses @ states
    deviation = np.sqrt(masses @ (states - mean) ** 2)
    used = states[density >= LOW * density.max()]
    spans = []
    for axis, ((low, high), period) in enumerate(zip(process.domain, process.periods, strict=True)):
        if period is not None:
            corner = np.array([[span.low for span in solution.box.spans]])
            first = float(chart.state(corner)[0, axis])
            spans.append(Span(first, first + period, first, 1.0, circle=True))
            continue
        first, last = float(used[:, axis].min()), float(used[:, axis].max())
        margin = MARGIN * (last - first)
        # A wall nearer than the margin ends the domain: the outermost centres lie half a cell
        # before it.
        low, high = max(first - margin, low), min(last + margin, high)
        spans.append(Span(low, high, float(mean[axis]), CORE * float(deviation[axis])))
    return PassageDomain(process, (spans[0], spans[1]), states[int(np.argmax(density))], chart.cut)


def gaussian_passage_domain(
    process: DiffusionProcess, mean: FloatArray, covariance: FloatArray
) -> PassageDomain:
    """Return the rectangle of states around a Gaussian distribution.

    Parameters
    ----------
    process : process
    mean, covariance : moments of the distribution, (2,) [state] and (2, 2) [state²]
    """
    deviation = np.sqrt(np.diag(covariance))
    spans = [
        Span(float(m - REACH * s), float(m + REACH * s), float(m), CORE * float(s))
        for m, s in zip(mean, deviation, strict=True)
    ]
    return PassageDomain(process, (spans[0], spans[1]), mean)
