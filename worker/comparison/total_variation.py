"""Total variation between the stationary densities of data and model; equation (C6)."""

import numpy as np
from numpy.typing import NDArray

from worker.generator.quantities.stationary import MultivariateDistribution, StationaryDistribution
from worker.identification.identified_model import Histogram

Floats = NDArray[np.float64]

BINS = 16
"""Number of bins along each of two coordinates."""


def on_the_line(
    histogram: Histogram, law: StationaryDistribution | MultivariateDistribution | None
) -> float | None:
    """Return ½ Σ |data's share − model's share| over bins; None without a stationary density."""
    if law is None or not histogram.counts.sum():
        return None
    grid, density = law.grid[0], law.density
    mass = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (density[1:] + density[:-1]) / 2)])
    return _distance(
        histogram.counts / histogram.counts.sum(), np.diff(np.interp(histogram.edges, grid, mass))
    )


def in_the_plane(
    states: Floats,
    periods: tuple[float | None, ...],
    law: StationaryDistribution | MultivariateDistribution | None,
) -> float | None:
    """Return the total variation in the plane; None without a stationary density.

    It is summed over BINS² rectangles of the density's grid and what lies outside.

    Parameters
    ----------
    states : (n, 2) samples [state]
    periods : period of each variable that is an angle [state], else None
    law : stationary distribution of the model
    """
    if law is None or len(law.grid) != 2 or law.density.ndim != 2:
        return None
    edges = [np.linspace(grid[0], grid[-1], BINS + 1) for grid in law.grid]
    x = np.array(states)
    for k, period in enumerate(periods):
        if period is not None:
            x[:, k] = edges[k][0] + np.mod(x[:, k] - edges[k][0], period)
    counts = np.histogram2d(x[:, 0], x[:, 1], bins=edges)[0]
    density = law.density
    for k in (0, 1):
        density = np.moveaxis(_integrals(law.grid[k], np.moveaxis(density, k, 0), edges[k]), 0, k)
    return _distance(counts / len(x), density)


def _integrals(grid: Floats, density: Floats, edges: Floats) -> Floats:
    """Return the integrals (bins, m) over each bin of functions (n, m) given on a grid (n,)."""
    steps = np.diff(grid)[:, None] * (density[1:] + density[:-1]) / 2
    mass = np.concatenate([np.zeros((1, density.shape[1])), np.cumsum(steps, axis=0)])
    return np.diff(np.stack([np.interp(edges, grid, column) for column in mass.T], axis=1), axis=0)


def _distance(data: Floats, model: Floats) -> float:
    """Return the total variation of shares in bins; shares outside count as different."""
    outside = max(0.0, 1 - float(model.sum())) + max(0.0, 1 - float(data.sum()))
    return float(min(1.0, 0.5 * (np.abs(data - model).sum() + outside)))
