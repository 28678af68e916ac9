"""The Eyring–Kramers formula: mean passage times where barriers are high above the noise."""

import numpy as np

from worker.generator.landscape import Landscape
from worker.generator.process import FloatArray, ScalarProcess, values
from worker.generator.timing import Timing
from worker.generator.wells import FixedPoint


def kramers_time(
    model: ScalarProcess, landscape: Landscape, fixed: tuple[FixedPoint, ...], start: float, to: float
) -> Timing:
    """Equation (G15), Laplace's method on both integrals of the exact time (G14): every barrier between `start` and `to` counts
    with every well on its near side, and by half where the passage ends (or begins) on its top.

    With one well and one barrier this is 2π √(a(w)/a(u)) / √|b'(w) b'(u)| · exp(Φ(u) − Φ(w)); with constant a it is the textbook
    formula 2π/√(V''(w)|V''(u)|) · exp(2ΔV/a).
    """
    side = 1 if to > start else -1
    rounding = 1e-12 * abs(to - start)
    low, high = min(start, to) - rounding, max(start, to) + rounding
    tops = [point for point in fixed if not point.stable and low <= point.at[0] <= high]
    if not tops:
        return Timing(None, f"no barrier lies between x = {start:g} and x = {to:g}; the formula does not apply")
    first = min(side * top.at[0] for top in tops)
    last = max(side * top.at[0] for top in tops)
    wells = [point for point in fixed if point.stable and side * point.at[0] < last]
    if not any(side * well.at[0] < first for well in wells):
        return Timing(None, f"no well holds the process at x = {start:g} before the barrier; the formula does not apply")
    if any(point.slope == 0 or not np.isfinite(point.slope) for point in (*tops, *wells)):
        return Timing(None, "the drift has no slope at the bottom of a well or the top of a barrier; the formula does not apply")
    top_at, well_at = (np.array([point.at[0] for point in points]) for points in (tops, wells))
    if not (landscape.edges[0] <= min(top_at.min(), well_at.min()) and max(top_at.max(), well_at.max()) <= landscape.edges[-1]):
        return Timing(None, "a well or barrier lies where the density is below e^-2000 of its peak; the formula does not apply")
    outer = -_psi(landscape, top_at) + _log_width(model, tops)
    at_the_edge = np.minimum(np.abs(top_at - start), np.abs(top_at - to)) < 1e-6 * np.exp(_log_width(model, tops))
    outer += np.where(at_the_edge, np.log(0.5), 0.0)
    inner = _psi(landscape, well_at) + _log_width(model, wells) - np.log(values(model.a, well_at))
    before = side * well_at[None, :] < side * top_at[:, None]
    pairs = np.where(before, outer[:, None] + inner[None, :], -np.inf)
    return Timing.from_log(float(np.log(2) + np.logaddexp.reduce(pairs, axis=None)))


def _psi(landscape: Landscape, x: FloatArray) -> FloatArray:
    return landscape.psi_and_log_a(x)[0]


def _log_width(model: ScalarProcess, points: list[FixedPoint]) -> FloatArray:
    # log √(2π/|ψ''|), ψ'' = 2b'/a at a root of b.
    slope, at = np.array([abs(point.slope) for point in points]), np.array([point.at[0] for point in points])
    return np.asarray(0.5 * np.log(np.pi * values(model.a, at) / slope))
