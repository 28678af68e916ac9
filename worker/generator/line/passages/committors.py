"""Committors on the line and on the circle: shares of the resistance, equation (G34)."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import NODES, WEIGHTS
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.boundary import End
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.passages import Committed, Committor
from worker.generator.quantities.regions import Pair, facing_numbers

N_POINTS = 101
"""Number of points at equal distances on which a committor is given, both places included."""
NUMBERS = "in one variable a committor is between two numbers or two disjoint intervals; give those"


def log_resistance_between(landscape: Landscape, points: FloatArray) -> FloatArray:
    """Return (n − 1,) log ∫ 2/(aπ) dx between neighbouring points, up to π's constant.

    The points (n,) increase inside the panels; between two that are one the log is −∞. The
    integrals are sums of positive terms: panels, and parts of panels, on which ψ is a polynomial.
    """
    edges = landscape.edges
    breaks = np.union1d(points, edges[(edges > points[0]) & (edges < points[-1])])
    low, half = breaks[:-1], np.diff(breaks) / 2
    x = low[:, None] + half[:, None] * (NODES + 1)
    psi = landscape.psi_and_log_a(x.ravel())[0].reshape(x.shape)
    bottom = psi.min(axis=1)
    pieces = np.log(2 * half) - bottom + np.log(np.exp(bottom[:, None] - psi) @ WEIGHTS)
    apart = np.diff(points) > 0
    starts = np.searchsorted(breaks, points[:-1][apart])
    result = np.full(len(apart), -np.inf)
    result[apart] = np.logaddexp.reduceat(pieces, starts)
    return result


def committors_on_the_line(
    landscape: Landscape,
    ends: tuple[End, End],
    asked: Sequence[Pair],
    fixed: tuple[FixedPoint, ...],
) -> tuple[Committor, ...]:
    """Return the committors asked for, then those from each well to the next.

    What happens outside the two places does not matter, and there may be no stationary
    distribution.

    Parameters
    ----------
    landscape : panels; both places, or ends of the domain that are reached, are inside
    ends : lower and upper end, classified
    asked : pairs of places
    fixed : fixed points of the drift
    """
    return tuple(
        committor_on_the_line(landscape, ends, pair) for pair in with_neighbours(asked, fixed)
    )


def with_neighbours(asked: Sequence[Pair], fixed: tuple[FixedPoint, ...]) -> list[Pair]:
    """Return the pairs asked for, then each well with the next one to its right."""
    wells = [point.at[0] for point in fixed if point.stable]
    return [*asked, *(pair for pair in pairwise(wells) if pair not in asked)]


def committor_on_the_line(landscape: Landscape, ends: tuple[End, End], pair: Pair) -> Committor:
    """Return one committor.

    Parameters
    ----------
    landscape : panels; both places are inside
    ends : lower and upper end, classified
    pair : start and goal
    """
    numbers = facing_numbers(pair)
    if numbers is None:
        return Committor(*pair, None, NUMBERS)
    low, high = sorted(numbers)
    for point in (low, high):
        if not ends[0].at <= point <= ends[1].at:
            return Committor(
                *pair,
                None,
                f"x = {point:g} lies outside the domain [{ends[0].at:g}, {ends[1].at:g}]",
            )
        for end in ends:
            if point == end.at and end.kind in ("natural", "entrance"):
                return Committor(
                    *pair, None, f"the end x = {point:g} of the domain is never reached"
                )
        if not landscape.edges[0] <= point <= landscape.edges[-1] and point not in (
            ends[0].at,
            ends[1].at,
        ):
            return Committor(*pair, None, "the density on the way is below e^-2000 of its peak")
    grid = np.linspace(low, high, N_POINTS)
    between = log_resistance_between(
        landscape, np.clip(grid, landscape.edges[0], landscape.edges[-1])
    )
    if low < landscape.edges[0]:
        between[0] = np.logaddexp(between[0], landscape.gaps[0])
    if high > landscape.edges[-1]:
        between[-1] = np.logaddexp(between[-1], landscape.gaps[1])
    values = shares(between) if numbers[0] == low else shares(between[::-1])[::-1]
    return Committor(*pair, Committed((read_only(grid),), read_only(values)))


def shares(log_resistances: FloatArray) -> FloatArray:
    """Return (..., n + 1) the share of the resistance before each point."""
    none = np.full((*log_resistances.shape[:-1], 1), -np.inf)
    before = np.concatenate([none, np.logaddexp.accumulate(log_resistances, axis=-1)], axis=-1)
    return np.asarray(np.exp(before - before[..., -1:]))


def round_the_circle(
    landscape: Landscape, pair: Pair, start: float, to: float, period: float
) -> Committor:
    """Return a committor on a circle: up the way ahead, and down the way behind.

    Parameters
    ----------
    landscape : one turn from `start` on, where `to` is an edge
    pair : start and goal as they were asked for
    start, to : the same as numbers [state]
    period : of the circle [state]
    """
    turn = start + period
    ahead, behind = np.linspace(start, to, N_POINTS), np.linspace(to, turn, N_POINTS)
    up = shares(log_resistance_between(landscape, ahead))
    down = shares(log_resistance_between(landscape, behind)[::-1])[::-1]
    grid, values = np.append(ahead, behind[1:]), np.append(up, down[1:])
    return Committor(*pair, Committed((read_only(grid),), read_only(values)))
