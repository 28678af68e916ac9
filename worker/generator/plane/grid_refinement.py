"""Stationary distribution and slow modes on ever finer cells, extrapolated until they settle."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.line.spectrum import matched
from worker.generator.plane.box.box import (
    CELLS,
    Box,
    Chart,
    lowest_diffusion,
    moments,
)
from worker.generator.plane.box.box_search import dominated
from worker.generator.plane.eigenmodes import EXTRA, TOLERANCE, ComplexArray, Modes, slow_modes
from worker.generator.plane.finite_volumes import (
    HIGH_ORDER,
    Coefficients,
    Fluxes,
    Schemes,
    coarser,
    generator_matrix,
)
from worker.generator.plane.grid import Grid
from worker.generator.process import FloatArray
from worker.generator.quantities.second_order import (
    entropy_production as of_second_order,
)
from worker.generator.quantities.second_order import is_in_one_coordinate
from worker.generator.quantities.stationary import DistributionNumbers

LEVELS = (32, 48, 72, 108, 162)
"""Cells along each axis, level by level."""
ORDERS = {"exponential": (2, 4), "upwind": (2, 3), "high-order": (4, 7)}
"""Powers of the cells' length in the error of each scheme."""
SETTLED = {
    "exponential": (1e-3, 5e-3, 5e-3),
    "upwind": (1e-3, 5e-3, 5e-3),
    "high-order": (3e-3,),
}
"""Relative changes of the slowest rates by the last step at which refinement ends.

The high-order scheme's remaining error is a fifth of it. Its cells cost more: no further rate,
which may have crossed another one, is worth finer ones.
"""

SETTLED_LAW = 5e-4
"""Change of the covariance by removing a second power of the cells' length from its error.

The remaining error is a tenth of it.
"""
WRONG_POWERS = 2e-3
"""Change of the covariance by a second power above which the error does not follow these powers.

This happens next to an end where the density is infinite.
"""
UNSETTLED = 0.1
"""Relative change of the covariance by the extrapolation above which there is no answer."""
SINGULAR = 1e-6
"""Smaller over larger eigenvalue of the diffusion below which the noise counts as singular."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers from one grid, or extrapolated.

    rates    (k,) slowest eigenvalues of −L [1/time]
    moments  (15,) mean (2), covariance (4), third and fourth central moments (2 + 2), ⟨x bᵀ⟩ (4)
             and the entropy production, which is nan where the noise is singular
    """

    rates: ComplexArray
    moments: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Solution on one grid.

    matrix   (n, n) rate of change of the cells' masses [1/time]
    density  (n₀, n₁) in the chart's coordinates
    current  (n₀, n₁, 2) in the chart's coordinates
    modes    (n,) sum of the slow modes
    """

    grid: Grid
    matrix: csc_array
    numbers: Numbers
    density: FloatArray
    current: FloatArray
    modes: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Solution extrapolated from several grids.

    box        rectangle
    schemes    schemes of the fluxes along both axes
    rate       typical rate of the process [1/time]
    ladder     solutions level by level; the coarsest serves for comparison with other models
    numbers    extrapolated from the finest levels
    errors     (k,) relative change of each rate by the last step
    unsettled  relative change of the covariance by the extrapolation, where its powers are not
               those of its error; else 0
    """

    box: Box
    schemes: Schemes
    rate: float
    ladder: tuple[Level, ...]
    numbers: Numbers
    errors: FloatArray
    unsettled: float = 0.0

    @property
    def first(self) -> Level:
        """Coarsest level."""
        return self.ladder[0]

    @property
    def finest(self) -> Level:
        """Finest level."""
        return self.ladder[-1]


def solve(box: Box, count: int) -> Solution:
    """Return the `count` slowest rates and the moments of the stationary distribution in the box.

    Raises UnresolvedLandscapeError where even the distribution does not settle.
    """
    rate = typical_rate(box)
    schemes, ladder = _best_schemes(box, count, rate)
    ladder.append(solve_on(box, LEVELS[2], schemes, count, rate))
    numbers = _extrapolated(ladder, schemes)
    change = _changes(numbers.rates, ladder[-1].numbers.rates)
    settled = SETTLED[coarser(schemes)]
    for cells in LEVELS[3:]:
        if (
            all(size < enough for size, enough in zip(change, settled, strict=False))
            and _law_change(ladder, numbers, schemes) < SETTLED_LAW
        ):
            break
        ladder.append(solve_on(box, cells, schemes, count, rate))
        previous, numbers = numbers, _extrapolated(ladder[-3:], schemes)
        change = _changes(numbers.rates, previous.rates)
    moved = _check_the_law(numbers.moments[2:6], ladder[-1].numbers.moments[2:6])
    right_powers = _law_change(ladder[-3:], numbers, schemes) < WRONG_POWERS
    moved = 0.0 if right_powers else moved
    return Solution(box, schemes, rate, tuple(ladder), numbers, change, moved)


