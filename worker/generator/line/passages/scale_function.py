"""The resistance ∫2/(aπ) dx between any points of a landscape, to all its digits."""

import numpy as np

from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import NODES, WEIGHTS
from worker.generator.process import FloatArray


def log_resistance_between(landscape: Landscape, points: FloatArray) -> FloatArray:
    """Return (n − 1,) log ∫ 2/(aπ) dx between neighbouring points, up to π's constant.

    The points (n,) increase inside the panels; between two that are one the log is −∞. The
    integrals are sums of positive terms: panels, and parts of panels, on which ψ is a polynomial.
    """
    edges = landscape.edges
    breaks = np.union1d(points, edges[(edges > points[0]) & (edges < points[-1])])
    low, half = breaks[:-1], np.diff(breaks) / 2
    x = low[:, None] + half[:, None] * (NODES + 1)
    psi = landscape.psi_and_log_a(x.ravel())[0].reshape(x.shape)
    bottom = psi.min(axis=1)
    pieces = np.log(2 * half) - bottom + np.log(np.exp(bottom[:, None] - psi) @ WEIGHTS)
    apart = np.diff(points) > 0
    starts = np.searchsorted(breaks, points[:-1][apart])
    result = np.full(len(apart), -np.inf)
    result[apart] = np.logaddexp.reduceat(pieces, starts)
    return result
