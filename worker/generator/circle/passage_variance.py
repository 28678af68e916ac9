"""The standard deviation of a first-passage time on a circle, which may end from either side."""

import numpy as np

from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.distribution import RISE, rise_on_the_way
from worker.generator.quantities.passage_time import Timing

RESOLVED = 0.1
"""Change of a variance on doubling the cells, relative to it, up to which its error can be
extrapolated."""
STEEP = "the potential is too steep for the standard deviation to be resolved"


def deviation_round(landscape: Landscape, at: float, mean: Timing) -> Timing:
    """Return the standard deviation of the time until either end is reached, equation (G56).

    Parameters
    ----------
    landscape : one turn
    at : start, an edge of its panels [state]
    mean : mean time
    """
    rise = rise_on_the_way(landscape, landscape.edges[0], landscape.edges[-1])
    cells = cut_into_cells(
        landscape, 2 ** np.ceil(np.log2(np.clip(rise / RISE, 32, 256))).astype(np.int64)
    )
    if mean.log_value is None:
        return mean
    scale = float(np.logaddexp.reduce(cells.log_resistance) + np.logaddexp.reduce(cells.log_mass))
    fine, coarse = (_variance(level, level.edge_at(at)) for level in (cells, cells.halved()))
    if not (fine > 0 and abs(coarse - fine) < RESOLVED * fine):
        return Timing(None, STEEP)
    # The error goes with the square of the cells' length.
    return Timing.from_log(scale + float(np.log((4 * fine - coarse) / 3)) / 2)


def _variance(cells: Cells, at: int) -> float:
    """Return (G56) with resistances and masses as shares; r and π are even within a cell."""
    r = np.exp(cells.log_resistance - np.logaddexp.reduce(cells.log_resistance))
    mass = np.exp(cells.log_mass - np.logaddexp.reduce(cells.log_mass))
    theta, rest = _before(r), _before(r[::-1])[::-1]
    below, above = _before(mass), _before(mass[::-1])[::-1]
    # What leaves below and above; their sum is one, and each has all its digits.
    left = float(np.sum(mass * (rest[1:] + r / 2)))
    right = float(np.sum(mass * (theta[:-1] + r / 2)))
    flux = np.where(below < above, left - below, above - right)
    begin, end = flux[:-1], flux[1:]
    whole = r * (begin**2 + begin * end + end**2) / 3
    # The same, weighed with the share of the cell's own resistance before, and after.
    late = r * (begin**2 + 2 * begin * end + 3 * end**2) / 12
    early = r * (3 * begin**2 + 2 * begin * end + end**2) / 12
    ahead = np.sum((theta[:-1] * whole + r * late)[:at])
    behind = np.sum((rest[1:] * whole + r * early)[at:])
    return float(2 * (rest[at] * ahead + theta[at] * behind))


def _before(shares: np.ndarray) -> np.ndarray:
    return np.append(0.0, np.cumsum(shares))