def solve_on(box: Box, cells: int, schemes: Schemes, count: int, rate: float) -> Level:
    """Solve the box on cells × cells cells.

    Parameters
    ----------
    box, cells : rectangle and number of cells along each axis
    schemes : schemes of the fluxes along both axes
    count : number of rates
    rate : typical rate of the process [1/time]
    """
    grid = box.grid(cells)
    return solve_near(box.chart, grid, schemes, count, rate, grid.volumes.ravel())


def solve_near(
    chart: Chart,
    grid: Grid,
    schemes: Schemes,
    count: int,
    rate: float,
    start: FloatArray,
    extra: int = EXTRA,
    tolerance: float = TOLERANCE,
) -> Level:
    """Solve a process on a grid.

    Parameters
    ----------
    chart, grid : process and cells
    schemes : schemes of the fluxes along both axes
    count : number of rates
    rate : typical rate of the process [1/time]
    start, extra, tolerance : see `slow_modes`
    """
    coefficients = Coefficients.of(chart, grid)
    fluxes = Fluxes.of(grid, coefficients, schemes)
    matrix = fluxes.matrix()
    modes = slow_modes(matrix, count, rate, start, extra, tolerance)
    density = modes.masses.reshape(grid.shape) / grid.volumes
    current = fluxes.currents(density)
    numbers = Numbers(modes.rates, _moments(chart, grid, coefficients, modes, current))
    return Level(grid, matrix, numbers, density, current, modes.sum)


def law_numbers(moments: FloatArray) -> DistributionNumbers:
    """Read the moments of the stationary distribution from the array of `Numbers`."""
    covariance = moments[2:6].reshape(2, 2)
    variance = np.diag(covariance)
    swept = moments[10:14].reshape(2, 2)
    production = float(moments[14])
    return DistributionNumbers(
        mean=moments[:2],
        covariance=covariance,
        skewness=moments[6:8] / variance**1.5,
        kurtosis=moments[8:10] / variance**2,
        circulation=float(swept[0, 1] - swept[1, 0]) / 2,
        entropy_production=None if np.isnan(production) else production,
    )


def _law_change(ladder: list[Level], numbers: Numbers, schemes: Schemes) -> float:
    """Return the change of the covariance by removing a second power of the cells' length."""
    coarse, fine = ladder[-2:]
    ratio = (fine.grid.shape[0] / coarse.grid.shape[0]) ** ORDERS[coarser(schemes)][0]
    plain = (ratio * fine.numbers.moments[2:6] - coarse.numbers.moments[2:6]) / (ratio - 1)
    return float(np.abs(numbers.moments[2:6] - plain).max() / np.abs(plain).max())


def _check_the_law(covariance: FloatArray, on_cells: FloatArray) -> float:
    """Return the relative change of the covariance by the extrapolation, or raise."""
    size = np.linalg.norm(on_cells)
    change = np.linalg.norm(covariance - on_cells) / size
    if not (change < UNSETTLED and np.linalg.eigvalsh(covariance.reshape(2, 2))[0] > 0):
        raise UnresolvedLandscapeError(
            f"the stationary distribution is too narrow for {LEVELS[-1]}² cells: "
            f"its covariance still changes by {change:.1%}, because the noise is too weak compared "
            "with the drift; check the diffusion, or narrow the domain"
        )
    return float(change)


def typical_rate(box: Box) -> float:
    """Return a rate r such that the slowest modes, fast rotations included, are nearest to −r."""
    centres = box.grid(CELLS).centres
    noise = np.einsum("n,nij->ij", box.masses, box.chart.diffusion(centres))
    rate = float(np.max(np.diag(noise) / np.diag(box.covariance))) / 6
    grid = box.grid(CELLS)
    coefficients = Coefficients.of(box.chart, grid)
    slowest = slow_modes(
        generator_matrix(grid, coefficients, ("exponential", "exponential")), 2, rate, box.masses
    ).rates
    return max(rate, 3 * float(np.max(np.abs(slowest.imag), initial=0.0)))


