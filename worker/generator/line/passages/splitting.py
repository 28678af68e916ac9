"""Splitting probabilities: committors on the line and on the circle, and exits from an interval."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from worker.generator.line.finite_volumes import Cells
from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import NODES, WEIGHTS
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.boundary import End, never_reached
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import DENSITY_TOO_LOW, NO_NUMBERS, Outcome, Reason
from worker.generator.quantities.passages import Committed, Committor, Exit, Timing, Triple
from worker.generator.quantities.regions import Pair, facing_numbers

N_POINTS = 101
"""Number of points at equal distances on which a committor is given, both places included."""


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
        return Committor(*pair, NO_NUMBERS)
    low, high = sorted(numbers)
    for point in (low, high):
        why = never_reached(point, ends)
        if why is not None:
            return Committor(*pair, why)
        if not landscape.edges[0] <= point <= landscape.edges[-1] and point not in (
            ends[0].at,
            ends[1].at,
        ):
            return Committor(*pair, DENSITY_TOO_LOW)
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


def exit_on_the_line(cells: Cells, ends: tuple[End, End], asked: Triple) -> Exit:
    """Return the exit asked for.

    What is outside of the interval does not matter, and there may be no stationary distribution.

    Parameters
    ----------
    cells : finite volumes
    ends : lower and upper end, classified
    asked : start, low and high: edges of the cells, or ends of the domain that are reached [state]
    """
    start, low, high = asked
    if not low <= start <= high or low == high:
        order = f"x = {start:g} does not lie between {low:g} and {high:g}; give low ≤ from ≤ high"
        return Exit.without(asked, Reason(Outcome.OUTSIDE, order))
    for point, end in ((low, ends[0]), (high, ends[1])):
        why = never_reached(point, ends, "; request the first-passage time to the other end")
        if why is not None:
            return Exit.without(asked, why)
        if not cells.edges[0] <= point <= cells.edges[-1] and point != end.at:
            return Exit.without(asked, DENSITY_TOO_LOW)
    return exit_between(cells, asked, gaps_beyond(cells, asked))


def gaps_beyond(cells: Cells, asked: Triple) -> tuple[float, float]:
    """Return log resistances from the cells to the ends at which the process leaves."""
    _, low, high = asked
    return cells.gaps[0] if low < cells.edges[0] else -np.inf, cells.gaps[1] if high > cells.edges[
        -1
    ] else -np.inf


def exit_between(
    cells: Cells, asked: Triple, gaps: tuple[float, float] = (-np.inf, -np.inf)
) -> Exit:
    """Return the exit through edges of the cells.

    Parameters
    ----------
    cells : finite volumes
    asked : start, low and high, edges of the cells [state]
    gaps : log resistances beyond low and high to where the process leaves
    """
    start, low, high = asked
    if start in (low, high):
        return Exit(*asked, float(start == high), Timing(0.0))
    probability, mean = log_exit(cells, asked, gaps)
    return Exit(*asked, float(np.exp(probability)), Timing.from_log(float(mean)))


def log_exit(
    cells: Cells, asked: Triple, gaps: tuple[float, float] = (-np.inf, -np.inf)
) -> tuple[FloatArray, FloatArray]:
    """Return (...) logs of the probability to leave at the upper end and of the mean time.

    Parameters
    ----------
    cells : finite volumes of (...) models
    asked : start, low and high, edges of the cells [state]
    gaps : log resistances beyond low and high to where the process leaves
    """
    start, low, high = asked
    first, at, last = (cells.edge_at(x) for x in (low, start, high))
    before, after = _resistances(cells.log_resistance[..., first:last], gaps)
    whole = np.logaddexp(before[..., -1], after[..., -1])
    return np.asarray(before[..., at - first] - whole), log_exit_time(cells, at, first, last, gaps)


def log_exit_time(
    cells: Cells,
    at: int,
    first: int = 0,
    last: int | None = None,
    gaps: tuple[float, float] = (-np.inf, -np.inf),
) -> FloatArray:
    """Return (...) log of the mean time to leave the cells at either end, equation (G19).

    Parameters
    ----------
    cells : finite volumes of (...) models
    at : number of the edge at which the process starts
    first, last : numbers of the edges at which it leaves
    gaps : log resistances beyond these to where the process leaves
    """
    rows = slice(first, last)
    r, mass = cells.log_resistance[..., rows], cells.log_mass[..., rows]
    before, after = _resistances(r, gaps)
    at -= first
    left = np.logaddexp(before[..., :-1] + mass, r + cells.log_right[..., rows])[..., :at]
    right = np.logaddexp(after[..., 1:] + mass, r + cells.log_left[..., rows])[..., at:]
    below, above = (np.logaddexp.reduce(side, axis=-1, initial=-np.inf) for side in (left, right))
    whole = np.logaddexp(before[..., -1], after[..., -1])
    return np.asarray(np.logaddexp(after[..., at] + below, before[..., at] + above) - whole)


def _resistances(r: FloatArray, gaps: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    """Return (..., n + 1) logs of the resistances from each edge to either end."""
    low, high = (np.full((*r.shape[:-1], 1), gap) for gap in gaps)
    before = np.logaddexp.accumulate(np.concatenate([low, r], axis=-1), axis=-1)
    after = np.logaddexp.accumulate(np.concatenate([high, r[..., ::-1]], axis=-1), axis=-1)[
        ..., ::-1
    ]
    return before, after
