"""Cells without noise in every direction, which a reflected process never enters."""

import numpy as np
from numpy.typing import NDArray

from worker.generator.plane.box.coordinates import Chart, lowest_diffusion
from worker.generator.plane.grid import Grid

POSITIVE = 1e-6
"""Smaller over larger eigenvalue of the diffusion above which it counts as positive."""


def without_noise(chart: Chart, grid: Grid) -> NDArray[np.bool_]:
    """Return the cells outside the largest connected part with positive diffusion: (n,)."""
    from scipy.ndimage import label  # a twentieth of a worker's start, for planes alone

    positive = (lowest_diffusion(chart.raw_diffusion(grid.centres)) > POSITIVE).reshape(grid.shape)
    parts, count = label(positive)
    if count > 1 and not any(axis.circle for axis in grid.axes):
        areas = np.bincount(parts.ravel(), grid.volumes.ravel())
        areas[0] = 0.0
        positive = parts == np.argmax(areas)
    return np.asarray(~positive.ravel())
