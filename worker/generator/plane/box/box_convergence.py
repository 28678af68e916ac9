"""Test whether the box is wide enough: by the effect of its sides on the slowest rate.

The density at the sides alone does not tell.
"""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.errors import GeneratorError
from worker.generator.plane.box.box import CELLS, Box, moments
from worker.generator.plane.box.box_search import (
    dominated,
    settled_box,
    with_law,
)
from worker.generator.plane.eigenmodes import slow_modes, stationary_masses
from worker.generator.plane.finite_volumes import (
    HIGH_ORDER,
    Coefficients,
    Schemes,
    generator_matrix,
)
from worker.generator.plane.grid import Axis, Grid, Span
from worker.generator.plane.grid_refinement import typical_rate
from worker.generator.process import FloatArray, read_only

TRIED = 48
"""Cells along each axis on which the box is tested."""
ADDED = 8
"""Cells by which an open side is moved out, ever longer by the cells' own grading."""
SETTLED = 1e-3
"""Relative change of the slowest rate by moving sides out below which the box is wide enough."""
ANOTHER = 0.5
"""Relative change of the slowest rate from which on the slowest mode is another one."""
SEEN = 1e-4
"""Probability beyond the sides from which on it counts, although the data never were there."""
SMALLEST_RATE = 1e-10
"""Rate, in typical ones, that the factorisation of the matrix no longer distinguishes from zero."""
ROUNDS = 6
LONGEST = 7.0
"""Logarithm of an axis's length, in cores, beyond which its cells are too long."""


@dataclass(frozen=True, slots=True, eq=False)
class Widened:
    """Box with the effect of moving its sides out once more.

    change  relative change of the slowest rate; 0 where the box is wide enough or nothing was moved
    spread  relative change of the variance along the coordinate that changes most
    """

    box: Box
    change: float = 0.0
    spread: float = 0.0


def wide_enough(box: Box, observed: bool) -> Widened:
    """Move open sides out, axis by axis, until the slowest rate does not change by it.

    If `observed`, there are data, and a slower mode beyond the sides does not count where the
    process hardly ever is.
    """
    found = Widened(box)
    for axis in (0, 1):
        along = _widened_along(found.box, axis, observed)
        found = Widened(along.box, max(found.change, along.change), max(found.spread, along.spread))
    return found


def _widened_along(box: Box, axis: int, observed: bool) -> Widened:
    """Widen the box along one axis."""
    effect = Effect(0.0, 0.0, 0.0)
    for _ in range(ROUNDS):
        span = box.spans[axis]
        low, high = (float(wall) for wall in box.walls[axis])
        longer = span if span.circle else _longer(span, low, high)
        if longer == span:
            return Widened(box)
        try:
            effect = _effect(box, axis, longer)
        except (GeneratorError, RuntimeError, ValueError):
            # Far out the coefficients may be too steep for a matrix, which does not rule out the
            # box.
            return Widened(box)
        if not effect.change >= SETTLED:
            return Widened(box, 0.0, effect.spread)
        if observed and effect.change > ANOTHER and effect.beyond < SEEN:
            return Widened(box)
        if np.log((longer.high - longer.low) / longer.core) > LONGEST:
            break
        wider = replace(box, spans=(longer, box.spans[1]) if axis == 0 else (box.spans[0], longer))
        try:
            # Where the distribution goes on beyond the side, more of it may be further out.
            found = settled_box(wider, shrink=False) if effect.beyond > SEEN else with_law(wider)
        except GeneratorError:
            break
        if found.open_towards is not None:
            break
        box = found
    return Widened(box, effect.change, effect.spread)


def _longer(span: Span, lowest: float, highest: float) -> Span:
    edges = _graded(span, ADDED)
    return replace(span, low=max(float(edges[0]), lowest), high=min(float(edges[-1]), highest))


