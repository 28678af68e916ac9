"""Where in the plane the process lives: a rectangle that holds its law, and coordinates in which that is narrow."""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.errors import UndefinedCoefficientsError, UnresolvedLandscapeError
from worker.generator.plane.chart import Chart, make_chart, without_negative_part
from worker.generator.plane.grid import Axis, Grid, Span, points
from worker.generator.plane.modes import stationary_masses
from worker.generator.plane.volumes import Coefficients, Scheme, generator_matrix
from worker.generator.process import DiffusionProcess, FloatArray, read_only

CELLS = 40
"""Cells along each axis while the rectangle is being found."""
FINE = 96
"""Likewise, where drift dominates noise and coarse cells would blur the law."""
HIGH = 1e-7
"""Density at an end, over the highest along the axis, above which the end moves out."""
PILED = 0.1
"""Likewise, above which it moves out before anything else is looked at."""
LOW = 1e-10
"""Likewise, below which the end moves in."""
CORE = 2.0
"""Half width of the finely cut part of an axis, in standard deviations (half the distance between the 16 and 84 % quantiles)."""
LARGEST = 1e5
"""Growth of the rectangle after which nothing is taken to hold the process back."""
SMALLEST = 1e-7
"""Likewise, below which the law is taken for a point."""
TILT = 0.2
"""Correlation in the chart above which it is turned."""
TURNS = 3
MOVES = 80
GROWTH = 0.25
"""An end moves out by this part of the length."""
TOO_STEEP = (
    "no rectangle that holds the stationary law was found: the noise is too weak to be seen beside the drift, or a term too "
    "steep; narrow the domain, or check the model's terms"
)
OPEN = read_only(np.array([[-np.inf, np.inf]] * 2))
"""Walls of a box without any."""
MIN_CORE = 1e-3
"""Smallest core, in lengths of the axis."""
SETTLED = 0.6
"""Change of the core below which the cells are cut anew."""
MARGIN = 0.1
"""Part of the length in use that is kept beyond it."""
SHRUNK = 0.6
"""Part of the length in use below which the rest is cut off."""


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The rectangle.

    chart         its coordinates
    spans         its sides
    walls         (2, 2) the domain's ends in the chart's coordinates; ±inf where open
    masses        (CELLS²,) the law on coarse cells
    open_towards  a state (2,) on a side where the density does not fall off, however far that is moved out; None where it does
    """

    chart: Chart
    spans: tuple[Span, Span]
    walls: FloatArray
    masses: FloatArray
    open_towards: FloatArray | None = None

    def grid(self, cells: int) -> Grid:
        """The rectangle in cells × cells cells."""
        return Grid((self.spans[0].cut(cells), self.spans[1].cut(cells)))

    @property
    def lengths(self) -> FloatArray:
        """(2,) of its sides, in the chart's coordinates."""
        return np.array([span.high - span.low for span in self.spans])

    @property
    def covariance(self) -> FloatArray:
        """(2, 2) of the coarse law, in the chart's coordinates."""
        _, covariance = moments(self.grid(CELLS).centres, self.masses)
        return covariance


def first_box(process: DiffusionProcess, rectangle: FloatArray) -> Box:
    """The box around a rectangle of states, (2, 2): low and high of each coordinate. Nothing has been solved on it yet."""
    middle, half = rectangle.mean(axis=1), np.diff(rectangle, axis=1)[:, 0] / 2
    side = np.linspace(-1, 1, 9)
    noise = process.diffusion(middle + half * points(side, side))
    noise = noise[np.isfinite(noise).all(axis=(1, 2))]
    if not len(noise):
        raise UndefinedCoefficientsError(f"the diffusion is not a finite number near {_words(middle)}; check the terms")
    chart = make_chart(process, middle, np.diag((half / 3) ** 2), without_negative_part(noise).mean(axis=0), free=_free(process))
    if not _free(process):
        return _boxed(chart, rectangle)
    corners = np.abs(chart.coordinates(points(rectangle[0], rectangle[1]))).max(axis=0)
    first, second = (Span(-float(reach), float(reach), 0.0, 2 * float(reach)) for reach in corners)
    return Box(chart, (first, second), OPEN, np.zeros(0))


def with_law(box: Box) -> Box:
    """The box with the law that coarse cells give on it: positive, and wide rather than narrow."""
    wide = _wide_law(box)
    # Where the noise is much correlated and changes, a mass may be slightly negative on coarse cells.
    return replace(box, masses=np.abs(wide.masses).ravel() / np.abs(wide.masses).sum())


