"""Mean and standard deviation of first-passage times, exact by quadrature."""

import numba as nb
import numpy as np

from worker.generator.line.domain.boundaries import TOLERANCE
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.distribution import RISE, rise_on_the_way
from worker.generator.line.passages.transform import oriented
from worker.generator.process import FloatArray
from worker.generator.quantities.boundary import End, never_reached, outside
from worker.generator.quantities.outcomes import DENSITY_TOO_LOW, TOO_STEEP, Outcome, Reason
from worker.generator.quantities.passages import Timing

RESOLVED = 0.1
"""Change of the logarithm of a variance on doubling the cells up to which its error can be
extrapolated."""


def mean_time(cells: Cells, ends: tuple[End, End], start: float, to: float) -> Timing:
    """Return the mean first-passage time from `start` to `to`, in either direction.

    Parameters
    ----------
    cells : finite volumes
    ends : lower and upper end, classified
    start, to : edges of the cells, or beyond them [state]
    """
    why = outside(start, ends) or (None if start == to else never_reached(to, ends))
    if why is not None:
        return Timing(None, why)
    if start == to:
        return Timing(0.0)
    behind, ahead = ends if start < to else ends[::-1]
    if behind.problem is not None:
        infinite = (
            f"the mean time is infinite, or x = {to:g} may never be reached: {behind.problem} "
            f"{behind.place}"
        )
        return Timing(None, Reason(Outcome.INFINITE, infinite))
    # Points beyond the cells: the density there is below any floating number, or they are the open
    # ends themselves.
    if not all(
        cells.edges[0] <= point <= cells.edges[-1] or point in (ends[0].at, ends[1].at)
        for point in (start, to)
    ):
        return Timing(None, DENSITY_TOO_LOW)
    log_time = log_mean_time(cells, start, to)
    if to == ahead.at:
        log_time = np.logaddexp(
            log_time, np.logaddexp.reduce(cells.log_node_mass) + cells.gaps[ends.index(ahead)]
        )
    return Timing.from_log(float(log_time))


def mean_time_anywhere(cells: Cells, start: float, to: float) -> Timing | None:
    """Return the mean time between places that are no edges, by cubic interpolation to 1e-3.

    Returns None for places beyond the cells, and for those with no edges between them.

    Parameters
    ----------
    cells : finite volumes
    start, to : places within the cells [state]
    """
    edges = cells.edges
    if not edges[0] <= min(start, to) <= max(start, to) <= edges[-1]:
        return None
    (starts, of_starts), (ends, of_ends) = (_around(edges, at) for at in (start, to))
    begin, end = (float(edges[cells.edge_at(at)]) for at in (start, to))
    by_start = [log_mean_time(cells, float(at), end) for at in starts]
    by_end = [log_mean_time(cells, begin, float(at)) for at in ends]
    if not np.isfinite((by_start, by_end)).all():
        return None
    return Timing.from_log(
        float(of_starts @ by_start + of_ends @ by_end - log_mean_time(cells, begin, end))
    )


def _around(edges: FloatArray, at: float) -> tuple[FloatArray, FloatArray]:
    """Return four edges around a place, and their weights in a cubic through them."""
    first = int(np.clip(np.searchsorted(edges, at) - 2, 0, len(edges) - 4))
    nodes = edges[first : first + 4]
    others = nodes[None, :] - np.diag(np.full(4, np.nan))
    shares = (at - others) / (nodes[:, None] - others)
    return nodes, np.asarray(np.nanprod(shares, axis=1))


def log_mean_time(cells: Cells, start: float, to: float) -> FloatArray:
    """Return (...) the log of the mean time between two edges of the cells, equation (G14).

    Parameters
    ----------
    cells : finite volumes of (...) models
    start, to : edges of the cells [state]
    """
    first, last = sorted((cells.edge_at(start), cells.edge_at(to)))
    if start < to:
        terms = np.logaddexp(cells.log_below[..., :-1], cells.log_left)
    else:
        terms = np.logaddexp(cells.log_above[..., 1:], cells.log_right)
    return np.asarray(np.logaddexp.reduce((terms + cells.log_resistance)[..., first:last], axis=-1))


