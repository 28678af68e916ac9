"""The law and the slow modes on ever finer cells, extrapolated until they settle."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.line.spectrum import matched
from worker.generator.plane.box.box import CELLS, Box, moments
from worker.generator.plane.box.coarse_distribution import dominated
from worker.generator.plane.box.coordinates import Chart, lowest_diffusion
from worker.generator.plane.eigenmodes import (
    EXTRA,
    TOLERANCE,
    ComplexArray,
    Modes,
    slow_modes,
)
from worker.generator.plane.finite_volumes import (
    Coefficients,
    Fluxes,
    Schemes,
    generator_matrix,
)
from worker.generator.plane.grid import Grid
from worker.generator.process import FloatArray
from worker.generator.quantities.stationary import DistributionNumbers

LEVELS = (32, 48, 72, 108, 162)
"""Cells along each axis, level by level."""
ORDERS = {"exponential": (2, 4), "upwind": (2, 3)}
"""Powers of the cells' length in the error of each scheme."""
SETTLED = (1e-3, 5e-3, 5e-3)
"""Relative changes of the slowest rates by the last step at which the levels end."""

SETTLED_LAW = 5e-4
"""Change of the covariance on taking a second power of the cells' length out of its error; what is left is a tenth of it."""
WRONG_POWERS = 2e-3
"""Likewise, above which the error does not go with these powers, as next to an end where the density is infinite."""
UNSETTLED = 0.1
"""Relative change of the covariance by the extrapolation above which there is no answer."""
SINGULAR = 1e-6
"""Smaller over larger part of the diffusion below which the noise counts as singular."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What is read off one grid, and extrapolated.

    rates    (k,) slowest eigenvalues of −L [1/time]
    moments  mean (2), covariance (4), third and fourth central moments (2 + 2) of the state, ⟨x bᵀ⟩ (4) and the entropy
             production in one array (15,); the last is nan where the noise is singular
    """

    rates: ComplexArray
    moments: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The answer on one grid.

    matrix            (n, n) rate of change of the cells' masses [1/time]
    density, current  (n₀, n₁) and (n₀, n₁, 2), in the chart's coordinates
    modes             (n,) sum of the slow modes
    """

    grid: Grid
    matrix: csc_array
    numbers: Numbers
    density: FloatArray
    current: FloatArray
    modes: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The extrapolated numbers.

    box, schemes  the rectangle, and how fluxes are had along its axes
    rate          a typical rate of the process [1/time]
    ladder        the answers level by level; the coarsest is there for comparison with other models
    numbers       extrapolated from the two finest levels
    errors        (k,) relative change of each rate by the last step
    unsettled     relative change of the covariance by the extrapolation, where its powers are not those of its error; else 0
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
        """The coarsest level."""
        return self.ladder[0]

    @property
    def finest(self) -> Level:
        """The finest level."""
        return self.ladder[-1]


def solve(box: Box, count: int) -> Solution:
    """The `count` slowest rates and the moments of the law in the box.

    Raises UnresolvedLandscapeError where even the law does not settle.
    """
    rate = typical_rate(box)
    schemes, ladder = _best_schemes(box, count, rate)
    ladder.append(solve_on(box, LEVELS[2], schemes, count, rate))
    numbers = _extrapolated(ladder, schemes)
    change = _changes(numbers.rates, ladder[-1].numbers.rates)
    for cells in LEVELS[3:]:
        if (
            all(size < enough for size, enough in zip(change, SETTLED, strict=False))
            and _law_change(ladder, numbers) < SETTLED_LAW
        ):
            break
        ladder.append(solve_on(box, cells, schemes, count, rate))
        previous, numbers = numbers, _extrapolated(ladder[-3:], schemes)
        change = _changes(numbers.rates, previous.rates)
    moved = _check_the_law(numbers.moments[2:6], ladder[-1].numbers.moments[2:6])
    settled = _law_change(ladder[-3:], numbers) < WRONG_POWERS
    return Solution(box, schemes, rate, tuple(ladder), numbers, change, 0.0 if settled else moved)


def solve_on(box: Box, cells: int, schemes: Schemes, count: int, rate: float) -> Level:
    """The answer on cells × cells cells."""
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
    """The answer on the grid; for the last three see `slow_modes`."""
    coefficients = Coefficients.of(chart, grid)
    fluxes = Fluxes.of(grid, coefficients, schemes)
    matrix = fluxes.matrix()
    modes = slow_modes(matrix, count, rate, start, extra, tolerance)
    density = modes.masses.reshape(grid.shape) / grid.volumes
    current = fluxes.currents(density)
    numbers = Numbers(modes.rates, _moments(chart, grid, coefficients, modes, current))
    return Level(grid, matrix, numbers, density, current, modes.sum)


def law_numbers(moments: FloatArray) -> DistributionNumbers:
    """What the array of `Numbers` says of the law."""
    mean, covariance, third, fourth = (
        moments[:2],
        moments[2:6].reshape(2, 2),
        moments[6:8],
        moments[8:10],
    )
    variance, swept, production = (
        np.diag(covariance),
        moments[10:14].reshape(2, 2),
        float(moments[14]),
    )
    return DistributionNumbers(
        mean=mean,
        covariance=covariance,
        skewness=third / variance**1.5,
        kurtosis=fourth / variance**2,
        circulation=float(swept[0, 1] - swept[1, 0]) / 2,
        entropy_production=None if np.isnan(production) else production,
    )


def _law_change(ladder: list[Level], numbers: Numbers) -> float:
    """Relative difference of the covariance from that of two levels, without one power of the cells' length."""
    coarse, fine = ladder[-2:]
    ratio = (fine.grid.shape[0] / coarse.grid.shape[0]) ** 2
    plain = (ratio * fine.numbers.moments[2:6] - coarse.numbers.moments[2:6]) / (ratio - 1)
    return float(np.abs(numbers.moments[2:6] - plain).max() / np.abs(plain).max())


