"""Search for the box that holds the stationary distribution, by its density on coarse cells."""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.errors import UndefinedCoefficientsError, UnresolvedLandscapeError
from worker.generator.plane.box.box import (
    CELLS,
    OPEN,
    Box,
    is_free,
    make_chart,
    moments,
    state_text,
)
from worker.generator.plane.eigenmodes import stationary_masses
from worker.generator.plane.finite_volumes import (
    HIGH_ORDER,
    Coefficients,
    Schemes,
    generator_matrix,
)
from worker.generator.plane.grid import Axis, Grid, Span
from worker.generator.process import FloatArray, velocities

FINE = 96
"""Cells along each axis where drift dominates noise and coarser cells would blur the density."""
SHARP = 64
"""Cells along each axis of the high-order scheme."""
TOO_STEEP = (
    "no rectangle that contains the stationary distribution was found: the noise is too weak "
    "compared with the drift, or a term is too steep; narrow the domain, or check the model's terms"
)


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Masses of cells (n, n) on a grid."""

    grid: Grid
    masses: FloatArray

    def along(self, axis: int) -> tuple[Axis, FloatArray]:
        """Return the axis, and the masses of its cells."""
        return self.grid.axes[axis], self.masses.sum(axis=1 - axis)


def with_law(box: Box) -> Box:
    """Add to the box the distribution from coarse cells: positive, and wide rather than narrow."""
    wide = wide_law(box)
    # Where the noise is much correlated and changes, a mass may be slightly negative on coarse
    # cells.
    return replace(box, masses=np.abs(wide.masses).ravel() / np.abs(wide.masses).sum())


def wide_law(box: Box) -> Law:
    """Solve by exponential fitting: positive, and too wide where drift dominates noise."""
    return _solved(box, box.grid(CELLS), ("exponential", "exponential"))


def sharp_law(box: Box) -> Law:
    """Solve by the upwind scheme, which does not widen, along axes where drift dominates."""
    if box.smooth_velocity:
        return _solved(box, box.grid(SHARP), HIGH_ORDER)
    grid = box.grid(CELLS)
    coefficients = Coefficients.of(box.chart, grid)
    first, second = (dominated(coefficients.peclet(grid, axis), box.masses) for axis in (0, 1))
    if not (first or second):
        return Law(grid, box.masses.reshape(grid.shape))
    schemes: Schemes = (
        "upwind" if first else "exponential",
        "upwind" if second else "exponential",
    )
    return _solved(box, box.grid(FINE), schemes)


def dominated(peclet: FloatArray, masses: FloatArray) -> bool:
    """Return whether drift dominates noise over a cell's width where the process is.

    Exponential fitting would then add much noise.
    """
    return bool(masses @ np.minimum(peclet.ravel(), 1e6) ** 2 > 4)


def _solved(box: Box, grid: Grid, schemes: Schemes) -> Law:
    coefficients = Coefficients.of(box.chart, grid)
    matrix = generator_matrix(grid, coefficients, schemes)
    if not np.all(np.isfinite(matrix.data)):
        known = np.isfinite(coefficients.drift).all(axis=1)
        known &= np.isfinite(coefficients.diffusion).all(axis=(1, 2))
        at = box.chart.state(grid.centres[[int(np.argmin(known))]])[0]
        raise UndefinedCoefficientsError(
            f"drift or diffusion is not a finite number near {state_text(at)}; check the terms, "
            "or give a domain that ends before"
        )
    usual = grid.volumes.ravel()
    if len(box.masses):
        peak = box.grid(CELLS).centres[np.argmax(box.masses)]
        usual = -np.sum((grid.centres - peak) ** 2 / box.lengths**2, axis=1)
    masses = stationary_masses(matrix, int(np.argmax(usual)))
    for attempt in range(3):
        if np.all(np.isfinite(masses)) and masses[np.argmax(usual)] > 1e-6 * masses.max():
            break
        # A cell outside the distribution as a pin costs its digits; the next pin is at the peak.
        usual = masses
        if not np.all(np.isfinite(masses)):
            usual = np.random.default_rng(attempt).random(len(masses))
        masses = stationary_masses(matrix, int(np.argmax(usual)))
    if not np.all(np.isfinite(masses)):
        raise UnresolvedLandscapeError(TOO_STEEP)
    return Law(grid, masses.reshape(grid.shape))


HIGH = 1e-7
"""Density at an end, over the highest along the axis, above which the end moves out."""
PILED = 0.1
"""Density at an end, over the highest, above which the end moves out before any other change."""
LOW = 1e-10
"""Density at an end, over the highest, below which the end moves in."""
CORE = 2.0
"""Half width of the finely cut part of an axis, in standard deviations.