def standard_deviation(
    cells: Cells, ends: tuple[End, End], start: float, to: float, mean: Timing
) -> Timing:
    """Return the standard deviation of a first-passage time, equation (G28), to 1e-6.

    Parameters
    ----------
    cells : an even number of cells
    ends : lower and upper end, classified
    start, to : edges of the cells, or an end of the domain that is reached [state]
    mean : mean of the first-passage time
    """
    if mean.log_value is None:
        return mean
    behind = ends[0] if start < to else ends[1]
    if variance_diverges(behind):
        why = f"the variance is infinite: excursions towards {behind.place} are too long"
        return Timing(None, Reason(Outcome.INFINITE, why))
    fine, coarse = (
        float(_log_variance(level, ends, start, to)) for level in (cells, cells.halved())
    )
    if not abs(coarse - fine) < RESOLVED:
        return Timing(None, TOO_STEEP)
    return Timing.from_log(float(_extrapolated(fine, coarse)) / 2)


def cells_for_deviation(landscape: Landscape, start: float, to: float) -> Cells:
    """Return an even number of cells that resolve the deviation.

    Parameters
    ----------
    landscape : panels
    start, to : edges of panels [state]
    """
    rise = rise_on_the_way(landscape, min(start, to), max(start, to))
    return cut_into_cells(
        landscape, 2 ** np.ceil(np.log2(np.clip(rise / RISE, 32, 1024))).astype(np.int64)
    )


def _extrapolated(fine: FloatArray | float, coarse: FloatArray | float) -> FloatArray:
    # The error goes with the third power of the cells' length.
    return np.asarray(fine + np.log1p(-np.expm1(np.subtract(coarse, fine)) / 7))


def variance_diverges(behind: End) -> bool:
    """Return whether ∫ r M² does not converge at this end.

    With π ~ |o|^power and a ~ |o|^growth it is ∫ |o|^(power − growth + 2).
    """
    if behind.power is None or behind.growth is None:
        return False
    exponent = behind.power - behind.growth + 3
    return exponent > -TOLERANCE if np.isinf(behind.at) else exponent < TOLERANCE


def _log_variance(
    cells: Cells, ends: tuple[End, End] | None, start: float, to: float
) -> FloatArray:
    """Return (...) log of 2 ∫ r V over the passage, V = ∫ r M² up to there, M the mass before.

    r and π are taken for even within a cell. Without `ends` both points are edges of the cells.
    """
    first, last, (r, before, near, mass) = oriented(cells, start, to)
    ahead = None if ends is None else ends[1] if start < to else ends[0]
    gap = (
        -np.inf
        if ends is None or ahead is None or to != ahead.at
        else cells.gaps[ends.index(ahead)]
    )
    log_r, log_near, log_mass = (
        np.ascontiguousarray(array[..., :last]).reshape(-1, last) for array in (r, near, mass)
    )
    found = _log_double_integrals(log_r, log_near, log_mass, before[..., 0].reshape(-1), first, gap)
    return np.asarray(found).reshape(r.shape[:-1])


@nb.njit(cache=True, nogil=True)
def _log_double_integrals(
    log_r: FloatArray,
    log_near: FloatArray,
    log_mass: FloatArray,
    log_before: FloatArray,
    first: int,
    log_gap: float,
) -> FloatArray:
    """Return (m,) log of 2 ∫ r V from cell `first` on, with cells in the passage's direction.

    V is kept per mass M before the point, which makes it a time, and times are kept per the longest
    r M: nothing overflows.
    """
    models, n = log_r.shape
    found = np.empty(models)
    below = np.empty(n + 1)
    for k in range(models):
        below[0] = log_before[k]
        longest = -np.inf if n else 0.0
        for j in range(n):
            high, low = max(below[j], log_mass[k, j]), min(below[j], log_mass[k, j])
            below[j + 1] = high + np.log1p(np.exp(low - high)) if high > -np.inf else high
            longest = max(longest, float(log_r[k, j] + below[j + 1]))
        longest = max(longest, float(log_gap + below[n]))
        v, total = 0.0, 0.0
        for j in range(n):
            if below[j + 1] == -np.inf:
                continue
            time = np.exp(log_r[k, j] + below[j + 1] - longest)
            share = np.exp(below[j] - below[j + 1])
            near, mass = (
                np.exp(log_near[k, j] - below[j + 1]),
                np.exp(log_mass[k, j] - below[j + 1]),
            )
            if j >= first:
                total += float(
                    time * share * v + time**2 * (share**2 / 2 + share * mass / 3 + mass**2 / 12)
                )
            v = float(share * v + time * ((share + near) ** 2 + mass**2 / 12))
        total += float(np.exp(log_gap + below[n] - longest) * v)
        found[k] = np.log(2 * total) + 2 * longest if total > 0 else -np.inf
    return found
