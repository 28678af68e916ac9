"""Passages on a circle, which may go either way round: the circle is cut open at the goal, and both ends are it."""

from dataclasses import replace

import numpy as np

from worker.generator.boundaries import classify_end
from worker.generator.cells import cut_into_cells
from worker.generator.exits import log_exit_time
from worker.generator.first_passage_chain import Chain
from worker.generator.landscape import Landscape
from worker.generator.panels import build_landscape
from worker.generator.passage_curve import passage_cells, passage_curve
from worker.generator.passages import Passage
from worker.generator.process import ScalarProcess
from worker.generator.timing import Timing
from worker.generator.window import choose_window

TWO_WAYS = "on a circle a passage may go either way round, over either barrier; only the exact time is given"


def circular_time(model: ScalarProcess, start: float, to: float) -> Timing:
    """Mean time from `start` until `to` is reached from either side, equation (G19)."""
    assert model.period is not None
    distance = float(np.mod(start - to, model.period))
    return _time_round(cut_open(model, to, (to + distance,)), to + distance) if distance else Timing(0.0)


def circular_passage(model: ScalarProcess, start: float, to: float) -> Passage:
    """The same passage with the law of its time."""
    assert model.period is not None
    distance = float(np.mod(start - to, model.period))
    if distance == 0:
        return Passage(start, to, Timing(0.0), Timing(None, TWO_WAYS))
    landscape, at = cut_open(model, to, (to + distance,)), to + distance
    mean = _time_round(landscape, at)
    nearest = to if distance < model.period / 2 else to + model.period
    cells = passage_cells(landscape, min(nearest, at), max(nearest, at))
    law = passage_curve(cells, lambda level: Chain.out_of(level, level.edge_at(at)), mean, None)
    return Passage(start, to, mean, Timing(None, TWO_WAYS), law=law)


def cut_open(model: ScalarProcess, at: float, points: tuple[float, ...]) -> Landscape:
    """The turn from `at` on, with panels that meet at the points."""
    assert model.period is not None
    line = replace(model, bounds=(at, at + model.period), period=None)
    window = choose_window(line, None)
    ends = classify_end(line, window, -1), classify_end(line, window, 1)
    return build_landscape(line, window, ends, (*line.bounds, *points), (), np.inf)


def _time_round(landscape: Landscape, at: float) -> Timing:
    cells = cut_into_cells(landscape, 4)
    return Timing.from_log(log_exit_time(cells, cells.edge_at(at)))
