"""Exits from an interval: at which end, and when."""

import numpy as np

from worker.generator.line.finite_volumes import Cells
from worker.generator.process import FloatArray
from worker.generator.quantities.boundary import End
from worker.generator.quantities.passages import Exit, Timing, Triple


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
        return Exit.without(
            asked,
            f"x = {start:g} does not lie between {low:g} and {high:g}; give low ≤ from ≤ high",
        )
    for point, end in ((low, ends[0]), (high, ends[1])):
        if not ends[0].at <= point <= ends[1].at:
            return Exit.without(
                asked, f"x = {point:g} lies outside the domain [{ends[0].at:g}, {ends[1].at:g}]"
            )
        if point == end.at and end.kind in ("natural", "entrance"):
            return Exit.without(
                asked,
                f"the end x = {point:g} of the domain is never reached; request the "
                "first-passage time to the other end",
            )
        if not cells.edges[0] <= point <= cells.edges[-1] and point != end.at:
            return Exit.without(
                asked, "the density at an end of the interval is below e^-2000 of its peak"
            )
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
