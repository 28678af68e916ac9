"""Density and current on a grid of states, of a solved model and of models near it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RectBivariateSpline
from scipy.sparse import csc_array
from scipy.sparse.linalg import LinearOperator, SuperLU, gmres

from worker.generator.plane.box.box import Chart
from worker.generator.plane.eigenmodes import factorised
from worker.generator.plane.finite_volumes import Coefficients, generator_matrix
from worker.generator.plane.grid import Axis, IndexArray, points
from worker.generator.plane.grid_refinement import Level, Solution
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.request import AnalysisRequest

MOST_POINTS = 60
"""Largest number of points along each coordinate: the grid has the square of it."""
OUTSIDE = 1e-5
"""Probability left out on each side of each coordinate."""
FLOOR = 1e-14
"""Density, over its peak, below which it counts as zero."""
HIGHEST_FLOOR = 1e-3
RIPPLE = 10.0
"""Density that counts as zero, in units of the deepest negative density: the cells' error."""


def density_on_grid(
    solution: Solution, request: AnalysisRequest
) -> tuple[tuple[FloatArray, FloatArray], FloatArray, FloatArray]:
    """Return points of both coordinates, density (n, n) and current (n, n, 2) there."""
    chart, level = solution.box.chart, solution.finest
    count = min(request.density_points, MOST_POINTS)
    first, second = (
        read_only(np.linspace(*_range(solution, axis, request), count)) for axis in (0, 1)
    )
    u, inside = on_the_rectangle(solution, (first, second))
    jacobian = abs(float(np.linalg.det(chart.matrix)))
    peak = float(level.density.max())
    floor = min(max(FLOOR * peak, -RIPPLE * float(level.density.min())), HIGHEST_FLOOR * peak)
    log_density = interpolated(level.grid.axes, np.log(np.maximum(level.density, floor)), u, 3)
    density = np.where(
        inside & (log_density > np.log(floor) + 1e-3), np.exp(log_density), 0.0
    ).reshape(count, count)
    density = density / np.trapezoid(np.trapezoid(density, second, axis=1), first)
    along = [interpolated(level.grid.axes, level.current[..., k], u, 1) for k in (0, 1)]
    along = [np.where(inside, component, 0.0) for component in along]
    current = np.stack(along, axis=1) @ chart.inverse.T * jacobian
    return (first, second), read_only(density), read_only(current.reshape(count, count, 2))


