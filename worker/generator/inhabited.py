"""The part of a landscape that the stationary law inhabits: its wells, what lies between them, and the tails beyond."""

import numpy as np

from worker.generator.landscape import Landscape
from worker.generator.process import FloatArray

DEPTH = 150.0
"""Fall of the log-density at which the panels end: e^−150 of the density changes no digit of any answer."""


def depth_for(eigenpairs: int, least: float) -> float:
    """Fall of the log-density that holds the tails of that many eigenfunctions, the faster the wider; `least` at least."""
    return max(least, 10.0 * eigenpairs)


def inhabited(landscape: Landscape, eigenpairs: int) -> slice:
    """The panels up to where the density has fallen by e^−depth beyond the outermost turning points of ψ.

    Panels may reach further, to where the data were or to a state asked about. A drift that is slow there makes rates of its
    own, of modes that no stationary process ever excites; they are not among those of the law.
    """
    _, psi, log_a = landscape.at_nodes
    height = (psi - log_a / 2).ravel()
    steps = np.diff(psi.ravel())
    known = np.flatnonzero(steps != 0)
    turning = known[1:][np.sign(steps[known[1:]]) != np.sign(steps[known[:-1]])]
    first, last = (int(turning[0]), int(turning[-1])) if len(turning) else (int(np.argmax(height)),) * 2
    depth, order = depth_for(eigenpairs, DEPTH), psi.shape[1]
    below = _reach(height[: first + 1][::-1], depth)
    above = _reach(height[last:], depth)
    return slice((first - below) // order, (last + above) // order + 1)


def _reach(height: FloatArray, depth: float) -> int:
    """How many nodes outward the height has fallen by `depth` below its peak so far; all of them where it does not."""
    fallen = np.maximum.accumulate(height) - height > depth
    return int(np.argmax(fallen)) if fallen.any() else len(height) - 1
