"""The integrated autocorrelation time on the line, by quadrature."""

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.domain.boundaries import TOLERANCE
from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import MAX_RISE
from worker.generator.numerics.quadrature import CUMULATIVE, WEIGHTS
from worker.generator.process import FloatArray
from worker.generator.quantities.boundary import End
from worker.generator.quantities.passage_time import Timing


def integrated_time(
    landscape: Landscape, ends: tuple[End, End], log_total: float, mean: float, variance: float
) -> Timing:
    """Return ∫_0^∞ C dt = ∫ r N² dx / variance, equation (G31), to 1e-9.

    Here r = 2/(aπ) and N(x) = ∫_{−∞}^x (z − mean) π dz.

    Parameters
    ----------
    landscape : panels that hold all of the distribution
    ends : lower and upper end, classified
    log_total : log ∫π
    mean, variance : of the stationary distribution [state], [state²]
    """
    for end in ends:
        power = _power_of_tail(end)
        if power is not None and power > -1 - TOLERANCE:
            reason = (
                "correlations decay too slowly for their integral: excursions towards "
                f"{end.place} are too long"
            )
            return Timing(None, reason)
    low, high = (_moment_of_tail(landscape, ends[side], side, log_total, mean) for side in (0, 1))
    inside = _log_rise(
        landscape, _smooth(landscape), np.asarray(log_total), np.asarray(mean), (low, high)
    )
    beyond = [
        _rise_of_tail(landscape, ends[side], side, log_total, mean, (low, high)[side])
        for side in (0, 1)
    ]
    return Timing.from_log(float(np.logaddexp.reduce([float(inside), *beyond]) - np.log(variance)))


def _smooth(landscape: Landscape) -> NDArray[np.bool_]:
    """Return (P,) the panels that count.

    Polynomials follow neither r nor N on a steep panel; it lies e^−NEAR below a top and above a
    bottom, so that r N² is nothing there.
    """
    return np.asarray(np.ptp(landscape.psi, axis=-1) <= MAX_RISE)


def _log_rise(
    landscape: Landscape,
    counted: NDArray[np.bool_],
    log_total: FloatArray,
    mean: FloatArray,
    tails: tuple[float, float],
) -> FloatArray:
    """Return (...) log ∫ r N² over the panels; `tails` are ∫ (z − mean) π beyond them."""
    x, psi, log_a = landscape.at_nodes
    half = landscape.half[:, None]
    log_total, mean = log_total[..., None, None], mean[..., None, None]
    moment = (x - mean) * np.exp(psi - log_a - log_total)
    inside, whole = half * (moment @ CUMULATIVE.T), half[:, 0] * (moment @ WEIGHTS)
    # From its own side each is a sum without a change of sign.
    from_left = (tails[0] + np.cumsum(whole, axis=-1) - whole)[..., None] + inside
    from_right = (tails[1] + np.cumsum(whole[..., ::-1], axis=-1)[..., ::-1] - whole)[..., None] + (
        whole[..., None] - inside
    )
    flow = np.abs(np.where(x < mean, from_left, from_right))
    with np.errstate(divide="ignore"):
        log_rise = np.log(2) + log_total - psi + 2 * np.log(flow)
        top = np.maximum(log_rise.max(axis=-1), -1e300)
        pieces = top + np.log(half[:, 0] * (np.exp(log_rise - top[..., None]) @ WEIGHTS))
    return np.asarray(np.logaddexp.reduce(np.where(counted, pieces, -np.inf), axis=-1))


def _power_of_tail(end: End) -> float | None:
    """Return the power of r N² in |o| at an open end with π ~ |o|^power and a ~ |o|^growth.

    None where the density falls faster than any power.
    """
    if end.power is None or end.growth is None or np.isfinite(end.at):
        return None
    return end.power + 4 - end.growth


def _moment_of_tail(
    landscape: Landscape, end: End, side: int, log_total: float, mean: float
) -> float:
    """Return ∫ (z − mean) π beyond the last panel."""
    if np.isinf(landscape.tails[side]) or end.power is None:
        return 0.0
    share = (end.power + 1) / (end.power + 2) if np.isinf(end.at) else 1.0
    return float(
        np.exp(landscape.tails[side] - log_total) * (landscape.edges[-side] - mean) * share
    )


def _rise_of_tail(
    landscape: Landscape, end: End, side: int, log_total: float, mean: float, moment: float
) -> float:
    """Return log ∫ r N² beyond the last panel."""
    power = _power_of_tail(end)
    if power is None or moment == 0:
        return -np.inf
    edge: FloatArray = landscape.edges[[-side]]
    log_r = np.log(2) + log_total - float(landscape.psi_and_log_a(edge)[0][0])
    return float(log_r + 2 * np.log(abs(moment)) + np.log(abs(edge[0] - mean) / abs(power + 1)))