A standard deviation is half the distance between the 16 and 84 % quantiles.
"""
LARGEST = 1e5
"""Growth of the rectangle above which nothing is taken to hold the process back."""
SMALLEST = 1e-7
"""Shrinking of the rectangle below which the distribution is taken for a point."""
TILT = 0.2
"""Correlation in the chart above which it is turned."""
TURNS = 3
MOVES = 80
GROWTH = 0.25
"""Part of the length by which an end moves out."""
MIN_CORE = 1e-3
"""Smallest core, in lengths of the axis."""
SETTLED = 0.6
"""Change of the core below which the cells are cut anew."""
MARGIN = 0.1
"""Part of the length in use that is added on either side."""
SHRUNK = 0.6
"""Part of the length in use below which the rest is cut off."""
TRIMMED, TRIMS = 0.8, 3
"""The same for a sharp law, and how often it is tried."""
RIPPLE = 10.0
"""Density that counts as zero, in units of the deepest negative density: the cells' error."""


def settled_box(box: Box, shrink: bool = True) -> Box:
    """Search the box that holds the distribution, from a first one.

    Without `shrink` no side moves in. Raises UnresolvedLandscapeError where none is found.
    """
    process, turns = box.chart.process, 0
    largest, smallest = LARGEST * box.lengths, SMALLEST * box.lengths
    for _ in range(MOVES):
        box = with_law(box)
        wide = Law(box.grid(CELLS), box.masses.reshape(CELLS, CELLS))
        spans, sharp = (_opened(box, wide, 0), _opened(box, wide, 1)), None
        if spans != box.spans:
            # Where drift dominates noise, exponential fitting adds noise that heats an oscillator,
            # which its own friction holds.
            sharp = _sharp_if_any(box)
            spans = spans if sharp is None else (_opened(box, sharp, 0), _opened(box, sharp, 1))
        if shrink and spans == box.spans:
            spans = _shrunk(box, wide, 0), _shrunk(box, wide, 1)
        if spans == box.spans:
            sharp = sharp or sharp_law(box)
            spans = _moved(box, sharp, 0), _moved(box, sharp, 1)
        if spans != box.spans:
            box = replace(box, spans=spans)
            if (box.lengths < smallest).any():
                raise UnresolvedLandscapeError(TOO_STEEP)
            if (box.lengths > largest).any():
                axis = int(np.argmax(box.lengths / largest))
                return replace(box, open_towards=_far_side(box, axis))
            continue
        covariance = box.covariance
        if (
            not is_free(process)
            or velocities(process)
            or turns == TURNS
            or abs(covariance[0, 1]) < TILT * np.sqrt(covariance[0, 0] * covariance[1, 1])
        ):
            return trimmed(box) if shrink and box.smooth_velocity else box
        box, turns = _turned(box), turns + 1
        largest, smallest = LARGEST * box.lengths, SMALLEST * box.lengths
    raise UnresolvedLandscapeError(TOO_STEEP)


def _sharp_if_any(box: Box) -> Law | None:
    try:
        return sharp_law(box)
    except UnresolvedLandscapeError:
        return None


def _opened(box: Box, law: Law, axis: int) -> Span:
    """Move an end far out where the distribution is piled up at it: the drift goes on there."""
    span, (cells, mass) = box.spans[axis], law.along(axis)
    if span.circle:
        return span
    density = mass / cells.widths / np.max(mass / cells.widths)
    step = span.high - span.low
    low = max(span.low - step, float(box.walls[axis, 0])) if density[0] > PILED else span.low
    high = min(span.high + step, float(box.walls[axis, 1])) if density[-1] > PILED else span.high
    return replace(span, low=low, high=high)


