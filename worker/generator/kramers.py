"""The Eyring–Kramers formula: mean passage times where barriers are high above the noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.landscape import Landscape
from worker.generator.process import FloatArray, ScalarProcess, values
from worker.generator.timing import Timing
from worker.generator.wells import FixedPoint

TOO_FLAT = 3.0
"""Width of a well's or barrier's parabola, in distances to the next fixed point, beyond which there is no parabola."""


@dataclass(frozen=True, slots=True, eq=False)
class Extrema:
    """The fixed points as Laplace's method sees them: wells and tops of ψ = ∫2b/a, where ψ'' = 2b'/a.

    at         (n,) [state]
    stable     (n,)
    psi        (n,) ψ there; nan outside the landscape
    log_a      (n,)
    log_width  (n,) log √(2π/|ψ''|), the width of the parabola; inf where the drift is too flat for one [log state]
    """

    at: FloatArray
    stable: NDArray[np.bool_]
    psi: FloatArray
    log_a: FloatArray
    log_width: FloatArray


def extrema_of(model: ScalarProcess, landscape: Landscape, fixed: tuple[FixedPoint, ...]) -> Extrema:
    """The fixed points with what the formula needs of each."""
    at = np.array([point.at[0] for point in fixed])
    slope = np.abs(np.array([point.slope for point in fixed]))
    inside = (at >= landscape.edges[0]) & (at <= landscape.edges[-1])
    psi, _ = landscape.psi_and_log_a(at)
    a = values(model.a, at)
    with np.errstate(divide="ignore"):
        log_width = 0.5 * np.log(np.pi * a / slope)
    if len(at) > 1:
        gaps = np.diff(at)
        room = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
        log_width = np.where(np.exp(log_width) > TOO_FLAT * room, np.inf, log_width)
    return Extrema(at, np.array([point.stable for point in fixed], bool), np.where(inside, psi, np.nan), np.log(a), log_width)


def kramers_time(extrema: Extrema, start: float, to: float) -> Timing:
    """Equation (G15), Laplace's method on both integrals of the exact time (G14): every barrier between `start` and `to` counts
    with every well on its near side, and by half where the passage ends (or begins) on its top.

    With one well w and one barrier u this is 2π √(a(w)/a(u)) / √|b'(w) b'(u)| · exp(Φ(u) − Φ(w)); with constant a it is the
    textbook formula 2π/√(V''(w)|V''(u)|) · exp(2ΔV/a).
    """
    side = 1 if to > start else -1
    at = side * extrema.at
    rounding = 1e-12 * abs(to - start)
    tops = np.flatnonzero(~extrema.stable & (at >= side * start - rounding) & (at <= side * to + rounding))
    if not len(tops):
        return Timing(None, f"no barrier lies between x = {start:g} and x = {to:g}; the formula does not apply")
    wells = np.flatnonzero(extrema.stable & (at < at[tops].max()))
    if not len(wells) or at[wells].min() > at[tops].min():
        return Timing(None, f"no well holds the process at x = {start:g} before the barrier; the formula does not apply")
    points = np.concatenate([tops, wells])
    if not np.isfinite(extrema.log_width[points]).all():
        return Timing(None, "the drift is too flat at a well or a barrier, or the noise too strong; the formula does not apply")
    if not np.isfinite(extrema.psi[points]).all():
        return Timing(None, "a well or barrier lies where the density is below e^-2000 of its peak; the formula does not apply")
    outer = extrema.log_width[tops] - extrema.psi[tops]
    from_the_edge = np.minimum(np.abs(extrema.at[tops] - start), np.abs(extrema.at[tops] - to))
    outer = outer + np.where(from_the_edge < 1e-6 * np.exp(extrema.log_width[tops]), np.log(0.5), 0.0)
    inner = extrema.log_width[wells] + extrema.psi[wells] - extrema.log_a[wells]
    pairs = np.where(at[wells] < at[tops][:, None], outer[:, None] + inner, -np.inf)
    return Timing.from_log(float(np.log(2) + np.logaddexp.reduce(pairs, axis=None)))
