"""Committor in the plane, equation (G51)."""

import numpy as np

from worker.generator.plane.eigenmodes import factorised
from worker.generator.plane.finite_volumes import Schemes
from worker.generator.plane.grid import Grid, points
from worker.generator.plane.passages.passage_mesh import PassageMesh
from worker.generator.plane.passages.passage_moments import (
    FITTED,
    UPWIND,
    DiscreteProcess,
    orders_of,
    weak_noise,
)
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.outcomes import COMMITTOR_UNSETTLED, Reason
from worker.generator.quantities.passages import Committed
from worker.generator.quantities.regions import Region

LEVELS = (48, 96)
"""Cells along each axis; the corners of the first are corners of the second."""
LARGEST_ERROR = 0.05
"""Change by the extrapolation above which there is no answer."""


def solve_committor(mesh: PassageMesh, start: Region) -> tuple[Committed | Reason, Schemes]:
    """Return the committor of the goal against the region `start`, or why not, and its schemes."""
    schemes = UPWIND if weak_noise(mesh) else FITTED
    coarse, fine = (at_corners(mesh, start, cells, schemes) for cells in LEVELS)
    order = orders_of(mesh.goal, schemes)[0]
    ratio = (LEVELS[1] / LEVELS[0]) ** order
    values = (ratio * fine - coarse) / (ratio - 1)
    known = np.isfinite(values)
    if not known.any() or not np.max(np.abs(values - fine)[known]) < LARGEST_ERROR:
        return COMMITTOR_UNSETTLED, schemes
    grid = mesh.grid(LEVELS[0])
    x, y = (
        mesh.chart.state(np.column_stack([axis.edges] * 2))[:, k]
        for k, axis in enumerate(grid.axes)
    )
    return Committed((read_only(x), read_only(y)), read_only(np.clip(values, 0.0, 1.0))), schemes


def at_corners(mesh: PassageMesh, start: Region, cells: int, schemes: Schemes) -> FloatArray:
    """Return the committor at the corners of the coarsest cells (n + 1, n + 1).

    Values in the regions are exact.

    Parameters
    ----------
    mesh, start : domain with the goal, and the region where the committor is 0
    cells : cells along each axis
    schemes : schemes of the fluxes along both axes
    """
    discrete = DiscreteProcess.of(mesh, cells, schemes)
    grid, left = discrete.grid, discrete.absorbed_in(mesh, (start, mesh.goal))
    values = np.where(mesh.cells_of(mesh.goal, grid), 1.0, np.nan).ravel()
    values[mesh.cells_of(start, grid).ravel()] = 0.0
    try:
        values[left.free] = factorised(left.matrix).solve(-left.exits[:, 1], "T")
    except RuntimeError:
        return np.full((LEVELS[0] + 1,) * 2, np.nan)
    step = cells // LEVELS[0]
    corners = _corner_values(grid, values.reshape(grid.shape))[::step, ::step]
    edges = [axis.edges[::step] for axis in grid.axes]
    at = mesh.chart.state(points(edges[0], edges[1]))
    for region, value in ((start, 0.0), (mesh.goal, 1.0)):
        held = _closed(region, at).holds(at, mesh.chart.process.periods)
        corners[held.reshape(corners.shape)] = value
    return corners


def _closed(region: Region, at: FloatArray) -> Region:
    """Widen a region by a rounding error, so that corners (n, 2) on its edges belong to it.

    An edge at −0.9 was met at −0.8999999999999999, where the committor was 1.1e-3 in place of 0.
    """
    slack = 1e-12 * np.ptp(at, axis=0)
    return Region(
        tuple((low - e, high + e) for (low, high), e in zip(region.intervals, slack, strict=True))
    )


def _corner_values(grid: Grid, values: FloatArray) -> FloatArray:
    """Interpolate linearly from the cells' centres to their corners, one axis after the other."""
    for k, axis in enumerate(grid.axes):
        table = np.moveaxis(values, k, 0)
        width = axis.widths[:, None]
        inner = (table[:-1] * width[1:] + table[1:] * width[:-1]) / (width[:-1] + width[1:])
        around = (table[-1] * width[0] + table[0] * width[-1]) / (width[0] + width[-1])
        first, last = (around, around) if axis.circle else (table[0], table[-1])
        values = np.moveaxis(np.concatenate([first[None], inner, last[None]]), 0, k)
    return values