def _graded(span: Span, added: int) -> FloatArray:
    """Return the edges of the span's TRIED cells and of `added` more on either side."""
    ends = np.arcsinh((np.array([span.low, span.high]) - span.middle) / span.core)
    step = (ends[1] - ends[0]) / TRIED
    return np.asarray(
        span.middle + span.core * np.sinh(ends[0] + step * np.arange(-added, TRIED + added + 1))
    )


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a longer span along one axis.

    change  relative change of the slowest rate
    spread  relative change of the variance along the axis
    beyond  probability beyond the box
    """

    change: float
    spread: float
    beyond: float


def _effect(box: Box, axis: int, longer: Span) -> Effect:
    """Compare the box with a longer one, whose cells within the box are the same."""
    inner, coarse = box.grid(TRIED), box.grid(CELLS)
    continued = _continued(inner.axes[axis], box.spans[axis], longer)
    outer = Grid((continued, inner.axes[1]) if axis == 0 else (inner.axes[0], continued))
    coefficients = Coefficients.of(box.chart, coarse)
    upwind = any(dominated(coefficients.peclet(coarse, k), box.masses) for k in (0, 1))
    schemes: Schemes = ("upwind", "upwind") if upwind else ("exponential", "exponential")
    if box.smooth_velocity:
        # On so few cells a rate changes by more than the sides' effect, and a variance does not.
        spread, beyond = _effect_on_the_law(box, axis, inner, outer)
        return Effect(spread, spread, beyond)
    rate = typical_rate(box)
    near, far = (
        slow_modes(generator_matrix(grid, coefficients, schemes), 1, rate, grid.volumes.ravel())
        for grid, coefficients in ((g, Coefficients.of(box.chart, g)) for g in (inner, outer))
    )
    before, after = (
        float(modes.rates[0].real) if len(modes.rates) else np.nan for modes in (near, far)
    )
    # Two rates below what the factorisation distinguishes from zero count as equal.
    least = SMALLEST_RATE * rate
    change = abs(max(after, least) / max(before, least) - 1)
    return Effect(change, *_spread(box, axis, (inner, near.masses), (outer, far.masses)))


def _effect_on_the_law(box: Box, axis: int, inner: Grid, outer: Grid) -> tuple[float, float]:
    """Return `spread` and `beyond` of a process of second order."""
    peak = box.grid(CELLS).centres[int(np.argmax(box.masses))]
    laws = []
    for grid in (inner, outer):
        matrix = generator_matrix(grid, Coefficients.of(box.chart, grid), HIGH_ORDER)
        start = np.argmin(np.sum((grid.centres - peak) ** 2 / box.lengths**2, axis=1))
        laws.append((grid, stationary_masses(matrix, int(start))))
    return _spread(box, axis, *laws)


def _spread(
    box: Box, axis: int, narrow: tuple[Grid, FloatArray], wide: tuple[Grid, FloatArray]
) -> tuple[float, float]:
    """Return the relative change of the variance along the axis, and the mass beyond the box."""
    before, after = (
        float(moments(grid.centres, masses)[1][axis, axis]) for grid, masses in (narrow, wide)
    )
    at, span = wide[0].centres[:, axis], box.spans[axis]
    beyond = np.abs(wide[1][(at < span.low) | (at > span.high)]).sum()
    return abs(after / before - 1), float(beyond)


def _continued(axis: Axis, span: Span, longer: Span) -> Axis:
    """Add further cells to the axis, up to the ends of the longer span."""
    edges = _graded(span, ADDED)
    before = edges[:ADDED][edges[:ADDED] > longer.low] if longer.low < span.low else edges[:0]
    after = edges[-ADDED:][edges[-ADDED:] < longer.high] if longer.high > span.high else edges[:0]
    low = [longer.low] if longer.low < span.low else []
    high = [longer.high] if longer.high > span.high else []
    return Axis(read_only(np.concatenate([low, before, axis.edges, after, high])), False)
