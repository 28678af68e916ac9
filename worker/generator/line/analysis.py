"""The analysis on the line, half-lines and intervals included."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worker.generator.line.correlations import correlations_on_the_line
from worker.generator.line.domain.boundaries import (
    classify_end,
    ends_problem,
    noise_problem,
)
from worker.generator.line.domain.domain_scan import Window, choose_window
from worker.generator.line.domain.essential_support import (
    DEPTH,
    depth_for,
    inhabited,
    part_of,
    span_of_light_tails,
    wells_left_out,
)
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.fixed_points import barriers_of, fixed_points_of
from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import build_landscape
from worker.generator.line.passages.distribution import passage_cells, passage_curve
from worker.generator.line.passages.kramers import Extrema, extrema_of, kramers_time
from worker.generator.line.passages.moments import (
    cells_for_deviation,
    mean_time,
    standard_deviation,
)
from worker.generator.line.passages.splitting import committors_on_the_line, exit_on_the_line
from worker.generator.line.passages.transform import Chain
from worker.generator.line.spectrum import spectrum_of
from worker.generator.line.stationary import effective_potential, stationary_distribution
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.boundary import End
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import NO_WAY, NOISE_NOT_POSITIVE, Reason
from worker.generator.quantities.passages import (
    Committor,
    Exit,
    Passage,
    PassageCurve,
    Timing,
    quantiles_of,
)
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.request import AnalysisRequest, pairs_to_time


def analysed_on_the_line(
    model: ScalarProcess, request: AnalysisRequest
) -> tuple[GeneratorReport, Landscape | None]:
    """Return the report and the landscape it was read from.

    Without a stationary distribution there is no landscape, and the report keeps the fixed points,
    barriers and passages that make sense without one.
    """
    window = choose_window(
        model, request.observed_range, [x for numbers in request.on_the_line for x in numbers]
    )
    problem = noise_problem(model, window, request.observed_range)
    if problem is not None:
        return _without_noise(model, window, problem, request), None
    ends = classify_end(model, window, -1), classify_end(model, window, 1)
    fixed = fixed_points_of(model, window)
    landscape = resolve(
        model, window, ends, fixed, request.on_the_line, depth_for(request.eigenpairs, DEPTH)
    )
    problem = ends_problem(ends, fixed, request.observed_range)
    report = _kinetics(model, window, ends, landscape, fixed, problem, request)
    if problem is not None:
        return report, None
    law = stationary_distribution(
        landscape, window, ends, request.density_points, request.observed_range
    )
    grid = law.grid[0]
    span = inhabited(landscape, request.eigenpairs)
    within = part_of(landscape, span)
    spectrum = spectrum_of(
        within, ends, request.eigenpairs, grid=grid if request.eigenfunctions else None
    )
    wells = [point.at[0] for point in report.fixed_points if point.stable]
    left_out = wells_left_out(span, request.eigenpairs, wells)
    spectrum = replace(spectrum, reasons=(*spectrum.reasons, *left_out))
    light = part_of(landscape, span_of_light_tails(span, landscape))
    correlations = correlations_on_the_line(
        light, within, ends, law, spectrum, request.lags, request.frequencies
    )
    report = replace(
        report,
        stationary=law,
        spectrum=spectrum,
        correlations=correlations,
        grid=grid,
        effective_potential=effective_potential(landscape, grid),
    )
    return report, landscape


def resolve(
    model: ScalarProcess,
    window: Window,
    ends: tuple[End, End],
    fixed: tuple[FixedPoint, ...],
    asked: Sequence[tuple[float, ...]],
    depth: float,
) -> Landscape:
    """Return the landscape, with breaks at fixed points and points asked for.

    Parameters
    ----------
    model : process in one coordinate
    window : centre, scale and scan of the domain
    ends : lower and upper end, classified
    fixed : fixed points of the drift
    asked : tuples of states that are asked about [state]
    depth : fall of the log-density, beyond the outermost break, at which the panels end
    """
    points = [point for numbers in asked for point in numbers]
    return build_landscape(model, window, ends, (point.at[0] for point in fixed), points, depth)


def _kinetics(
    model: ScalarProcess,
    window: Window,
    ends: tuple[End, End],
    landscape: Landscape,
    fixed: tuple[FixedPoint, ...],
    problem: Reason | None,
    request: AnalysisRequest,
) -> GeneratorReport:
    """Return the part of the report that needs no stationary distribution."""
    extrema, barriers = extrema_of(model, landscape, fixed), barriers_of(model, landscape, fixed)
    cells = cut_into_cells(landscape, 4)
    wells = {point.at[0] for point in fixed if point.stable}
    passages = _passages(
        landscape, cells, ends, extrema, pairs_to_time(request, fixed, window.scale), wells
    )
    grid = _plain_grid(model, window, request)
    return GeneratorReport(
        ergodic=problem is None,
        reason=problem,
        domain=model.bounds,
        boundaries="reflecting" if any(end.wall for end in ends) else "natural",
        ends=ends,
        fixed_points=fixed,
        barriers=barriers,
        passages=passages,
        committors=committors_on_the_line(landscape, ends, request.committors, fixed),
        exits=tuple(exit_on_the_line(cells, ends, asked) for asked in request.exits),
        grid=grid,
        effective_potential=effective_potential(landscape, grid),
    )


def _passages(
    landscape: Landscape,
    cells: Cells,
    ends: tuple[End, End],
    extrema: Extrema,
    pairs: Sequence[Range],
    wells: set[float],
) -> tuple[Passage, ...]:
    found = []
    for start, to in pairs:
        mean = mean_time(cells, ends, start, to)
        deviation = standard_deviation(
            cells_for_deviation(landscape, start, to), ends, start, to, mean
        )
        law = _law_of(landscape, start, to, mean, deviation)
        found.append(
            Passage(
                start,
                to,
                mean,
                kramers_time(extrema, start, to),
                deviation,
                law,
                quantiles_of(law),
                mean if {start, to} <= wells else None,
            )
        )
    return tuple(found)


def _law_of(
    landscape: Landscape, start: float, to: float, mean: Timing, deviation: Timing
) -> PassageCurve | Reason:
    if start == to:
        return mean.reason or NO_WAY
    cells = passage_cells(landscape, min(start, to), max(start, to))
    return passage_curve(cells, lambda level: Chain.along(level, start, to), mean, deviation)


def _without_noise(
    model: ScalarProcess, window: Window, problem: Reason, request: AnalysisRequest
) -> GeneratorReport:
    return GeneratorReport(
        ergodic=False,
        reason=problem,
        domain=model.bounds,
        boundaries="natural",
        fixed_points=fixed_points_of(model, window),
        committors=tuple(Committor(*pair, NOISE_NOT_POSITIVE) for pair in request.committors),
        exits=tuple(Exit.without(asked, NOISE_NOT_POSITIVE) for asked in request.exits),
        grid=_plain_grid(model, window, request) if np.any(window.diffusion > 0) else None,
    )


def _plain_grid(model: ScalarProcess, window: Window, request: AnalysisRequest) -> FloatArray:
    low = max(model.bounds[0], window.centre - 4 * window.scale)
    high = min(model.bounds[1], window.centre + 4 * window.scale)
    return np.linspace(low, high, request.density_points)
