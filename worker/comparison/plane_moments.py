"""Conditional moments of a nonlinear model of two coordinates, by its generator on cells."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import expm_multiply

from worker.comparison.conditional_moments import Observable
from worker.generator.plane.finite_volumes import Coefficients, generator_matrix
from worker.generator.plane.grid import Grid
from worker.generator.plane.grid_refinement import Solution

Floats = NDArray[np.float64]

CELLS = 36
"""Number of cells along each axis."""
AROUND = 8
"""Cells by which a circle is continued, so that splines are smooth where it is cut."""


@dataclass(frozen=True, eq=False)
class PlanePrediction:
    """Prediction by the generator on cells.

    solution    chart, box and schemes of the fluxes
    grid        cells of the box
    generator   (n, n) acts on functions of the cells [1/time]
    observables    observables of the two variables
    """

    solution: Solution
    grid: Grid
    generator: csr_array
    observables: tuple[Observable, ...]
    _expected: dict[float, Floats] = field(default_factory=dict, repr=False)

    def covers(self, states: Floats) -> NDArray[np.bool_]:
        """Return (n,) flags of the states inside the box."""
        u = self._coordinates(states)
        inside = np.full(len(u), True)
        for k, axis in enumerate(self.grid.axes):
            inside &= (u[:, k] >= axis.edges[0]) & (u[:, k] <= axis.edges[-1])
        return inside

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return (C1), corrected for noise by second differences over an eighth of a deviation."""
        start = self._at_cells()
        change = self._after(time) - start
        columns = change[:, 2 * variable : 2 * variable + 2]
        out = self._interpolated(columns, states)
        correction = np.zeros_like(out)
        for k, observable in enumerate(self.observables):
            if observable.noise:
                shift = np.zeros(states.shape[1])
                shift[k] = observable.deviation / 8
                around = self._interpolated(columns, states + shift) + self._interpolated(
                    columns, states - shift
                )
                correction += observable.noise / 2 * (around - 2 * out) / shift[k] ** 2
        return out - correction

    def _at_cells(self) -> Floats:
        x = self.solution.box.chart.state(self.grid.centres)
        return np.concatenate(
            [observable.values(x[:, k]) for k, observable in enumerate(self.observables)], axis=1
        )

    def _after(self, time: float) -> Floats:
        if time not in self._expected:
            earlier = max((t for t in self._expected if t < time), default=0.0)
            begin = self._expected[earlier] if earlier else self._at_cells()
            self._expected[time] = np.asarray(
                expm_multiply(self.generator * (time - earlier), begin)
            )
        return self._expected[time]

    def _interpolated(self, columns: Floats, states: Floats) -> Floats:
        # The import is a twentieth of a worker's start and serves planes alone.
        from scipy.ndimage import map_coordinates

        u = self._coordinates(states)
        index, around = [], []
        for k, axis in enumerate(self.grid.axes):
            centres = axis.centres
            wrapped = AROUND if axis.circle else 0
            if axis.circle:
                turn = axis.edges[-1] - axis.edges[0]
                centres = np.concatenate(
                    [centres[-AROUND:] - turn, centres, centres[:AROUND] + turn]
                )
            index.append(np.interp(u[:, k], centres, np.arange(len(centres), dtype=np.float64)))
            around.append((wrapped, wrapped))
        tables = (
            np.pad(column.reshape(self.grid.shape), around, mode="wrap") for column in columns.T
        )
        return np.stack(
            [map_coordinates(table, np.array(index), order=3, mode="nearest") for table in tables],
            axis=1,
        )

    def _coordinates(self, states: Floats) -> Floats:
        u = self.solution.box.chart.coordinates(states)
        for k, axis in enumerate(self.grid.axes):
            if axis.circle:
                u[:, k] = axis.edges[0] + np.mod(
                    u[:, k] - axis.edges[0], axis.edges[-1] - axis.edges[0]
                )
        return u


def plane_prediction(solution: Solution, observables: tuple[Observable, ...]) -> PlanePrediction:
    """Return the prediction of a solved model, whose transposed generator acts on functions."""
    grid = solution.box.grid(CELLS)
    matrix = generator_matrix(grid, Coefficients.of(solution.box.chart, grid), solution.schemes)
    return PlanePrediction(solution, grid, csr_array(matrix.T), observables)
