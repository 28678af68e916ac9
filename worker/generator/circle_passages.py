"""Passages on a circle, which may go either way round: the circle is cut open at the goal, and both ends are it."""

from dataclasses import replace

import numpy as np

from worker.generator.boundaries import classify_end
from worker.generator.cells import cut_into_cells
from worker.generator.circle_passage_law import deviation_round
from worker.generator.committor import Committor
from worker.generator.exits import Exit, Triple, exit_between, log_exit_time
from worker.generator.first_passage_chain import Chain
from worker.generator.landscape import Landscape
from worker.generator.line_committors import NUMBERS, round_the_circle
from worker.generator.panels import build_landscape
from worker.generator.passage_curve import passage_cells, passage_curve
from worker.generator.passages import Passage
from worker.generator.places import Pair, facing_numbers
from worker.generator.process import ScalarProcess
from worker.generator.timing import Timing
from worker.generator.window import choose_window

TWO_WAYS = "on a circle a passage may go either way round, over either barrier; only the exact time is given"


def circular_times(model: ScalarProcess, start: float, to: float) -> tuple[Timing, Timing]:
    """Mean time from `start` until `to` is reached from either side, equation (G19), and its standard deviation."""
    assert model.period is not None
    distance = float(np.mod(start - to, model.period))
    if not distance:
        return Timing(0.0), Timing(0.0)
    landscape, at = cut_open(model, to, (to + distance,)), to + distance
    mean = _time_round(landscape, at)
    return mean, deviation_round(landscape, at, mean)


def circular_passage(model: ScalarProcess, start: float, to: float) -> Passage:
    """The same passage with the law of its time."""
    assert model.period is not None
    distance = float(np.mod(start - to, model.period))
    if distance == 0:
        return Passage(start, to, Timing(0.0), Timing(None, TWO_WAYS), Timing(0.0))
    landscape, at = cut_open(model, to, (to + distance,)), to + distance
    mean = _time_round(landscape, at)
    nearest = to if distance < model.period / 2 else to + model.period
    cells = passage_cells(landscape, min(nearest, at), max(nearest, at))
    law = passage_curve(cells, lambda level: Chain.out_of(level, level.edge_at(at)), mean, None)
    return Passage(start, to, mean, Timing(None, TWO_WAYS), deviation_round(landscape, at, mean), law)


def circular_committor(model: ScalarProcess, pair: Pair) -> Committor:
    """The committor on one turn from the start on."""
    assert model.period is not None
    numbers = facing_numbers(pair)
    ahead = 0.0 if numbers is None else float(np.mod(numbers[1] - numbers[0], model.period))
    if numbers is None or ahead == 0:
        return Committor(*pair, None, NUMBERS)
    start = numbers[0]
    return round_the_circle(cut_open(model, start, (start + ahead,)), pair, start, start + ahead, model.period)


def circular_exit(model: ScalarProcess, asked: Triple) -> Exit:
    """How the arc from `low` up to `high` is left; angles on whichever turn."""
    assert model.period is not None
    start, low, high = asked
    inside, over = (float(np.mod(x - low, model.period)) for x in (start, high))
    over = over or model.period
    if inside > over:
        return Exit.without(asked, f"x = {start:g} does not lie on the arc from {low:g} up to {high:g}")
    landscape = cut_open(model, low, tuple(low + x for x in (inside, over) if 0 < x < model.period))
    found = exit_between(cut_into_cells(landscape, 4), (low + inside, low, low + over))
    return replace(found, start=start, low=low, high=high)


def cut_open(model: ScalarProcess, at: float, points: tuple[float, ...]) -> Landscape:
    """The turn from `at` on, with panels that meet at the points."""
    assert model.period is not None
    line = replace(model, bounds=(at, at + model.period), period=None)
    window = choose_window(line, None)
    ends = classify_end(line, window, -1), classify_end(line, window, 1)
    return build_landscape(line, window, ends, (*line.bounds, *points), (), np.inf)


def _time_round(landscape: Landscape, at: float) -> Timing:
    cells = cut_into_cells(landscape, 4)
    return Timing.from_log(float(log_exit_time(cells, cells.edge_at(at))))