def settled_box(box: Box) -> Box:
    """The box that holds the law, sought from a first one.

    Raises UnresolvedLandscapeError where none is found.
    """
    process, turns = box.chart.process, 0
    largest, smallest = LARGEST * box.lengths, SMALLEST * box.lengths
    for _ in range(MOVES):
        box = with_law(box)
        wide = _Law(box.grid(CELLS), box.masses.reshape(CELLS, CELLS))
        spans = _opened(box, wide, 0), _opened(box, wide, 1)
        if spans == box.spans:
            spans = _shrunk(box, wide, 0), _shrunk(box, wide, 1)
        if spans == box.spans:
            sharp = _sharp_law(box)
            spans = _moved(box, sharp, 0), _moved(box, sharp, 1)
        if spans != box.spans:
            box = replace(box, spans=spans)
            if (box.lengths < smallest).any():
                raise UnresolvedLandscapeError(TOO_STEEP)
            if (box.lengths > largest).any():
                return replace(box, open_towards=_far_side(box, int(np.argmax(box.lengths / largest))))
            continue
        covariance = box.covariance
        if not _free(process) or turns == TURNS or abs(covariance[0, 1]) < TILT * np.sqrt(covariance[0, 0] * covariance[1, 1]):
            return box
        box, turns = _turned(box), turns + 1
        largest, smallest = LARGEST * box.lengths, SMALLEST * box.lengths
    raise UnresolvedLandscapeError(TOO_STEEP)


def _free(process: DiffusionProcess) -> bool:
    """Whether the axes may be turned: no coordinate ends or is an angle."""
    return not np.isfinite(np.array(process.domain)).any() and not any(process.periods)


