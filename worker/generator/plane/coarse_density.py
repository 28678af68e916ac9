"""The stationary density of models near a solved one, on cells as coarse as the solved one's picture allows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import LinearOperator, SuperLU, gmres

from worker.generator.plane.box.coordinates import Chart
from worker.generator.plane.density_grid import interpolated, on_the_rectangle
from worker.generator.plane.eigenmodes import factorised
from worker.generator.plane.finite_volumes import Coefficients, generator_matrix
from worker.generator.plane.grid import IndexArray
from worker.generator.plane.grid_refinement import Level, Solution
from worker.generator.process import FloatArray
from worker.generator.quantities.stationary import MultivariateDistribution

ROUGH = 0.02
"""Difference between the density on the cells and the picture, over its peak, above which the next finer cells are taken."""
LEVELS = 3
"""Of the coarsest levels, which are looked at."""
TOLERANCE, STEPS = 1e-4, 30
"""Relative residual at which a density is settled: to about as much of its peak. With the solved model's own factors it takes
eight steps for one 5 % away."""


@dataclass(frozen=True, slots=True, eq=False)
class CoarseDensity:
    """The picture of the reference's density, and where it is compared.

    picture   (n₀, n₁) [1/state²]
    u, inside (n₀ · n₁, 2) its points in the chart's coordinates, (n₀ · n₁,) whether they are in the rectangle
    level     the cells on which densities are compared
    solver    of the reference's matrix without one cell, that of most mass; None on the coarsest level, where samples are solved
    """

    solution: Solution
    picture: FloatArray
    u: FloatArray
    inside: NDArray[np.bool_]
    level: Level
    solver: SuperLU | None

    @classmethod
    def of(cls, solution: Solution, law: MultivariateDistribution) -> "CoarseDensity":
        """For a law that has a picture."""
        u, inside = on_the_rectangle(solution, law.grid)
        jacobian = _jacobian(solution)
        level = solution.ladder[0]
        for level in solution.ladder[:LEVELS]:
            there = jacobian * interpolated(level.grid.axes, level.density, u, 3).reshape(
                law.density.shape
            )
            if (
                np.max(np.abs(np.where(inside.reshape(there.shape), there, 0.0) - law.density))
                < ROUGH * law.density.max()
            ):
                break
        solver = None
        if level is not solution.first:
            keep = _others(level)
            solver = factorised(csc_array(level.matrix[keep][:, keep]))
        return cls(solution, law.density, u, inside, level, solver)

    def of_model(self, chart: Chart, own: Level) -> FloatArray:
        """(n₀, n₁) the density of the chart's process on these cells, whose answer on the coarsest cells is `own`; nan where the
        finer ones give none."""
        density = own.density if self.solver is None else self._on_finer_cells(chart, self.solver)
        if density is None:
            return np.full(self.picture.shape, np.nan)
        found = _jacobian(self.solution) * interpolated(self.level.grid.axes, density, self.u, 3)
        return np.where(self.inside, found, 0.0).reshape(self.picture.shape)

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
    """All cells but that of most mass."""
    masses = level.density * level.grid.volumes
    return np.delete(np.arange(masses.size), int(np.argmax(masses)))


def _jacobian(solution: Solution) -> float:
    return abs(float(np.linalg.det(solution.box.chart.matrix)))
