"""How much a first-passage time varies from one passage to the next."""

import numpy as np

from worker.generator.boundaries import TOLERANCE, End
from worker.generator.cells import Cells
from worker.generator.first_passage_chain import oriented
from worker.generator.timing import Timing

RESOLVED = 0.1
"""Change of the logarithm of a variance on doubling the cells up to which its error can be extrapolated."""


def standard_deviation(cells: Cells, ends: tuple[End, End], start: float, to: float, mean: Timing) -> Timing:
    """Of the passage whose mean time is given, equation (G28), to 1e-6; `cells` are an even number.

    Both points are edges of the cells, or a reached end of the domain.
    """
    if mean.log_value is None:
        return mean
    behind = ends[0] if start < to else ends[1]
    if _variance_diverges(behind):
        return Timing(None, f"the variance is infinite: excursions towards {behind.place} are too long")
    fine, coarse = _log_variance(cells, ends, start, to), _log_variance(cells.halved(), ends, start, to)
    if not abs(coarse - fine) < RESOLVED:
        return Timing(None, "the landscape is too steep for its spread to be resolved")
    # The error goes with the third power of the cells' length.
    return Timing.from_log(0.5 * (fine + float(np.log1p(-np.expm1(coarse - fine) / 7))))


def _variance_diverges(behind: End) -> bool:
    """Whether ∫ r M² does not converge at this end: π ~ |o|^power and a ~ |o|^growth make it ∫ |o|^(power − growth + 2)."""
    if behind.power is None or behind.growth is None:
        return False
    exponent = behind.power - behind.growth + 3
    return exponent > -TOLERANCE if np.isinf(behind.at) else exponent < TOLERANCE


def _log_variance(cells: Cells, ends: tuple[End, End], start: float, to: float) -> float:
    """2 ∫ r V over the passage with V = ∫ r M² up to there, M the mass before; r and π are taken for even within a cell."""
    first, last, (r, before, near, mass) = oriented(cells, start, to)
    rise = r + np.logaddexp.reduce([2 * before, np.log(2) + before + near, 2 * near, 2 * mass - np.log(12)])
    v = np.append(-np.inf, np.logaddexp.accumulate(rise))
    within = 2 * r + np.logaddexp.reduce([2 * before - np.log(2), before + mass - np.log(3), 2 * mass - np.log(12)])
    total = np.logaddexp.reduce(np.logaddexp(r + v[:-1], within)[first:last], initial=-np.inf)
    ahead = ends[1] if start < to else ends[0]
    if to == ahead.at:
        total = np.logaddexp(total, v[-1] + cells.gaps[ends.index(ahead)])
    return float(np.log(2) + total)
