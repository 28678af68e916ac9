"""Stationary distribution on coarse cells, a quick answer to where the process is."""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.errors import UndefinedCoefficientsError, UnresolvedLandscapeError
from worker.generator.plane.box.box import CELLS, Box, state_text
from worker.generator.plane.eigenmodes import stationary_masses
from worker.generator.plane.finite_volumes import Coefficients, Scheme, generator_matrix
from worker.generator.plane.grid import Axis, Grid
from worker.generator.process import FloatArray

FINE = 96
"""Cells along each axis where drift dominates noise and coarse cells would blur the distribution.
"""
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
    grid = box.grid(CELLS)
    coefficients = Coefficients.of(box.chart, grid)
    first, second = (dominated(coefficients.peclet(grid, axis), box.masses) for axis in (0, 1))
    if not (first or second):
        return Law(grid, box.masses.reshape(grid.shape))
    return _solved(
        box,
        box.grid(FINE),
        ("upwind" if first else "exponential", "upwind" if second else "exponential"),
    )


def dominated(peclet: FloatArray, masses: FloatArray) -> bool:
    """Return whether drift dominates noise over a cell's width where the process is.

    Exponential fitting would then add much noise.
    """
    return bool(masses @ np.minimum(peclet.ravel(), 1e6) ** 2 > 4)


def _solved(box: Box, grid: Grid, schemes: tuple[Scheme, Scheme]) -> Law:
    coefficients = Coefficients.of(box.chart, grid)
    matrix = generator_matrix(grid, coefficients, schemes)
    if not np.all(np.isfinite(matrix.data)):
        known = np.isfinite(coefficients.drift).all(axis=1) & np.isfinite(
            coefficients.diffusion
        ).all(axis=(1, 2))
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
        usual = (
            masses
            if np.all(np.isfinite(masses))
            else np.random.default_rng(attempt).random(len(usual))
        )
        masses = stationary_masses(matrix, int(np.argmax(usual)))
    if not np.all(np.isfinite(masses)):
        raise UnresolvedLandscapeError(TOO_STEEP)
    return Law(grid, masses.reshape(grid.shape))
