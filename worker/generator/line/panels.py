"""The panels of a landscape.

They are refined until ψ and log a are resolved, and reach no further out than the density matters.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.line.domain.domain_scan import DOUBLINGS, Window
from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import (
    CUMULATIVE,
    NODES,
    TO_LEGENDRE,
    WEIGHTS,
    interpolation,
)
from worker.generator.process import FloatArray, ScalarProcess, values
from worker.generator.quantities.boundary import End

MAX_RISE = 3.0
"""Largest change of ψ over one panel: e^±1.5 about its middle is a polynomial of degree 11 to
1e-9."""
MAX_STEEP_RISE = 300.0
"""Largest change of ψ over a panel on a slope far from top and bottom: what lies there counts
for e^−NEAR or less."""
STEEP_PANELS = 1000
"""Number of panels that a slope may take; a slope higher than these times MAX_STEEP_RISE has
steeper ones."""
NEAR = 150.0
"""Change of ψ from a fixed point, a point asked for, or an end, within which panels are fine."""
RESOLUTION = 1e-10
"""Size of the last Legendre coefficients of ψ and log a on a resolved panel."""
MAX_PANELS = 6000
MAX_CLIMB = 1e5
"""Change of ψ from the centre beyond which a barrier is not climbed: times there exceed any
number."""
MAX_DEPTH = 2000.0
"""Fall of the log-density below its peak beyond which no point is followed: times there exceed
any floating number."""
HALVINGS = 30
"""Number of panels towards a simple zero of a; the remainder, 1e-9 of the first, is a pure
power."""

Coefficients = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Functions of offsets that give 2b/a and log a, each without its singular part."""


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Neighbouring panels with a common base: increasing break offsets, and coefficients."""

    base: float
    breaks: FloatArray
    coefficients: Coefficients
    exponent: float = 0.0
    order: float = 0.0


def build_landscape(
    model: ScalarProcess,
    window: Window,
    ends: tuple[End, End],
    fixed: Iterable[float],
    asked: Iterable[float],
    depth: float,
) -> Landscape:
    """Build panels with a break at every point of `fixed` and `asked`.

    Panels reach beyond the outermost of these points until the density has changed by e^±depth, or
    to the end of the domain. A point asked for so far out that the density has changed by
    e^±MAX_DEPTH on the way is left out, and so is the last barrier before a drift that runs away
    where it is higher than MAX_CLIMB.

    Parameters
    ----------
    model : process in one coordinate
    window : centre, scale and scan of the domain
    ends : lower and upper end, classified
    fixed : fixed points of the drift [state]
    asked : points asked for [state]
    depth : change of the log-density at which the panels end

    Raises
    ------
    UnresolvedLandscapeError
        2b/a varies too fast to be followed.
    """
    held = np.array([window.centre, *_climbed(model, window, ends, np.sort([*fixed]))])
    points = np.array([*held, *(point for point in asked if ends[0].at < point < ends[1].at)])
    before, below = _half_line(model, window, ends[0], -1, held, points, depth)
    after, above = _half_line(model, window, ends[1], 1, held, points, depth)
    middle = np.concatenate([-below[::-1], [0.0], above])
    stretches = [*before, _Stretch(window.centre, middle, _around(model, window.centre)), *after]
    near = min(depth, NEAR) if np.isfinite(depth) else np.inf
    parts = [_refined(stretch, points - stretch.base, near) for stretch in stretches]
    return _joined(stretches, parts, ends)


def _around(model: ScalarProcess, base: float) -> Coefficients:
    def coefficients(offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = base + offset
        with np.errstate(all="ignore"):
            a = values(model.a, x)
            return 2 * values(model.b, x) / a, np.log(a)

    return coefficients


def _climbed(
    model: ScalarProcess, window: Window, ends: tuple[End, End], fixed: FloatArray
) -> FloatArray:
    """Return the fixed points (n,), less an outermost one behind a barrier that is too high.

    It is left out on a side where the drift runs away if ψ changes by more than MAX_CLIMB before
    it: nothing beyond it is a part of the answer, as there is no stationary distribution, and
    nothing before it is moved by it.
    """
    coefficients = _around(model, window.centre)
    for index, side, end in ((0, -1, ends[0]), (-1, 1, ends[1])):
        if (
            not len(fixed)
            or end.problem is None
            or side * (fixed[index] - window.centre) <= window.scale
        ):
            continue
        # Doubling distances: a coarse integral is enough to tell a thousand from a million.
        far = abs(float(fixed[index]) - window.centre)
        distances = far * 2.0 ** np.arange(min(np.floor(np.log2(window.scale / far)), 0.0), 1.0)
        start, stop = np.append(0.0, distances[:-1]), distances
        half = (stop - start) / 2
        slope, _ = coefficients(side * (start[:, None] + half[:, None] * (NODES + 1)))
        climb = float(np.sum(half * np.abs(slope @ WEIGHTS)))
        if climb > MAX_CLIMB:
            fixed = np.delete(fixed, index)
    return fixed


def _half_line(
    model: ScalarProcess,
    window: Window,
    end: End,
    side: int,
    held: FloatArray,
    points: FloatArray,
    depth: float,
) -> tuple[list[_Stretch], FloatArray]:
    """Return the stretch next to an end that is reached, and breaks' distances from the centre."""
    centre, coefficients = window.centre, _around(model, window.centre)
    hold, keep = (max(float(np.max(side * (group - centre))), 0.0) for group in (held, points))
    room = abs(end.at - centre)
    approach = room / 2 if end.zone is None else end.zone.width
    finite = np.isfinite(end.at)
    limit = room if end.wall or not finite else room - approach
    distances = window.scale * 2.0 ** np.arange(-1.0, DOUBLINGS)
    if end.problem is not None and not finite:
        distances = distances[: np.searchsorted(distances, max(2 * keep, 8 * window.scale)) + 1]
    if finite:
        distances = np.append(distances[distances < limit * (1 - 1e-9)], limit)
    reached = _cut(coefficients, side, distances, hold, keep, depth, end.problem is not None)
    if not finite or end.wall or reached[-1] < limit:
        return [], reached
    if end.zone is not None:
        enough = (
            min(HALVINGS, max(np.ceil(depth / (end.zone.exponent * np.log(2))), 1))
            if end.zone.exponent > 0
            else HALVINGS
        )
        halvings = end.zone.width * 2.0 ** -np.arange(0.0, enough + 1)
        return [
            _Stretch(end.at, np.sort(-side * halvings), end.zone.evaluate, end.zone.exponent, 1.0)
        ], reached
    nearest = max(1e-9 * abs(end.at), room * 2.0**-DOUBLINGS)
    halvings = approach * 2.0 ** -np.arange(0.0, max(np.log2(approach / nearest), 1.0))
    near = _cut(_around(model, end.at), -side, halvings, 0.0, 0.0, depth, end.problem is not None)
    return [_Stretch(end.at, np.sort(-side * near), _around(model, end.at))], reached


