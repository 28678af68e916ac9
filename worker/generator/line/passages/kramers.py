"""The Eyring–Kramers formula: mean first-passage times where barriers are high above the noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.landscape import Landscape
from worker.generator.process import FloatArray, ScalarProcess, values
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import DENSITY_TOO_LOW, TOO_FLAT, Outcome, Reason
from worker.generator.quantities.passages import Timing

WIDEST = 3.0
"""Width of a well's or barrier's parabola, in distances to the next fixed point, beyond which
there is no parabola."""


@dataclass(frozen=True, slots=True, eq=False)
class Extrema:
    """Fixed points for Laplace's method: wells and tops of ψ = ∫2b/a, where ψ'' = 2b'/a.

    The shape (..., n) stands for (n,) of one model and (m, n) of several models with the same wells
    and tops.

    at         (..., n) [state]
    stable     (n,)
    psi        (..., n) ψ there; nan outside the landscape
    log_a      (..., n)
    log_width  (..., n) log √(2π/|ψ''|), the width of the parabola; inf where the drift is too flat
               for one [log state]
    """

    at: FloatArray
    stable: NDArray[np.bool_]
    psi: FloatArray
    log_a: FloatArray
    log_width: FloatArray


def extrema_of(
    model: ScalarProcess, landscape: Landscape, fixed: tuple[FixedPoint, ...]
) -> Extrema:
    """Return the fixed points with what the formula needs of each.

    Parameters
    ----------
    model : process in one coordinate
    landscape : its panels
    fixed : its fixed points
    """
    at = np.array([point.at[0] for point in fixed])
    inside = (at >= landscape.edges[0]) & (at <= landscape.edges[-1])
    psi = np.where(inside, landscape.psi_and_log_a(at)[0], np.nan)
    stable, slope = (
        np.array([point.stable for point in fixed], bool),
        np.array([point.slope for point in fixed]),
    )
    return with_widths(at, stable, psi, np.log(values(model.a, at)), slope)


def with_widths(
    at: FloatArray, stable: NDArray[np.bool_], psi: FloatArray, log_a: FloatArray, slope: FloatArray
) -> Extrema:
    """Return the extrema, with their widths.

    Parameters
    ----------
    at : (..., n) [state]
    stable : (n,)
    psi, log_a : (..., n)
    slope : (..., n) b' [1/time]
    """
    with np.errstate(divide="ignore"):
        log_width = 0.5 * (np.log(np.pi) + log_a - np.log(np.abs(slope)))
    if at.shape[-1] > 1:
        room = np.full(at.shape, np.inf)
        room[..., :-1] = gaps = np.diff(at)
        room[..., 1:] = np.minimum(room[..., 1:], gaps)
        log_width = np.where(np.exp(log_width) > WIDEST * room, np.inf, log_width)
    return Extrema(at, stable, psi, log_a, log_width)


def kramers_time(extrema: Extrema, start: float, to: float) -> Timing:
    """Return the formula's time, or why it does not apply.

    Parameters
    ----------
    extrema : of one model
    start, to : edges of panels [state]
    """
    log_value = float(log_kramers_time(extrema, start, to))
    if not np.isnan(log_value):
        return Timing.from_log(log_value)
    tops, wells = _on_the_way(extrema, start, to)
    if not tops.any():
        why = f"no barrier lies between x = {start:g} and x = {to:g}; the formula does not apply"
        return Timing(None, Reason(Outcome.NO_BARRIER, why))
    if not wells.any() or not _starts_in_a_well(extrema, tops, wells, start, to):
        why = (
            f"no well holds the process at x = {start:g} before the barrier; the formula does "
            "not apply"
        )
        return Timing(None, Reason(Outcome.NO_BARRIER, why))
    curved = np.isfinite(extrema.log_width[tops | wells]).all()
    return Timing(None, DENSITY_TOO_LOW if curved else TOO_FLAT)


def log_kramers_time(extrema: Extrema, start: float, to: float) -> FloatArray:
    """Return the log of equation (G15) for each model (...); nan where the formula does not apply.

    It is Laplace's method on both integrals of the exact time (G14): every barrier between `start`
    and `to` counts with every well on its near side, and by half where the passage ends (or begins)
    on its top. With one well w and one barrier u this is
    2π √(a(w)/a(u)) / √|b'(w) b'(u)| · exp(Φ(u) − Φ(w)); with constant a it is the textbook formula
    2π/√(V''(w)|V''(u)|) · exp(2ΔV/a).

    Parameters
    ----------
    extrema : of the models
    start, to : [state]
    """
    at = extrema.at if to > start else -extrema.at
    tops, wells = _on_the_way(extrema, start, to)
    known = np.isfinite(extrema.log_width) & np.isfinite(extrema.psi)
    applies = (
        np.all(known | ~(tops | wells), axis=-1)
        & tops.any(axis=-1)
        & _starts_in_a_well(extrema, tops, wells, start, to)
    )
    log_width, psi = np.where(known, extrema.log_width, 0.0), np.where(known, extrema.psi, 0.0)
    from_the_edge = np.minimum(np.abs(extrema.at - start), np.abs(extrema.at - to))
    half = np.where(from_the_edge < 1e-6 * np.exp(log_width), np.log(0.5), 0.0)
    outer = np.where(tops, log_width - psi + half, -np.inf)
    inner = np.where(wells, log_width + psi - extrema.log_a, -np.inf)
    pairs = np.where(
        at[..., None, :] < at[..., :, None], outer[..., :, None] + inner[..., None, :], -np.inf
    )
    rows = pairs.reshape(*pairs.shape[:-2], -1)
    return np.where(
        applies, np.log(2) + np.logaddexp.reduce(rows, axis=-1, initial=-np.inf), np.nan
    )


def _on_the_way(
    extrema: Extrema, start: float, to: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which extrema (..., n) are tops on the way, and which are wells before the last."""
    side = 1 if to > start else -1
    at = side * extrema.at
    rounding = 1e-12 * abs(to - start)
    tops = ~extrema.stable & (at >= side * start - rounding) & (at <= side * to + rounding)
    last = np.max(np.where(tops, at, -np.inf), axis=-1, keepdims=True, initial=-np.inf)
    return tops, extrema.stable & (at < last)


def _starts_in_a_well(
    extrema: Extrema, tops: NDArray[np.bool_], wells: NDArray[np.bool_], start: float, to: float
) -> NDArray[np.bool_]:
    at = extrema.at if to > start else -extrema.at
    first_top = np.min(np.where(tops, at, np.inf), axis=-1, initial=np.inf)
    first_well = np.min(np.where(wells, at, np.inf), axis=-1, initial=np.inf)
    return np.asarray(first_well < first_top)
