"""A sample that is analysed like the reference, on panels of its own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worker.generator.errors import GeneratorError
from worker.generator.line.analysis import resolve
from worker.generator.line.domain.boundaries import End, classify_end
from worker.generator.line.domain.domain_scan import choose_window
from worker.generator.line.domain.ergodicity import ends_verdict, noise_verdict
from worker.generator.line.domain.essential_support import (
    depth_for,
    inhabited,
    part_of,
    span_of_light_tails,
)
from worker.generator.line.domain.metastable import holds, turning_points, walls_of
from worker.generator.line.domain.positive_diffusion import narrowed_to_positive
from worker.generator.line.finite_volumes import cut_into_cells
from worker.generator.line.integrated_autocorrelation import integrated_time
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.committors import committor_on_the_line
from worker.generator.line.passages.exits import exit_on_the_line
from worker.generator.line.passages.kramers import extrema_of, kramers_time
from worker.generator.line.passages.mean_times import mean_time
from worker.generator.line.passages.quantiles import log_quantiles_alone
from worker.generator.line.passages.variance import (
    cells_for_deviation,
    standard_deviation,
    variance_diverges,
)
from worker.generator.line.spectrum import spectrum_of
from worker.generator.line.stationary import log_total_mass, moments_of
from worker.generator.process import DiffusionProcess, ScalarProcess, scalar_view
from worker.generator.quantities.correlations import Memory
from worker.generator.quantities.passage_time import Timing
from worker.generator.quantities.regions import facing_numbers
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.uncertainty.sampled_circle import sample_on_the_circle
from worker.generator.uncertainty.sampled_correlations import curves_alone
from worker.generator.uncertainty.sampled_model import (
    DEPTH,
    Sample,
    committors_of,
    exit_numbers,
    exits_of,
    grid_of_functions,
    log_time_of,
    looked_at,
    rates_of,
    values_of,
)
from worker.generator.uncertainty.topography import topography_on_the_line

LEVELS = 2
"""Levels of extrapolation for a sample: 1e-4 of a rate, a small part of any interval worth giving."""


def analysed_alone(
    process: DiffusionProcess,
    reference: GeneratorReport,
    pairs: tuple[Range, ...],
    observed: Range | None,
    *,
    in_full: bool = False,
) -> Sample:
    """The sample analysed like the reference, on panels of its own; `in_full` with quantiles of passage times, curves and
    eigenfunctions, which only the first samples are asked for."""
    try:
        model = scalar_view(process)
        if model.period is not None:
            return sample_on_the_circle(model, reference, pairs)
        sample = _on_the_line(model, reference, pairs, observed, in_full=in_full)
        if reference.ergodic or reference.boundaries != "reflecting":
            return sample
        # The reference was closed on request; so is the sample, but its share is that of the open model.
        closed = replace(model, bounds=reference.domain)
        return replace(
            _on_the_line(closed, reference, pairs, observed, in_full=in_full),
            ergodic=sample.ergodic,
        )
    except GeneratorError:
        # A draw far out in the coefficients' distribution may be no process at all; it has no stationary law either.
        return Sample(False)


def _on_the_line(
    model: ScalarProcess,
    reference: GeneratorReport,
    pairs: tuple[Range, ...],
    observed: Range | None,
    *,
    in_full: bool,
    walls: Sequence[int] = (),
) -> Sample:
    """`walls` are the sides, 0 or 1, on which the model is held; without a barrier before them nothing is said."""
    if observed is not None:
        model = narrowed_to_positive(model, observed).process
    window = choose_window(model, looked_at(reference, observed))
    if not noise_verdict(model, window, observed).usable:
        return Sample(False)
    ends = classify_end(model, window, -1), classify_end(model, window, 1)
    rates = rates_of(reference)
    asked = exits_of(reference)
    between = committors_of(reference)
    points = [numbers for numbers in map(facing_numbers, between) if numbers is not None]
    landscape, fixed = resolve(
        model, window, ends, (*pairs, *asked, *points), depth_for(len(rates), DEPTH)
    )
    if not holds(landscape, walls):
        return Sample(False)
    lawful = ends_verdict(ends, fixed, observed).ergodic
    if not lawful:
        # Like the reference, a model that runs away only where the data never were is held before it gets there.
        bounds = turning_points(ends, fixed, observed)
        if bounds is not None:
            inner = replace(model, bounds=bounds)
            held = _on_the_line(
                inner, reference, pairs, observed, in_full=in_full, walls=walls_of(bounds, model)
            )
            if held.settled:
                return replace(held, ergodic=False)
    cells, extrema = cut_into_cells(landscape, 2), extrema_of(model, landscape, fixed)
    means = [mean_time(cells, ends, start, to) for start, to in pairs]
    times = tuple(log_time_of(mean) for mean in means)
    deviations = tuple(
        _log_deviation(landscape, ends, *pair, mean)
        for pair, mean in zip(pairs, means, strict=True)
    )
    found = (
        tuple(
            log_quantiles_alone(landscape, p, time)
            for p, time in zip(reference.passages, times, strict=True)
        )
        if in_full
        else ()
    )
    committors = tuple(values_of(committor_on_the_line(landscape, ends, pair)) for pair in between)
    kramers = tuple(kramers_time(extrema, start, to).log_value for start, to in pairs)
    exits = tuple(exit_numbers(exit_on_the_line(cells, ends, triple)) for triple in asked)
    total = log_total_mass(landscape) if lawful else None
    topography = topography_on_the_line(model, landscape, fixed, reference, total)
    sample = Sample(
        False,
        log_times=times,
        log_kramers=kramers,
        exits=exits,
        log_deviations=deviations,
        committors=committors,
        topography=topography,
        log_quantiles=found,
    )
    if total is None:
        return sample
    mean, variance, third, fourth = moments_of(landscape, window, ends, total)
    time = autocorrelation = power_spectrum = functions = None
    span = inhabited(landscape, len(rates))
    if mean is not None and variance is not None:
        light = part_of(landscape, span_of_light_tails(span, landscape))
        time = integrated_time(light, ends, total, mean, variance).log_value
        if in_full and isinstance(reference.memory, Memory):
            autocorrelation, power_spectrum = curves_alone(light, reference.memory, variance)
    if len(rates):
        # A sample's rates may be somewhat faster than the reference's; the cells are made fine enough for that.
        within = part_of(landscape, span)
        grid = grid_of_functions(reference) if in_full else None
        spectrum = spectrum_of(
            within, ends, len(rates), levels=LEVELS, fastest=1.5 * rates[-1], grid=grid
        )
        rates, functions = spectrum.eigenvalues.real, spectrum.eigenfunctions
    return replace(
        sample,
        ergodic=True,
        settled=True,
        rates=tuple(rates),
        mean=mean,
        variance=variance,
        log_integrated_time=time,
        autocorrelation=autocorrelation,
        power_spectrum=power_spectrum,
        eigenfunctions=functions,
        skewness=None if third is None or variance is None else third / variance**1.5,
        kurtosis=None if fourth is None or variance is None else fourth / variance**2,
    )


def _log_deviation(
    landscape: Landscape, ends: tuple[End, End], start: float, to: float, mean: Timing
) -> float | None:
    behind = ends[0] if start < to else ends[1]
    if mean.log_value is None or variance_diverges(behind):
        return np.inf
    if start == to:
        return -np.inf
    return standard_deviation(
        cells_for_deviation(landscape, start, to), ends, start, to, mean
    ).log_value
