"""Passages on a circle, either way round: both ends of the circle cut open are the goal."""

from dataclasses import replace

import numpy as np

from worker.generator.circle.unrolled_circle import UnrolledCircle
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.distribution import (
    RISE,
    passage_cells,
    passage_curve,
    quantiles_round,
    rise_on_the_way,
)
from worker.generator.line.passages.splitting import (
    exit_between,
    log_exit_time,
    round_the_circle,
)
from worker.generator.line.passages.transform import Chain
from worker.generator.quantities.outcomes import (
    NO_NUMBERS,
    NO_WAY,
    TOO_STEEP,
    TWO_WAYS,
    Outcome,
    Reason,
)
from worker.generator.quantities.passages import (
    Committor,
    Exit,
    Passage,
    Timing,
    Triple,
    quantiles_of,
)
from worker.generator.quantities.regions import Pair, facing_numbers

RESOLVED = 0.1
"""Change of a variance on doubling the cells, relative to it, up to which its error can be
extrapolated."""


def perturbed_passage(circle: UnrolledCircle, passage: Passage) -> Passage:
    """Return the passage of a model near another, without the curve of its distribution."""
    start, to = passage.start, passage.to
    distance = float(np.mod(start - to, circle.period))
    if not distance:
        return passage
    landscape, at = circle.cut_at(to), to + distance
    mean = _time_round(landscape, at)
    deviation = deviation_round(landscape, at, mean)
    return replace(
        passage,
        mean_time=mean,
        deviation=deviation,
        law=None,
        quantiles=quantiles_round(landscape, at, passage, mean),
    )


def circular_passage(circle: UnrolledCircle, start: float, to: float) -> Passage:
    """Return the first passage from `start` until `to` is reached from either side, equation (G19).

    Parameters
    ----------
    circle : panels of one turn
    start, to : breaks of the panels [state]
    """
    distance = float(np.mod(start - to, circle.period))
    if distance == 0:
        return Passage(start, to, Timing(0.0), Timing(None, TWO_WAYS), Timing(0.0), NO_WAY)
    landscape, at = circle.cut_at(to), to + distance
    mean = _time_round(landscape, at)
    nearest = to if distance < circle.period / 2 else to + circle.period
    cells = passage_cells(landscape, min(nearest, at), max(nearest, at))
    law = passage_curve(cells, lambda level: Chain.out_of(level, level.edge_at(at)), mean, None)
    return Passage(
        start,
        to,
        mean,
        Timing(None, TWO_WAYS),
        deviation_round(landscape, at, mean),
        law,
        quantiles_of(law),
    )


def circular_committor(circle: UnrolledCircle, pair: Pair) -> Committor:
    """Return the committor on one turn from the start on."""
    numbers = facing_numbers(pair)
    ahead = 0.0 if numbers is None else float(np.mod(numbers[1] - numbers[0], circle.period))
    if numbers is None or ahead == 0:
        return Committor(*pair, NO_NUMBERS)
    start = numbers[0]
    return round_the_circle(circle.cut_at(start), pair, start, start + ahead, circle.period)


def circular_exit(circle: UnrolledCircle, asked: Triple) -> Exit:
    """Return the exit from the arc from `low` up to `high`; angles on any turn."""
    start, low, high = asked
    inside, over = (float(np.mod(x - low, circle.period)) for x in (start, high))
    over = over or circle.period
    if inside > over:
        why = f"x = {start:g} does not lie on the arc from {low:g} up to {high:g}"
        return Exit.without(asked, Reason(Outcome.OUTSIDE, why))
    found = exit_between(cut_into_cells(circle.cut_at(low), 4), (low + inside, low, low + over))
    return replace(found, start=start, low=low, high=high)


def _time_round(landscape: Landscape, at: float) -> Timing:
    cells = cut_into_cells(landscape, 4)
    return Timing.from_log(float(log_exit_time(cells, cells.edge_at(at))))


def deviation_round(landscape: Landscape, at: float, mean: Timing) -> Timing:
    """Return the standard deviation of the time until either end is reached, equation (G56).

    Parameters
    ----------
    landscape : one turn
    at : start, an edge of its panels [state]
    mean : mean time
    """
    rise = rise_on_the_way(landscape, landscape.edges[0], landscape.edges[-1])
    cells = cut_into_cells(
        landscape, 2 ** np.ceil(np.log2(np.clip(rise / RISE, 32, 256))).astype(np.int64)
    )
    if mean.log_value is None:
        return mean
    scale = float(np.logaddexp.reduce(cells.log_resistance) + np.logaddexp.reduce(cells.log_mass))
    fine, coarse = (_variance(level, level.edge_at(at)) for level in (cells, cells.halved()))
    if not (fine > 0 and abs(coarse - fine) < RESOLVED * fine):
        return Timing(None, TOO_STEEP)
    # The error goes with the square of the cells' length.
    return Timing.from_log(scale + float(np.log((4 * fine - coarse) / 3)) / 2)


def _variance(cells: Cells, at: int) -> float:
    """Return (G56) with resistances and masses as shares; r and π are even within a cell."""
    r = np.exp(cells.log_resistance - np.logaddexp.reduce(cells.log_resistance))
    mass = np.exp(cells.log_mass - np.logaddexp.reduce(cells.log_mass))
    theta, rest = _before(r), _before(r[::-1])[::-1]
    below, above = _before(mass), _before(mass[::-1])[::-1]
    # What leaves below and above; their sum is one, and each has all its digits.
    left = float(np.sum(mass * (rest[1:] + r / 2)))
    right = float(np.sum(mass * (theta[:-1] + r / 2)))
    flux = np.where(below < above, left - below, above - right)
    begin, end = flux[:-1], flux[1:]
    whole = r * (begin**2 + begin * end + end**2) / 3
    # The flux's square, weighed with the share of the cell's own resistance before, and after.
    late = r * (begin**2 + 2 * begin * end + 3 * end**2) / 12
    early = r * (3 * begin**2 + 2 * begin * end + end**2) / 12
    ahead = np.sum((theta[:-1] * whole + r * late)[:at])
    behind = np.sum((rest[1:] * whole + r * early)[at:])
    return float(2 * (rest[at] * ahead + theta[at] * behind))


def _before(shares: np.ndarray) -> np.ndarray:
    return np.append(0.0, np.cumsum(shares))
