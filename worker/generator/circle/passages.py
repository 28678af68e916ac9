"""Passages on a circle, either way round: both ends of the circle cut open are the goal."""

from dataclasses import replace

import numpy as np

from worker.generator.circle.passage_variance import deviation_round
from worker.generator.circle.unrolled_circle import UnrolledCircle
from worker.generator.line.finite_volumes import cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.committors import NUMBERS, round_the_circle
from worker.generator.line.passages.distribution import passage_cells, passage_curve
from worker.generator.line.passages.exits import exit_between, log_exit_time
from worker.generator.line.passages.quantiles import quantiles_round
from worker.generator.line.passages.transform import Chain
from worker.generator.quantities.committor import Committor
from worker.generator.quantities.exit import Exit, Triple
from worker.generator.quantities.passage import Passage, quantiles_of
from worker.generator.quantities.passage_time import Timing
from worker.generator.quantities.regions import Pair, facing_numbers

TWO_WAYS = (
    "an angle can pass in either direction, over either barrier; only the exact time is given"
)


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
        return Passage(start, to, Timing(0.0), Timing(None, TWO_WAYS), Timing(0.0))
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
        return Committor(*pair, None, NUMBERS)
    start = numbers[0]
    return round_the_circle(circle.cut_at(start), pair, start, start + ahead, circle.period)


def circular_exit(circle: UnrolledCircle, asked: Triple) -> Exit:
    """Return the exit from the arc from `low` up to `high`; angles on any turn."""
    start, low, high = asked
    inside, over = (float(np.mod(x - low, circle.period)) for x in (start, high))
    over = over or circle.period
    if inside > over:
        return Exit.without(
            asked, f"x = {start:g} does not lie on the arc from {low:g} up to {high:g}"
        )
    found = exit_between(cut_into_cells(circle.cut_at(low), 4), (low + inside, low, low + over))
    return replace(found, start=start, low=low, high=high)


def _time_round(landscape: Landscape, at: float) -> Timing:
    cells = cut_into_cells(landscape, 4)
    return Timing.from_log(float(log_exit_time(cells, cells.edge_at(at))))