def on_the_rectangle(
    solution: Solution, grid: tuple[FloatArray, ...]
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return grid points in the chart's coordinates (n₀ · n₁, 2), and which are in the box."""
    u = solution.box.chart.coordinates(points(*grid))
    inside = np.full(len(u), True)
    for axis, span in enumerate(solution.box.spans):
        if span.circle:
            u[:, axis] = span.low + np.mod(u[:, axis] - span.low, span.high - span.low)
        inside &= (u[:, axis] >= span.low) & (u[:, axis] <= span.high)
    return u, inside


def _range(solution: Solution, axis: int, request: AnalysisRequest) -> tuple[float, float]:
    """Return the range of the distribution and the data along a coordinate [state].

    Almost all of the distribution is in it. An angle has its whole period.
    """
    chart, level = solution.box.chart, solution.finest
    process, span = chart.process, solution.box.spans[axis]
    if span.circle:
        low = chart.state(np.array([[s.low for s in solution.box.spans]]))[0, axis]
        return float(low), float(low + process.periods[axis])
    x = chart.state(level.grid.centres)[:, axis]
    order = np.argsort(x)
    below = np.cumsum(np.maximum(level.density * level.grid.volumes, 0.0).ravel()[order])
    low, high = (
        float(x[order][np.searchsorted(below, share * below[-1])])
        for share in (OUTSIDE, 1 - OUTSIDE)
    )
    for walls, end in zip(process.domain[axis], (0, 1), strict=True):
        # The outermost cells' centres lie half a cell before a wall that the process touches.
        if np.isfinite(walls) and solution.box.walls[axis, end] == (span.low, span.high)[end]:
            low, high = (float(walls), high) if end == 0 else (low, float(walls))
    if request.observed_ranges is not None:
        first, last = request.observed_ranges[axis]
        low, high = min(low, first), max(high, last)
    return max(low, process.domain[axis][0]), min(high, process.domain[axis][1])


def interpolated(
    axes: tuple[Axis, Axis], values: FloatArray, u: FloatArray, degree: int
) -> FloatArray:
    """Interpolate values on cells to points of the rectangle: (n,).

    Parameters
    ----------
    axes : axes of the cells
    values : (n₀, n₁) values on the cells
    u : (n, 2) points
    degree : degree of the spline
    """
    for k, axis in enumerate(axes):
        if axis.circle:
            values = np.concatenate(
                [np.take(values, [-3, -2, -1], k), values, np.take(values, [0, 1, 2], k)], axis=k
            )
    first, second = (_unrolled(axis) for axis in axes)
    spline = RectBivariateSpline(first, second, values, kx=degree, ky=degree)
    return np.asarray(
        spline.ev(np.clip(u[:, 0], first[0], first[-1]), np.clip(u[:, 1], second[0], second[-1]))
    )


def _unrolled(axis: Axis) -> FloatArray:
    if not axis.circle:
        return axis.centres
    turn = axis.edges[-1] - axis.edges[0]
    return np.concatenate([axis.centres[-3:] - turn, axis.centres, axis.centres[:3] + turn])


ROUGH = 0.02
"""Difference of a level's density from the drawn one, over its peak, above which a level is too
coarse."""
LEVELS = 3
"""Number of coarsest levels that are tried."""
TOLERANCE, STEPS = 1e-4, 30
"""Relative residual at which a density is settled, and steps of GMRES.

The error of the density is about as much of its peak. With the solved model's own factors it takes
eight steps for a model 5 % away.
"""


@dataclass(frozen=True, slots=True, eq=False)
class CoarseDensity:
    """Drawn density of the reference, and the cells on which densities are compared.

    drawn    (n₀, n₁) density [1/state²]
    u        (n₀ · n₁, 2) its points in the chart's coordinates
    inside   (n₀ · n₁,) whether they are in the rectangle
    level    cells on which densities are compared
    solver   factors of the reference's matrix without the cell of most mass; None on the coarsest
             level, where samples are solved
    """

    solution: Solution
    drawn: FloatArray
    u: FloatArray
    inside: NDArray[np.bool_]
    level: Level
    solver: SuperLU | None

    @classmethod
    def of(cls, solution: Solution, law: MultivariateDistribution) -> "CoarseDensity":
        """Choose the cells for a distribution that has a drawn density."""
        u, inside = on_the_rectangle(solution, law.grid)
        jacobian = _jacobian(solution)
        level = solution.ladder[0]
        for level in solution.ladder[:LEVELS]:
            there = jacobian * interpolated(level.grid.axes, level.density, u, 3)
            there = np.where(inside, there, 0.0).reshape(law.density.shape)
            if np.max(np.abs(there - law.density)) < ROUGH * law.density.max():
                break
        solver = None
        if level is not solution.first:
            keep = _others(level)
            solver = factorised(csc_array(level.matrix[keep][:, keep]))
        return cls(solution, law.density, u, inside, level, solver)

    def density_of(self, chart: Chart, own: Level) -> FloatArray:
        """Return the density of the chart's process (n₀, n₁); nan where the finer cells give none.

        `own` is its answer on the coarsest cells.
        """
        density = own.density if self.solver is None else self._on_finer_cells(chart, self.solver)
        if density is None:
            return np.full(self.drawn.shape, np.nan)
        found = _jacobian(self.solution) * interpolated(self.level.grid.axes, density, self.u, 3)
        return np.where(self.inside, found, 0.0).reshape(self.drawn.shape)

    def _on_finer_cells(self, chart: Chart, solver: SuperLU) -> FloatArray | None:
        grid = self.level.grid
        matrix = generator_matrix(grid, Coefficients.of(chart, grid), self.solution.schemes).tocsr()
        if not np.all(np.isfinite(matrix.data)):
            return None
        masses, keep = (self.level.density * grid.volumes).ravel(), _others(self.level)
        pinned = int(np.argmax(masses))
        inner = matrix[keep][:, keep]
        near = LinearOperator(inner.shape, matvec=solver.solve, dtype=np.float64)
        found = masses.copy()
        right = -matrix[keep][:, [pinned]].toarray()[:, 0] * masses[pinned]
        found[keep], _ = gmres(
            inner, right, x0=masses[keep], M=near, rtol=TOLERANCE, restart=STEPS, maxiter=1
        )
        if not np.linalg.norm(inner @ found[keep] - right) < 10 * TOLERANCE * np.linalg.norm(right):
            return None
        return np.asarray((found / found.sum()).reshape(grid.shape) / grid.volumes)


def _others(level: Level) -> IndexArray:
    """Return all cells but the one of most mass."""
    masses = level.density * level.grid.volumes
    return np.delete(np.arange(masses.size), int(np.argmax(masses)))


def _jacobian(solution: Solution) -> float:
    return abs(float(np.linalg.det(solution.box.chart.matrix)))
