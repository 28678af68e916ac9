"""Mean first-passage times, exact by quadrature."""

import numpy as np

from worker.generator.line.finite_volumes import Cells
from worker.generator.process import FloatArray
from worker.generator.quantities.boundary import End
from worker.generator.quantities.passage_time import Timing


def mean_time(cells: Cells, ends: tuple[End, End], start: float, to: float) -> Timing:
    """Return the mean first-passage time from `start` to `to`, in either direction.

    Parameters
    ----------
    cells : finite volumes
    ends : lower and upper end, classified
    start, to : edges of the cells, or beyond them [state]
    """
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
            f"the mean time is infinite, or x = {to:g} may never be reached: {behind.problem} "
            f"{behind.place}",
        )
    # Points beyond the cells: the density there is below any floating number, or they are the open
    # ends themselves.
    if not all(
        cells.edges[0] <= point <= cells.edges[-1] or point in (ends[0].at, ends[1].at)
        for point in (start, to)
    ):
        return Timing(
            None,
            "the passage leaves the range where the density is above e^-2000 of its peak; its "
            "time exceeds any floating-point "
            "number",
        )
    log_time = log_mean_time(cells, start, to)
    if to == ahead.at:
        log_time = np.logaddexp(
            log_time, np.logaddexp.reduce(cells.log_node_mass) + cells.gaps[ends.index(ahead)]
        )
    return Timing.from_log(float(log_time))


def log_mean_time(cells: Cells, start: float, to: float) -> FloatArray:
    """Return (...) the log of the mean time between two edges of the cells, equation (G14).

    Parameters
    ----------
    cells : finite volumes of (...) models
    start, to : edges of the cells [state]
    """
    first, last = sorted((cells.edge_at(start), cells.edge_at(to)))
    if start < to:
        terms = np.logaddexp(cells.log_below[..., :-1], cells.log_left)
    else:
        terms = np.logaddexp(cells.log_above[..., 1:], cells.log_right)
    return np.asarray(np.logaddexp.reduce((terms + cells.log_resistance)[..., first:last], axis=-1))
