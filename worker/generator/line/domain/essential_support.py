"""The part of a landscape that the stationary distribution inhabits: wells, and what joins them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import NODES, interpolation
from worker.generator.process import FloatArray
from worker.generator.quantities.outcomes import Outcome, Reason

DEPTH = 150.0
"""Fall of the log-density at which the distribution ends: e^−150 of the density changes no digit
of any answer."""
SAMPLES = 65
"""Points of a panel between which its peak is a parabola's."""

Span = tuple[float | None, float | None]
"""Ends of a part of a landscape [state]; None where it goes to the landscape's own."""


def depth_for(eigenpairs: int, least: float) -> float:
    """Return the fall of the log-density that holds the tails of so many eigenfunctions.

    The faster the eigenfunction, the wider it is; the fall is `least` at least.
    """
    return max(least, 10.0 * eigenpairs)


@lru_cache(maxsize=8)
def inhabited(landscape: Landscape, eigenpairs: int) -> Span:
    """Return the outermost points at which the log-density is within `depth` of its peak.

    Panels may reach further, to where the data were, to wells that are never visited, or to a state
    asked about. What is slow there makes rates of its own, of modes that no stationary process ever
    excites; they are not among those of the distribution. The ends are found to rounding error, so
    that they do not depend on where the panels lie. Models near one reference need the reference's
    several times.
    """
    height = _height(landscape)
    level = _peak(landscape, height) - depth_for(eigenpairs, DEPTH)
    edges = landscape.edges
    at_edges = _height_at(landscape, edges)
    x = np.concatenate([edges[:1], np.column_stack([landscape.at_nodes[0], edges[1:]]).ravel()])
    above = np.concatenate([at_edges[:1], np.column_stack([height, at_edges[1:]]).ravel()]) > level
    inside = np.flatnonzero(above)
    first, last = int(inside[0]), int(inside[-1])

    def crossing(low: float, high: float) -> float:
        excess = [float(_height_at(landscape, np.array([end]))[0] - level) for end in (low, high)]
        if excess[0] * excess[1] > 0:
            return low if excess[0] < 0 else high
        return float(
            brentq(
                lambda z: float(_height_at(landscape, np.array([z]))[0] - level),
                low,
                high,
                xtol=1e-300,
                rtol=1e-14,
            )
        )

    below = crossing(x[first - 1], x[first]) if first > 0 else None
    beyond = crossing(x[last], x[last + 1]) if last < len(x) - 1 else None
    return below, beyond


def wells_left_out(span: Span, eigenpairs: int, wells: Sequence[float]) -> tuple[Reason, ...]:
    """Name the wells beyond the span, whose rates are left out; () where there are none.

    Parameters
    ----------
    span : part of the landscape that the distribution inhabits
    eigenpairs : number of rates
    wells : stable fixed points [state]
    """
    low, high = -np.inf if span[0] is None else span[0], np.inf if span[1] is None else span[1]
    beyond = [f"x = {well:.6g}" for well in wells if not low <= well <= high]
    if not beyond:
        return ()
    depth = depth_for(eigenpairs, DEPTH)
    which = (
        f"well at {beyond[0]} holds" if len(beyond) == 1 else f"wells at {', '.join(beyond)} hold"
    )
    how_much = f"the {which} less than e^-{depth:.0f} of the probability"
    why = f"{how_much}: its escape rate is not among these rates, see the first-passage times"
    return (Reason(Outcome.LEFT_OUT, why),)


def span_of_light_tails(span: Span, landscape: Landscape) -> Span:
    """Return the span, extended to the landscape's own end where the density falls like a power.

    Integrals over such a tail converge slowly.
    """
    below, above = (
        end if np.isinf(tail) else None for end, tail in zip(span, landscape.tails, strict=True)
    )
    return below, above


def part_of(landscape: Landscape, span: Span) -> Landscape:
    """Return the part of the landscape inside the span, of one or several models."""
    rows, edges = np.arange(len(landscape.base)), landscape.edges
    low, high, tails, gaps = (
        landscape.low.copy(),
        landscape.high.copy(),
        list(landscape.tails),
        list(landscape.gaps),
    )
    first, last = 0, len(rows) - 1
    if span[0] is not None:
        first = int(np.clip(np.searchsorted(edges, span[0], side="right") - 1, 0, last))
        low[first] = span[0] - landscape.base[first]
        tails[0] = gaps[0] = -np.inf
    if span[1] is not None:
        last = int(np.clip(np.searchsorted(edges, span[1]) - 1, first, last))
        high[last] = span[1] - landscape.base[last]
        tails[1] = gaps[1] = -np.inf
    psi, log_a = (
        landscape.psi[..., first : last + 1, :].copy(),
        landscape.log_a[..., first : last + 1, :].copy(),
    )
    for row in {first, last}:
        width = 2 * landscape.half[row]
        start, stop = (
            (low[row] - landscape.low[row]) / width,
            (high[row] - landscape.low[row]) / width,
        )
        if (start, stop) != (0.0, 1.0):
            matrix = interpolation(2 * (start + (stop - start) * (NODES + 1) / 2) - 1)
            for table, whole in ((psi, landscape.psi), (log_a, landscape.log_a)):
                table[..., row - first, :] = whole[..., row, :] @ matrix.T
    kept = slice(first, last + 1)
    return replace(
        landscape,
        base=landscape.base[kept],
        low=low[kept],
        high=high[kept],
        exponent=landscape.exponent[kept],
        order=landscape.order[kept],
        psi=psi,
        log_a=log_a,
        tails=(tails[0], tails[1]),
        gaps=(gaps[0], gaps[1]),
    )


def _height(landscape: Landscape) -> FloatArray:
    """Return (P, ORDER) the log-density per unit of the coordinate in which noise is uniform.

    A heavy tail falls exponentially there.
    """
    _, psi, log_a = landscape.at_nodes
    return np.asarray(psi - log_a / 2)


def _height_at(landscape: Landscape, x: FloatArray) -> FloatArray:
    psi, log_a = landscape.psi_and_log_a(x)
    return np.asarray(psi - log_a / 2)


def _peak(landscape: Landscape, height: FloatArray) -> float:
    points = np.linspace(-1, 1, SAMPLES)
    _, psi, log_a = landscape.interpolated(
        points, interpolation(points), np.array([int(np.argmax(height.max(axis=1)))])
    )
    z = (psi - log_a / 2)[0]
    at = int(np.argmax(z))
    return (
        float(z[at])
        if at in (0, len(z) - 1)
        else _vertex(*(float(value) for value in z[at - 1 : at + 2]))
    )


def _vertex(before: float, at: float, after: float) -> float:
    """Return the maximum of the parabola through three values, or else the middle one."""
    bend = before - 2 * at + after
    return at - (after - before) ** 2 / (8 * bend) if bend < 0 else at