def _check_the_law(covariance: FloatArray, on_cells: FloatArray) -> float:
    """Relative change of the covariance by the extrapolation."""
    size = np.linalg.norm(on_cells)
    change = np.linalg.norm(covariance - on_cells) / size
    if not (change < UNSETTLED and np.linalg.eigvalsh(covariance.reshape(2, 2))[0] > 0):
        raise UnresolvedLandscapeError(
            f"the stationary distribution is too narrow for {LEVELS[-1]}² cells: its covariance still changes by {change:.1%}, "
            "because the noise is too weak compared with the drift; check the diffusion, or narrow the domain"
        )
    return float(change)


def typical_rate(box: Box) -> float:
    """A rate from whose negative the slowest modes are the nearest, the fast turning ones among them included [1/time]."""
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
    """The schemes by which the slowest rate and the covariance change least from the first level to the second; both levels."""
    grid = box.grid(CELLS)
    coefficients = Coefficients.of(box.chart, grid)
    weak_noise = any(dominated(coefficients.peclet(grid, axis), box.masses) for axis in (0, 1))
    # Where drift dominates the noise between cells, exponential fitting is upwind of first order; it settles, but far away.
    candidates: list[Schemes] = (
        [("upwind", "upwind")]
        if weak_noise
        else [("exponential", "exponential"), ("upwind", "upwind")]
    )
    tried = []
    for schemes in candidates:
        ladder = [solve_on(box, cells, schemes, count, rate) for cells in LEVELS[:2]]
        coarse, fine = (level.numbers for level in ladder)
        rates = _changes(fine.rates, coarse.rates)[:1].max(initial=0.0)
        spread = (
            np.abs(fine.moments[2:6] - coarse.moments[2:6]).max() / np.abs(fine.moments[2:6]).max()
        )
        tried.append((max(float(rates), float(spread)), schemes, ladder))
    _, schemes, ladder = min(tried, key=lambda attempt: attempt[0])
    return schemes, ladder


def _extrapolated(ladder: list[Level], schemes: Schemes) -> Numbers:
    """Three levels without the two leading powers of the cells' length in their error."""
    weights = weights_of(ladder, schemes)
    finest = ladder[-1].numbers
    rates = np.array([matched(level.numbers.rates, finest.rates) for level in ladder])
    known = np.isfinite(rates).all(axis=0)
    extrapolated = np.where(known, weights @ np.where(np.isfinite(rates), rates, 0.0), finest.rates)
    return Numbers(extrapolated, weights @ np.array([level.numbers.moments for level in ladder]))


def weights_of(ladder: list[Level], schemes: Schemes) -> FloatArray:
    """(3,) weights of three levels, coarse to fine, that remove the two leading powers of the cells' length."""
    orders = ORDERS["upwind" if "upwind" in schemes else "exponential"]
    lengths = ladder[0].grid.shape[0] / np.array([level.grid.shape[0] for level in ladder])
    return np.asarray(
        np.linalg.solve(
            np.array([np.ones(3), *(lengths**order for order in orders)]), [1.0, 0.0, 0.0]
        )
    )


def _changes(rates: ComplexArray, before: ComplexArray) -> FloatArray:
    """(k,) relative change of each rate: of its real part, or of the imaginary part beside the whole."""
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
    return np.concatenate(
        [
            mean,
            covariance.ravel(),
            *higher,
            swept.ravel(),
            [_entropy_production(grid, coefficients, modes, current)],
        ]
    )


def _entropy_production(
    grid: Grid, coefficients: Coefficients, modes: Modes, current: FloatArray
) -> float:
    """∫ J · 2a⁻¹(b − ½∇·a): the same as ∫ 2 Jᵀa⁻¹J / π, as J is free of divergence, and without a quotient of small numbers."""
    if (
        lowest_diffusion(coefficients.diffusion[modes.masses > 1e-12 * modes.masses.max()])
        < SINGULAR
    ).any():
        return np.nan
    table = coefficients.diffusion.reshape(*grid.shape, 2, 2)
    spread = np.zeros((*grid.shape, 2))
    for axis in (0, 1):
        spread += (
            np.gradient(table[..., axis], grid.axes[axis].centres, axis=axis, edge_order=2) / 2
        )
    push = coefficients.drift.reshape(*grid.shape, 2) - spread
    regular = lowest_diffusion(coefficients.diffusion).reshape(grid.shape) >= SINGULAR
    force = np.zeros_like(push)
    force[regular] = 2 * np.linalg.solve(table[regular], push[regular][..., None])[..., 0]
    return float(np.sum(grid.volumes[..., None] * current * force))