def _cut(
    coefficients: Coefficients,
    sign: int,
    distances: FloatArray,
    hold: float,
    keep: float,
    depth: float,
    open_ended: bool,
) -> FloatArray:
    """Return the distances as far as they matter.

    They end where the density has fallen by e^−depth beyond `hold` and `keep`, or by e^−MAX_DEPTH
    beyond `hold` alone; where there is no stationary distribution (`open_ended`), also where it has
    risen by as much. Distances that decrease approach an end; there `hold` and `keep` lie behind.
    """
    outward = distances[0] < distances[-1]
    start, stop = (
        (np.append(0.0, distances[:-1]), distances) if outward else (distances[:-1], distances[1:])
    )
    half = (stop - start) / 2
    nodes = start[:, None] + half[:, None] * (NODES + 1)
    slope, log_a = coefficients(sign * nodes)
    with np.errstate(all="ignore"):
        total = sign * half * (slope @ WEIGHTS)
        psi = sign * half[:, None] * (slope @ CUMULATIVE.T) + (np.cumsum(total) - total)[:, None]
        # Per unit of the coordinate in which the noise is uniform: there, a heavy tail falls
        # exponentially.
        height = (psi - log_a / 2).ravel()
    distance = nodes.ravel()
    beyond, far = (
        (distance >= hold, distance >= keep) if outward else (np.full(distance.shape, True),) * 2
    )
    known = np.isfinite(height)
    peak = np.maximum.accumulate(np.where(beyond & known, height, -np.inf))
    trough = np.minimum.accumulate(np.where(beyond & known, height, np.inf))
    with np.errstate(invalid="ignore"):
        change = np.maximum(peak - height, height - trough) if open_ended else peak - height
        change = np.where(known, change, np.inf)
    done = beyond & ((far & (change > depth)) | (change > MAX_DEPTH))
    if not done.any():
        return distances
    cut = distance[np.argmax(done)]
    return np.append(distances[distances < cut] if outward else distances[distances > cut], cut)


