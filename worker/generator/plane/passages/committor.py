"""The committor in the plane, equation (G51)."""

import numpy as np

from worker.generator.plane.eigenmodes import factorised
from worker.generator.plane.finite_volumes import Schemes
from worker.generator.plane.grid import Grid, points
from worker.generator.plane.passages.passage_mesh import Scene
from worker.generator.plane.passages.passage_moments import (
    FITTED,
    UPWIND,
    Ground,
    orders_of,
    weak_noise,
)
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.passages import Committed
from worker.generator.quantities.regions import Region

LEVELS = (48, 96)
"""Cells along each axis; the corners of the first are corners of the second."""
LARGEST_ERROR = 0.05
"""Change by the extrapolation above which there is no answer."""


def committed(scene: Scene, start: Region) -> tuple[Committed | str, Schemes]:
    """The committor of the scene's goal against the region `start`, or why it has none; and by which schemes fluxes were had."""
    schemes = UPWIND if weak_noise(scene) else FITTED
    coarse, fine = (at_corners(scene, start, cells, schemes) for cells in LEVELS)
    order = orders_of(scene.goal, schemes)[0]
    ratio = (LEVELS[1] / LEVELS[0]) ** order
    values = (ratio * fine - coarse) / (ratio - 1)
    known = np.isfinite(values)
    if not known.any() or not np.max(np.abs(values - fine)[known]) < LARGEST_ERROR:
        why = (
            "the committor does not converge on the finest cells: "
            "a region is too narrow for them, or the noise too weak"
        )
        return why, schemes
    grid = scene.grid(LEVELS[0])
    x, y = (
        scene.chart.state(np.column_stack([axis.edges] * 2))[:, k]
        for k, axis in enumerate(grid.axes)
    )
    return Committed((read_only(x), read_only(y)), read_only(np.clip(values, 0.0, 1.0))), schemes


def at_corners(scene: Scene, start: Region, cells: int, schemes: Schemes) -> FloatArray:
    """(n + 1, n + 1) values at the corners of the coarsest cells; those of the regions are exact."""
    ground = Ground.of(scene, cells, schemes)
    grid, left = ground.grid, ground.until(scene, (start, scene.goal))
    values = np.where(scene.cells_of(scene.goal, grid), 1.0, np.nan).ravel()
    values[scene.cells_of(start, grid).ravel()] = 0.0
    try:
        values[left.free] = factorised(left.matrix).solve(-left.exits[:, 1], "T")
    except RuntimeError:
        return np.full((LEVELS[0] + 1,) * 2, np.nan)
    step = cells // LEVELS[0]
    corners = _corner_values(grid, values.reshape(grid.shape))[::step, ::step]
    edges = [axis.edges[::step] for axis in grid.axes]
    at = scene.chart.state(points(edges[0], edges[1]))
    for region, value in ((start, 0.0), (scene.goal, 1.0)):
        held = _closed(region, at).holds(at, scene.chart.process.periods)
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
    """Linear interpolation from the cells' centres to their corners, along one axis after the other."""
    for k, axis in enumerate(grid.axes):
        table = np.moveaxis(values, k, 0)
        width = axis.widths[:, None]
        inner = (table[:-1] * width[1:] + table[1:] * width[:-1]) / (width[:-1] + width[1:])
        around = (table[-1] * width[0] + table[0] * width[-1]) / (width[0] + width[-1])
        first, last = (around, around) if axis.circle else (table[0], table[-1])
        values = np.moveaxis(np.concatenate([first[None], inner, last[None]]), 0, k)
    return values
