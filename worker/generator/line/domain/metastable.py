"""The process before it gets to where an unseen part of the drift pushes it outward."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worker.generator.line.analysis import analysed_on_the_line
from worker.generator.line.landscape import Landscape
from worker.generator.process import ScalarProcess
from worker.generator.quantities.boundary import End
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.request import AnalysisRequest

BEFORE_ESCAPE = (
    "the drift pushes outward only outside the range of the data: distribution, rates and times "
    "are those of the process "
    "inside, with a reflecting boundary where the drift turns outward"
)
BETWEEN_DATA = (
    "distribution, rates and times are those of the process between reflecting boundaries at the "
    "ends of the observed range, or where the drift turns outward inside it, where the model's "
    "density is low"
)
LOW = 2.0
"""Fall of the log-density, from its peak to an end of the data, from which the drift holds the
process inside them: a random walk has none, a well that data of 20 000 samples left has four."""
SMALLEST_BARRIER = 4.0
"""Height in kT of the barrier before the unseen part below which nothing in the model holds the
process."""
DEEP = 30.0
"""Fall of the log-density beyond which it does not matter where the ends are."""


def held_before_escape(
    model: ScalarProcess, request: AnalysisRequest, report: GeneratorReport
) -> tuple[GeneratorReport, Landscape | None] | None:
    """Analyse a model that the drift holds among the data and pushes outward further out.

    Reflecting ends stand at the outermost unstable points, where the data never went there and a
    barrier keeps the process from it; else at the ends of the data, or at these points inside them,
    where the density is low there. None where nothing holds the process. The report stays not
    ergodic, with its reason, and is labelled as an approximation.

    Parameters
    ----------
    model : process in one coordinate
    request : what is asked for
    report : the report without these ends
    """
    bounds = turning_points(report.ends, report.fixed_points, request.observed_range)
    found = None if bounds is None else _between(model, bounds, SMALLEST_BARRIER, request)
    if bounds is None or found is None:
        at_data = _ends_of_data(report.ends, report.fixed_points, request.observed_range)
        found = None if at_data is None else _between(model, at_data, LOW, request)
        return None if found is None else (_labelled(found[0], report, BETWEEN_DATA), found[1])
    inner, landscape = found
    x, psi, log_a = landscape.at_nodes
    fall = np.max(psi - log_a) - (psi - log_a)
    walls = artificial_ends(bounds, model)
    # Walls as near as makes no difference: models drawn around this one may turn outward before its
    # own turning points.
    nearer = _nearer(
        bounds, (float(x[fall < DEEP].min()), float(x[fall < DEEP].max())), walls, request
    )
    if nearer != bounds:
        inner, moved = analysed_on_the_line(replace(model, bounds=nearer), request)
        landscape = moved or landscape
    return _labelled(inner, report, BEFORE_ESCAPE), landscape


def _between(
    model: ScalarProcess, bounds: Range, least: float, request: AnalysisRequest
) -> tuple[GeneratorReport, Landscape] | None:
    """Analyse the model between these bounds; None where its density is not `least` lower there."""
    inner, landscape = analysed_on_the_line(replace(model, bounds=bounds), request)
    if landscape is None or not has_barrier(landscape, artificial_ends(bounds, model), least):
        return None
    return inner, landscape


def _labelled(inner: GeneratorReport, report: GeneratorReport, why: str) -> GeneratorReport:
    return replace(
        inner,
        ergodic=False,
        reason=report.reason,
        boundaries="reflecting",
        ends=report.ends,
        fixed_points=report.fixed_points,
        barriers=report.barriers,
        approximation=why,
    )


def _nearer(bounds: Range, deep: Range, walls: list[int], request: AnalysisRequest) -> Range:
    """Move the ends in to where the density is low, not beyond the data and what was asked for."""
    asked = [
        point
        for numbers in request.on_the_line
        for point in numbers
        if bounds[0] < point < bounds[1]
    ]
    needed = [*(request.observed_range or ()), *asked]
    inner = min(deep[0], *needed), max(deep[1], *needed)
    low, high = (inner[side] if side in walls else bounds[side] for side in (0, 1))
    return max(low, bounds[0]), min(high, bounds[1])


def artificial_ends(bounds: Range, model: ScalarProcess) -> list[int]:
    """Return the sides, 0 or 1, on which the bounds are not the model's own."""
    return [side for side in (0, 1) if bounds[side] != model.bounds[side]]


def has_barrier(
    landscape: Landscape, walls: Sequence[int], least: float = SMALLEST_BARRIER
) -> bool:
    """Return whether the log-density falls by `least` at each of the artificial ends."""
    _, psi, log_a = landscape.at_nodes
    fall = np.max(psi - log_a) - (psi - log_a)
    return all(fall.ravel()[-side] >= least for side in walls)


def _ends_of_data(
    ends: Sequence[End], fixed: Sequence[FixedPoint], observed: Range | None
) -> Range | None:
    """Return the model's ends; in place of those that it runs away to, the ends of the data.

    Inside the data an outermost unstable point is the end: a few samples beyond it make no well.
    With a wall behind it, its slow escape back was the slowest rate, 0.4 for 1.4.
    """
    if observed is None or len(ends) != 2:
        return None
    unstable = [(f.at[0], not f.stable) for f in (fixed[0], fixed[-1])] if fixed else []
    low, high = (
        end.at if end.problem is None else data for end, data in zip(ends, observed, strict=True)
    )
    if unstable and ends[0].problem is not None and unstable[0][1]:
        low = max(low, unstable[0][0])
    if unstable and ends[1].problem is not None and unstable[1][1]:
        high = min(high, unstable[1][0])
    return (low, high) if low < (observed[0] + observed[1]) / 2 < high else None


def turning_points(
    ends: Sequence[End], fixed: Sequence[FixedPoint], observed: Range | None
) -> Range | None:
    """Return the model's ends; turning points of the drift replace those it runs away to.

    None where the data went there, or the drift does not turn outward beyond the data.

    Parameters
    ----------
    ends : lower and upper end, classified
    fixed : fixed points of the drift
    observed : where the data were [state]
    """
    if observed is None or len(ends) != 2 or not fixed:
        return None
    bounds = [ends[0].at, ends[1].at]
    for side, index in ((0, 0), (1, -1)):
        if ends[side].problem is None:
            continue
        outermost = fixed[index]
        seen = observed[0] <= outermost.at[0] <= observed[1]
        if outermost.stable or seen:
            return None
        bounds[side] = outermost.at[0]
    if not bounds[0] < (observed[0] + observed[1]) / 2 < bounds[1]:
        return None
    return bounds[0], bounds[1]