def _best_schemes(box: Box, count: int, rate: float) -> tuple[Schemes, list[Level]]:
    """Choose the schemes whose slowest rate and covariance change least between two levels.

    The coarsest two levels come with them.
    """
    if box.smooth_velocity:
        return HIGH_ORDER, [solve_on(box, cells, HIGH_ORDER, count, rate) for cells in LEVELS[:2]]
    grid = box.grid(CELLS)
    coefficients = Coefficients.of(box.chart, grid)
    weak_noise = any(dominated(coefficients.peclet(grid, axis), box.masses) for axis in (0, 1))
    # Where drift dominates noise between cells, exponential fitting is upwind of first order: it
    # settles, but far from the limit.
    candidates: list[Schemes] = [("upwind", "upwind")]
    if not weak_noise:
        candidates = [("exponential", "exponential"), *candidates]
    tried = []
    for schemes in candidates:
        ladder = [solve_on(box, cells, schemes, count, rate) for cells in LEVELS[:2]]
        coarse, fine = (level.numbers for level in ladder)
        rates = _changes(fine.rates, coarse.rates)[:1].max(initial=0.0)
        changed = np.abs(fine.moments[2:6] - coarse.moments[2:6])
        spread = changed.max() / np.abs(fine.moments[2:6]).max()
        tried.append((max(float(rates), float(spread)), schemes, ladder))
    _, schemes, ladder = min(tried, key=lambda attempt: attempt[0])
    return schemes, ladder


def _extrapolated(ladder: list[Level], schemes: Schemes) -> Numbers:
    """Remove the two leading powers of the cells' length from the error of three levels."""
    weights = weights_of(ladder, schemes)
    finest = ladder[-1].numbers
    rates = np.array([matched(level.numbers.rates, finest.rates) for level in ladder])
    known = np.isfinite(rates).all(axis=0)
    extrapolated = np.where(known, weights @ np.where(np.isfinite(rates), rates, 0.0), finest.rates)
    return Numbers(extrapolated, weights @ np.array([level.numbers.moments for level in ladder]))


def weights_of(ladder: list[Level], schemes: Schemes) -> FloatArray:
    """Return weights (n,) of n ≤ 3 levels, coarse to fine, that remove the leading errors."""
    orders = ORDERS[coarser(schemes)][: len(ladder) - 1]
    lengths = ladder[0].grid.shape[0] / np.array([level.grid.shape[0] for level in ladder])
    powers = np.array([np.ones(len(ladder)), *(lengths**order for order in orders)])
    return np.asarray(np.linalg.solve(powers, np.eye(len(ladder))[0]))


def _changes(rates: ComplexArray, before: ComplexArray) -> FloatArray:
    """Return the relative change of each rate (k,).

    It is the larger of the real part's and of the imaginary part's beside the whole.
    """
    difference = rates - matched(before, rates)
    change = np.maximum(
        np.abs(difference.real) / np.abs(rates.real), np.abs(difference.imag) / np.abs(rates)
    )
    return np.where(np.isfinite(change), change, np.inf)


def _moments(
    chart: Chart, grid: Grid, coefficients: Coefficients, modes: Modes, current: FloatArray
) -> FloatArray:
    masses = modes.masses
    x = chart.state(grid.centres)
    mean, covariance = moments(x, masses)
    away = x - mean
    b = coefficients.drift @ chart.inverse.T
    swept = (x * masses[:, None]).T @ b
    higher = [masses @ away**k for k in (3, 4)]
    production = _entropy_production(chart, grid, coefficients, modes, current)
    return np.concatenate([mean, covariance.ravel(), *higher, swept.ravel(), [production]])


def _entropy_production(
    chart: Chart, grid: Grid, coefficients: Coefficients, modes: Modes, current: FloatArray
) -> float:
    """Return the entropy production ∫ J · 2a⁻¹(b − ½∇·a).

    It equals ∫ 2 Jᵀa⁻¹J / π, as J is free of divergence, and has no quotient of small numbers.
    Velocities, which are odd under time reversal, have their own.
    """
    used = modes.masses > 1e-12 * modes.masses.max()
    if (lowest_diffusion(coefficients.diffusion[used]) < SINGULAR).any():
        if not is_in_one_coordinate(chart.process):
            return np.nan
        return of_second_order(chart.process, chart.state(grid.centres), modes.masses)
    table = coefficients.diffusion.reshape(*grid.shape, 2, 2)
    spread = np.zeros((*grid.shape, 2))
    for axis in (0, 1):
        centres = grid.axes[axis].centres
        spread += np.gradient(table[..., axis], centres, axis=axis, edge_order=2) / 2
    push = coefficients.drift.reshape(*grid.shape, 2) - spread
    regular = lowest_diffusion(coefficients.diffusion).reshape(grid.shape) >= SINGULAR
    force = np.zeros_like(push)
    force[regular] = 2 * np.linalg.solve(table[regular], push[regular][..., None])[..., 0]
    return float(np.sum(grid.volumes[..., None] * current * force))