def _refined(
    stretch: _Stretch, points: FloatArray, near: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return low, high (P,), 2b/a and log a (P, ORDER) of panels halved until they are resolved."""
    breaks = _with_points(stretch.breaks, points)
    anchors = np.isin(breaks, points)
    anchors[[0, -1]] = True
    landmarks = breaks[anchors]
    low, high, level = breaks[:-1], breaks[1:], np.zeros(len(breaks) - 1)
    slope, log_a = _evaluated(stretch, low, high)
    steepest = max(
        MAX_STEEP_RISE,
        float(np.nansum(np.abs((high - low) / 2 * (slope @ WEIGHTS)))) / STEEP_PANELS,
    )
    while True:
        half = (high - low) / 2
        # A smooth function gains 12 binary digits a level, so this costs it nothing; rounding noise
        # and kinks end here.
        tolerance = RESOLUTION * 4.0**level
        rough = (np.max(np.abs(slope @ TO_LEGENDRE[-2:].T), axis=1) * half > tolerance) | (
            np.max(np.abs(log_a @ TO_LEGENDRE[-2:].T), axis=1) > tolerance
        )
        rise = half * (slope @ WEIGHTS)
        if stretch.exponent:
            rise = rise + stretch.exponent * np.log(np.abs(high / low))
        split = rough | (np.abs(rise) > MAX_RISE) & (
            _is_near(low, rise, landmarks, near) | (np.abs(rise) > steepest)
        )
        if not split.any():
            return low, high, slope, log_a
        if len(low) + split.sum() > MAX_PANELS:
            raise UnresolvedLandscapeError(
                "drift over diffusion is too large near x = "
                f"{stretch.base + float(low[np.argmax(split)]):g} to be resolved: "
                "the noise is too weak, or a term too steep; narrow the domain where a term is "
                "steep at its ends, and give a larger diffusion where the noise is weak throughout"
            )
        middle = (low + half)[split]
        children = np.concatenate([low[split], middle]), np.concatenate([middle, high[split]])
        child_slope, child_log_a = _evaluated(stretch, *children)
        low, high = np.append(low[~split], children[0]), np.append(high[~split], children[1])
        slope, log_a = (
            np.vstack([slope[~split], child_slope]),
            np.vstack([log_a[~split], child_log_a]),
        )
        level = np.concatenate([level[~split], level[split] + 1, level[split] + 1])
        order = np.argsort(low)
        low, high, slope, log_a, level = (
            low[order],
            high[order],
            slope[order],
            log_a[order],
            level[order],
        )


def _evaluated(
    stretch: _Stretch, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return stretch.coefficients(low[:, None] + (high - low)[:, None] / 2 * (NODES + 1))


def _is_near(
    low: FloatArray, rise: FloatArray, landmarks: FloatArray, near: float
) -> NDArray[np.bool_]:
    """Return whether ψ on a panel is within `near` of its value at the landmarks on either side.

    ψ is monotone between those.
    """
    psi = np.append(0.0, np.cumsum(rise))
    at_landmark = psi[np.searchsorted(low, landmarks)]
    following = np.searchsorted(landmarks, low, side="right")
    from_left = np.abs(psi[:-1] - at_landmark[following - 1])
    from_right = np.abs(psi[1:] - at_landmark[following])
    return np.asarray(np.minimum(from_left, from_right) < near)


def _with_points(breaks: FloatArray, points: FloatArray) -> FloatArray:
    inside = np.unique(points[(points > breaks[0]) & (points < breaks[-1])])
    if not len(inside):
        return breaks
    # A fixed point and a point asked for that differ by rounding error are one.
    room = np.diff(breaks)[np.searchsorted(breaks, inside) - 1]
    inside = inside[np.append(True, np.diff(inside) > 1e-12 * room[1:])]
    nearest = np.min(np.abs(breaks[1:-1, None] - inside), axis=1)
    gaps = np.minimum(np.diff(breaks)[:-1], np.diff(breaks)[1:])
    return np.unique(
        np.concatenate([breaks[:1], breaks[1:-1][nearest > 1e-3 * gaps], breaks[-1:], inside])
    )


def _joined(
    stretches: list[_Stretch],
    parts: list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]],
    ends: tuple[End, End],
) -> Landscape:
    columns: list[list[FloatArray]] = [[] for _ in range(8)]
    for stretch, (low, high, slope, log_a) in zip(stretches, parts, strict=True):
        half, size = (high - low) / 2, np.ones(len(low))
        rise = half * (slope @ WEIGHTS)
        # Where a stretch begins and ends, its singular part comes and goes.
        if stretch.exponent:
            rise[-1] += stretch.exponent * np.log(abs(high[-1]))
        if columns[0] and stretch.exponent:
            columns[7][-1][-1] -= stretch.exponent * np.log(abs(low[0]))
        within = half[:, None] * (slope @ CUMULATIVE.T)
        row = (
            size * stretch.base,
            low,
            high,
            size * stretch.exponent,
            size * stretch.order,
            within,
            log_a,
            rise,
        )
        for column, array in zip(columns, row, strict=True):
            column.append(array)
    base, low, high, exponent, order, psi, log_a, rise = (
        np.concatenate(column) for column in columns
    )
    psi = psi + _levels(psi, rise)[:, None]
    landscape = Landscape(base, low, high, exponent, order, psi, log_a)
    below, above = (
        _tail(landscape, ends[0], stretches[0], 0),
        _tail(landscape, ends[1], stretches[-1], -1),
    )
    return replace(landscape, tails=(below[0], above[0]), gaps=(below[1], above[1]))


def psi_of(half: FloatArray, slope: FloatArray) -> FloatArray:
    """Return (P, ORDER) ψ at the nodes of adjacent panels.

    It is summed from 2b/a at the nodes (P, ORDER) and the panels' half widths (P,).
    """
    within = half[:, None] * (slope @ CUMULATIVE.T)
    return np.asarray(within + _levels(within, half * (slope @ WEIGHTS))[:, None])


def _levels(within: FloatArray, rise: FloatArray) -> FloatArray:
    """Return (P,) ψ where each panel begins, summed outward from the panel with the top.

    Far below the top, ψ is a large number, whose rounding would move the density where it counts.
    """
    top = int(np.argmax(np.cumsum(rise) - rise + within.max(axis=1)))
    return np.concatenate([-np.cumsum(rise[:top][::-1])[::-1], [0.0], np.cumsum(rise[top:-1])])


def _tail(landscape: Landscape, end: End, stretch: _Stretch, panel: int) -> tuple[float, float]:
    """Return log mass and log resistance beyond the last panel, where π ~ o^power, (G7)."""
    if (
        end.power is None
        or end.problem is not None
        or (np.isfinite(end.at) and stretch.base != end.at)
    ):
        return -np.inf, -np.inf
    side = np.array([-1.0 if panel == 0 else 1.0])
    _, psi, log_a = landscape.interpolated(side, interpolation(side), np.array([panel]))
    log_offset = np.log(abs(landscape.low[0] if panel == 0 else landscape.high[-1]))
    mass = float(psi[0, 0] - log_a[0, 0] + log_offset - np.log(abs(end.power + 1)))
    if end.zone is None or end.kind != "regular":
        return mass, -np.inf
    return mass, float(np.log(2) - psi[0, 0] + log_offset - np.log1p(-end.zone.exponent))
