"""Mean first-passage times, exact by quadrature: how long from one state until another is first reached."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from worker.generator.line.domain.boundaries import End
from worker.generator.line.finite_volumes import Cells
from worker.generator.line.passages.distribution import NoCurve, PassageCurve
from worker.generator.process import FloatArray
from worker.generator.quantities.kinds import FINITE_TIME, POSITIVE, TIME
from worker.generator.quantities.passage_time import Timing


@dataclass(frozen=True, slots=True)
class Passage:
    """First passage from one state to another [state].

    mean_time  exact mean first-passage time of the model, equation (G14) [time]
    kramers    Eyring–Kramers asymptotic formula for the same passage, equation (G15) [time]
    deviation  standard deviation of the passage time, equation (G28) [time]; None where it is not looked at
    law        of the passage time, equation (G29); or why it is not given
    quantiles  times by which it is over with each of `PROBABILITIES` [time]; empty where there is no law
    """

    start: float
    to: float
    mean_time: Annotated[Timing, TIME]
    kramers: Annotated[Timing, FINITE_TIME]
    deviation: Annotated[Timing | None, TIME] = None
    law: PassageCurve | NoCurve | None = None
    quantiles: Annotated[tuple[float, ...], POSITIVE] = ()


def mean_time(cells: Cells, ends: tuple[End, End], start: float, to: float) -> Timing:
    """Mean first-passage time from `start` to `to`, in either direction; both are edges of the cells, or beyond them."""
    for point in (start, to):
        if not ends[0].at <= point <= ends[1].at:
            return Timing(
                None, f"x = {point:g} lies outside the domain [{ends[0].at:g}, {ends[1].at:g}]"
            )
    if start == to:
        return Timing(0.0)
    behind, ahead = ends if start < to else ends[::-1]
    if to == ahead.at and ahead.kind in ("natural", "entrance"):
        return Timing(None, f"the end x = {to:g} of the domain is never reached")
    if behind.problem is not None:
        return Timing(
            None,
            f"the mean time is infinite, or x = {to:g} may never be reached: {behind.problem} {behind.place}",
        )
    # Points beyond the cells: the density there is below any floating number, or they are the open ends themselves.
    if not all(
        cells.edges[0] <= point <= cells.edges[-1] or point in (ends[0].at, ends[1].at)
        for point in (start, to)
    ):
        return Timing(
            None,
            "the passage leaves the range where the density is above e^-2000 of its peak; its time exceeds any floating-point "
            "number",
        )
    log_time = log_mean_time(cells, start, to)
    if to == ahead.at:
        log_time = np.logaddexp(
            log_time, np.logaddexp.reduce(cells.log_node_mass) + cells.gaps[ends.index(ahead)]
        )
    return Timing.from_log(float(log_time))


def log_mean_time(cells: Cells, start: float, to: float) -> FloatArray:
    """Log of the mean time between two edges of the cells, equation (G14), one for each model (...)."""
    first, last = sorted((cells.edge_at(start), cells.edge_at(to)))
    if start < to:
        terms = np.logaddexp(cells.log_below[..., :-1], cells.log_left)
    else:
        terms = np.logaddexp(cells.log_above[..., 1:], cells.log_right)
    return np.asarray(np.logaddexp.reduce((terms + cells.log_resistance)[..., first:last], axis=-1))
