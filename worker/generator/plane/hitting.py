"""First passages between places of the plane: moments of their time on ever finer cells, extrapolated until they settle."""

from dataclasses import dataclass

import numpy as np

from worker.generator.places import Region
from worker.generator.plane.absorbing import Absorbing, absorbing_generator
from worker.generator.plane.coarse_law import dominated
from worker.generator.plane.grid import Grid
from worker.generator.plane.modes import factorised, stationary_masses
from worker.generator.plane.scene import Scene
from worker.generator.plane.volumes import Coefficients, Schemes, generator_matrix
from worker.generator.process import FloatArray

LEVELS = (32, 48, 64, 96, 128)
"""Cells along each axis, level by level."""
SETTLED = 2e-4
"""Change of the logarithm of the mean time by the last step at which the levels end."""
LARGEST_ERROR = 0.02
"""Likewise, above which no time is given."""
ORDERS = {"exponential": (2, 4), "upwind": (2, 3)}
"""Powers of the cells' length in the error of each scheme."""
FITTED: Schemes = ("exponential", "exponential")
UPWIND: Schemes = ("upwind", "upwind")
LIGHT = 1e-12
"""Share of the law in a region below which there is no mean over it."""


@dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """The time of a passage.

    logs     (levels, 2) logarithms of its mean and standard deviation, from coarse to fine cells [log time]
    log_mean, log_deviation   extrapolated
    schemes  by which fluxes were had
    error    change of `log_mean` by the last step
    """

    logs: FloatArray
    log_mean: float
    log_deviation: float
    schemes: Schemes
    error: float


def hit(scene: Scene) -> Hit | str:
    """The passage, or why it has no time."""
    tried = []
    for schemes in (UPWIND,) if _weak_noise(scene) else (FITTED, UPWIND):
        logs = np.array([log_moments(scene, cells, schemes) for cells in LEVELS[:3]])
        before, now = _extrapolated(logs[:2], LEVELS[:2], schemes), _extrapolated(logs, LEVELS[:3], schemes)
        change = abs(now[0] - before[0])
        tried.append((change if np.isfinite(change) else np.inf, schemes, logs, now))
    change, schemes, logs, now = min(tried, key=lambda attempt: attempt[0])
    for level in (3, 4):
        if change < SETTLED:
            break
        logs = np.vstack([logs, log_moments(scene, LEVELS[level], schemes)])
        before, now = now, _extrapolated(logs[-3:], LEVELS[level - 2 : level + 1], schemes)
        change = abs(now[0] - before[0])
    if not change < LARGEST_ERROR:
        return "the time does not settle on the finest cells: a place is too narrow for them, the noise too weak, or the time too long"
    return Hit(logs, float(now[0]), float(now[1]), schemes, float(change))


def log_moments(scene: Scene, cells: int, schemes: Schemes) -> FloatArray:
    """(2,) logarithms of mean and standard deviation on one grid; nan where the cells cannot tell."""
    grid = scene.grid(cells)
    coefficients = Coefficients.of(scene.chart, grid)
    weights = _start(scene, grid, coefficients, schemes)
    left = absorbing_generator(grid, coefficients, schemes, scene.cells_of(scene.goal, grid).astype(np.int64), 1)
    try:
        solver = factorised(left.matrix)
    except RuntimeError:
        return np.full(2, np.nan)
    first = solver.solve(np.full(len(left.free), -1.0), "T")
    second = solver.solve(-2 * first, "T")
    here = weights[left.free]
    with np.errstate(all="ignore"):
        mean = float(here @ first)
        # Both moments about a mean of the same size lose no digits: the deviation is at least a good part of it.
        return np.log(np.array([mean, np.sqrt(here @ second - mean**2)]))


def _start(scene: Scene, grid: Grid, coefficients: Coefficients, schemes: Schemes) -> FloatArray:
    """(n,) weights of the cells at the start of the passage."""
    if not isinstance(scene.start, Region):
        return scene.around(scene.start, grid)
    masses = law_on(scene, grid, coefficients, schemes)
    here = np.where(scene.cells_of(scene.start, grid).ravel(), masses, 0.0)
    total = float(here.sum())
    return here / total if total > LIGHT else np.full(len(here), np.nan)


def law_on(scene: Scene, grid: Grid, coefficients: Coefficients, schemes: Schemes) -> FloatArray:
    """(n,) masses of the stationary law on the grid; nan where there is none to be found."""
    peak = scene.chart.coordinates(scene.peak[None])
    pin = int(np.argmin(np.sum((grid.centres - peak) ** 2, axis=1)))
    return stationary_masses(generator_matrix(grid, coefficients, schemes), pin)


def _weak_noise(scene: Scene) -> bool:
    """Whether drift dominates noise over the coarsest cells, where the process is."""
    grid = scene.grid(LEVELS[1])
    coefficients = Coefficients.of(scene.chart, grid)
    masses = law_on(scene, grid, coefficients, FITTED)
    return any(dominated(coefficients.peclet(grid, axis), np.abs(masses)) for axis in (0, 1))


def _extrapolated(logs: FloatArray, levels: tuple[int, ...], schemes: Schemes) -> FloatArray:
    """(levels, …) → (…): without the leading powers of the cells' length in the error."""
    orders = ORDERS["upwind" if "upwind" in schemes else "exponential"][: len(levels) - 1]
    lengths = levels[0] / np.array(levels, dtype=float)
    weights = np.linalg.solve(np.array([np.ones(len(levels)), *(lengths**order for order in orders)]), np.eye(len(levels))[0])
    return np.asarray(weights @ logs)


def absorbing_on(scene: Scene, grid: Grid, schemes: Schemes, sets: tuple[Region, ...]) -> Absorbing:
    """The process on the grid until it enters one of the regions."""
    absorbed = np.zeros(grid.shape, dtype=np.int64)
    for number, region in enumerate(sets, start=1):
        absorbed[scene.cells_of(region, grid) & (absorbed == 0)] = number
    return absorbing_generator(grid, Coefficients.of(scene.chart, grid), schemes, absorbed, len(sets))