def moments(centres: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean (2,) and covariance (2, 2) of masses (n,) at centres (n, 2)."""
    mean = masses @ centres
    away = centres - mean
    return mean, np.asarray((away * masses[:, None]).T @ away)


@dataclass(frozen=True, slots=True, eq=False)
class _Law:
    """Masses of cells (n, n) on a grid."""

    grid: Grid
    masses: FloatArray

    def along(self, axis: int) -> tuple[Axis, FloatArray]:
        """The axis, and the masses of its cells."""
        return self.grid.axes[axis], self.masses.sum(axis=1 - axis)


def _wide_law(box: Box) -> _Law:
    """The law by exponential fitting: positive, and wider than the true one where drift dominates noise."""
    return _solved(box, box.grid(CELLS), ("exponential", "exponential"))


def _sharp_law(box: Box) -> _Law:
    """The law by the upwind scheme, which does not widen it, along the axes where drift dominates noise."""
    grid = box.grid(CELLS)
    coefficients = Coefficients.of(box.chart, grid)
    first, second = (dominated(coefficients.peclet(grid, axis), box.masses) for axis in (0, 1))
    if not (first or second):
        return _Law(grid, box.masses.reshape(grid.shape))
    return _solved(box, box.grid(FINE), ("upwind" if first else "exponential", "upwind" if second else "exponential"))


def dominated(peclet: FloatArray, masses: FloatArray) -> bool:
    """Whether drift beats noise over a cell's width where the process is, so that exponential fitting would add much noise."""
    return bool(masses @ np.minimum(peclet.ravel(), 1e6) ** 2 > 4)


def _solved(box: Box, grid: Grid, schemes: tuple[Scheme, Scheme]) -> _Law:
    matrix = generator_matrix(grid, Coefficients.of(box.chart, grid), schemes)
    if not np.all(np.isfinite(matrix.data)):
        raise UndefinedCoefficientsError(
            f"drift or diffusion is not a finite number near {_words(box.chart.origin)}; check the terms"
        )
    usual = grid.volumes.ravel()
    if len(box.masses):
        peak = box.grid(CELLS).centres[np.argmax(box.masses)]
        usual = -np.sum((grid.centres - peak) ** 2 / box.lengths**2, axis=1)
    masses = stationary_masses(matrix, int(np.argmax(usual)))
    for attempt in range(3):
        if np.all(np.isfinite(masses)) and masses[np.argmax(usual)] > 1e-6 * masses.max():
            break
        # Pinned where the law is not, its digits are lost; the next pin stands where it has its peak.
        usual = masses if np.all(np.isfinite(masses)) else np.random.default_rng(attempt).random(len(usual))
        masses = stationary_masses(matrix, int(np.argmax(usual)))
    if not np.all(np.isfinite(masses)):
        raise UnresolvedLandscapeError(TOO_STEEP)
    return _Law(grid, masses.reshape(grid.shape))


def _opened(box: Box, law: _Law, axis: int) -> Span:
    """The span with an end moved far out where the law is piled up against it: the drift wants to go on there."""
    span, (cells, mass) = box.spans[axis], law.along(axis)
    if span.circle:
        return span
    density = mass / cells.widths / np.max(mass / cells.widths)
    step = span.high - span.low
    low = max(span.low - step, float(box.walls[axis, 0])) if density[0] > PILED else span.low
    high = min(span.high + step, float(box.walls[axis, 1])) if density[-1] > PILED else span.high
    return replace(span, low=low, high=high)


def _shrunk(box: Box, law: _Law, axis: int) -> Span:
    """The span cut to where there is density, if that is only a part of it."""
    span, (cells, mass) = box.spans[axis], law.along(axis)
    if span.circle:
        return span
    density = np.abs(mass) / cells.widths
    used = np.flatnonzero(density >= LOW * density.max())
    low, high = float(cells.edges[used[0]]), float(cells.edges[used[-1] + 1])
    if high - low > SHRUNK * (span.high - span.low):
        return span
    middle, core = _core(cells.centres, mass)
    margin = MARGIN * (high - low)
    low, high = max(low - margin, span.low), min(high + margin, span.high)
    return Span(low, high, middle, max(core, MIN_CORE * (high - low)))


def _moved(box: Box, law: _Law, axis: int) -> Span:
    """The span with an end moved out where the density is high there, and with cells that fit the law."""
    span, (cells, mass) = box.spans[axis], law.along(axis)
    if span.circle:
        return span
    density = np.abs(mass) / cells.widths / np.max(mass / cells.widths)
    middle, core = _core(cells.centres, mass)
    core = max(core, MIN_CORE * (span.high - span.low))
    step = GROWTH * (span.high - span.low)
    low = max(span.low - step, float(box.walls[axis, 0])) if density[0] > HIGH else span.low
    high = min(span.high + step, float(box.walls[axis, 1])) if density[-1] > HIGH else span.high
    if (low, high) == (span.low, span.high) and SETTLED < core / span.core < 1 / SETTLED:
        return span
    return Span(low, high, middle, core)


def _core(centres: FloatArray, mass: FloatArray) -> tuple[float, float]:
    below, above = np.interp([0.16, 0.84], np.cumsum(mass) - mass / 2, centres)
    return float(below + above) / 2, CORE * float(above - below) / 2


def _turned(box: Box) -> Box:
    """The same box in coordinates that follow the covariance and the mean noise of the law."""
    centres = box.grid(CELLS).centres
    mean, covariance = moments(centres, box.masses)
    noise = np.einsum("n,nij->ij", box.masses, box.chart.diffusion(centres))
    inverse = box.chart.inverse
    origin = box.chart.state(mean[None])[0]
    chart = make_chart(box.chart.process, origin, inverse @ covariance @ inverse.T, inverse @ noise @ inverse.T, free=True)
    seen = chart.coordinates(box.chart.state(centres[box.masses > LOW * box.masses.max()]))
    reach = [max(float(r), 1.0) for r in np.abs(seen).max(axis=0)]
    spans = Span(-reach[0], reach[0], 0.0, CORE), Span(-reach[1], reach[1], 0.0, CORE)
    return Box(chart, spans, OPEN, np.zeros(0))


def _boxed(chart: Chart, rectangle: FloatArray) -> Box:
    """The rectangle (2, 2) of states in a chart whose axes are those of the states."""
    process, scale = chart.process, np.diag(chart.matrix)
    walls = (np.array(process.domain, dtype=float) - chart.origin[:, None]) * scale[:, None]
    ends = (rectangle - chart.origin[:, None]) * scale[:, None]
    spans = []
    for axis, period in enumerate(process.periods):
        low, high = float(ends[axis, 0]), float(ends[axis, 1])
        if period is None:
            spans.append(Span(low, high, (low + high) / 2, high - low))
            continue
        low = float(walls[axis, 0]) if np.isfinite(walls[axis, 0]) else float((-period / 2 - chart.origin[axis]) * scale[axis])
        spans.append(Span(low, low + float(period * scale[axis]), low, 1.0, circle=True))
        walls[axis] = -np.inf, np.inf
    return Box(chart, (spans[0], spans[1]), walls, np.zeros(0))


def _far_side(box: Box, axis: int) -> FloatArray:
    """The state in the middle of the side, of the two across `axis`, where the density is higher."""
    mass = box.masses.reshape(CELLS, CELLS).sum(axis=1 - axis)
    u = np.array([[(span.low + span.high) / 2 for span in box.spans]])
    u[0, axis] = box.spans[axis].low if mass[0] > mass[-1] else box.spans[axis].high
    return np.asarray(box.chart.state(u)[0])


def _words(state: FloatArray) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in state) + ")"