def trimmed(box: Box) -> Box:
    """Cut off what the sharp law leaves empty, which the heat of exponential fitting had filled."""
    for _ in range(TRIMS):
        law = sharp_law(box)
        spans = _shrunk(box, law, 0, HIGH, TRIMMED), _shrunk(box, law, 1, HIGH, TRIMMED)
        if spans == box.spans:
            break
        box = with_law(replace(box, spans=spans))
    return box


def _ripple(cells: Axis, mass: FloatArray) -> float:
    """Return the density, over its peak, that the cells do not tell from zero."""
    density = mass / cells.widths
    return RIPPLE * max(-float(density.min() / density.max()), 0.0)


def _shrunk(box: Box, law: Law, axis: int, least: float = LOW, part: float = SHRUNK) -> Span:
    """Cut the span to where the density, over its peak, is `least`, if that is a small part."""
    span, (cells, mass) = box.spans[axis], law.along(axis)
    if span.circle:
        return span
    density = np.abs(mass) / cells.widths
    used = np.flatnonzero(density >= max(least, _ripple(cells, mass)) * density.max())
    low, high = float(cells.edges[used[0]]), float(cells.edges[used[-1] + 1])
    if high - low > part * (span.high - span.low):
        return span
    middle, core = _core(cells.centres, mass)
    margin = MARGIN * (high - low)
    low, high = max(low - margin, span.low), min(high + margin, span.high)
    return Span(low, high, middle, max(core, MIN_CORE * (high - low)))


def _moved(box: Box, law: Law, axis: int) -> Span:
    """Move an end out where the density is high there, and fit the cells to the distribution."""
    span, (cells, mass) = box.spans[axis], law.along(axis)
    if span.circle:
        return span
    density = np.abs(mass) / cells.widths / np.max(mass / cells.widths)
    middle, core = _core(cells.centres, mass)
    core = max(core, MIN_CORE * (span.high - span.low))
    step = GROWTH * (span.high - span.low)
    floor = max(HIGH, _ripple(cells, mass)) if box.smooth_velocity else HIGH
    low = max(span.low - step, float(box.walls[axis, 0])) if density[0] > floor else span.low
    high = min(span.high + step, float(box.walls[axis, 1])) if density[-1] > floor else span.high
    if (low, high) == (span.low, span.high) and SETTLED < core / span.core < 1 / SETTLED:
        return span
    return Span(low, high, middle, core)


def _core(centres: FloatArray, mass: FloatArray) -> tuple[float, float]:
    below, above = np.interp([0.16, 0.84], np.cumsum(mass) - mass / 2, centres)
    return float(below + above) / 2, CORE * float(above - below) / 2


def _turned(box: Box) -> Box:
    """Turn the chart to follow the covariance and the mean noise of the distribution."""
    centres = box.grid(CELLS).centres
    mean, covariance = moments(centres, box.masses)
    noise = np.einsum("n,nij->ij", box.masses, box.chart.diffusion(centres))
    inverse = box.chart.inverse
    origin = box.chart.state(mean[None])[0]
    covariance, noise = inverse @ covariance @ inverse.T, inverse @ noise @ inverse.T
    chart = make_chart(box.chart.process, origin, covariance, noise, free=True)
    seen = chart.coordinates(box.chart.state(centres[box.masses > LOW * box.masses.max()]))
    reach = [max(float(r), 1.0) for r in np.abs(seen).max(axis=0)]
    spans = Span(-reach[0], reach[0], 0.0, CORE), Span(-reach[1], reach[1], 0.0, CORE)
    return Box(chart, spans, OPEN, np.zeros(0))


def _far_side(box: Box, axis: int) -> FloatArray:
    """Return the middle of the side across `axis` on which the density is higher."""
    mass = box.masses.reshape(CELLS, CELLS).sum(axis=1 - axis)
    u = np.array([[(span.low + span.high) / 2 for span in box.spans]])
    u[0, axis] = box.spans[axis].low if mass[0] > mass[-1] else box.spans[axis].high
    return np.asarray(box.chart.state(u)[0])
