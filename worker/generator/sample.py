"""One model drawn around a reference: the numbers that its intervals are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.boundaries import End, classify_end
from worker.generator.cells import cut_into_cells
from worker.generator.circle import circular_fixed_points, circular_spectrum, points_of
from worker.generator.circle_correlations import CircleCorrelations, correlations_near
from worker.generator.circle_passages import circular_committor, circular_exit, circular_log_quantiles, circular_times
from worker.generator.committor import Committor
from worker.generator.correlations import Memory
from worker.generator.ergodicity import ends_verdict, noise_verdict
from worker.generator.errors import GeneratorError
from worker.generator.exits import Exit, Triple, exit_on_the_line
from worker.generator.fourier import fourier_rates
from worker.generator.held import holds, turning_points, walls_of
from worker.generator.inhabited import depth_for, inhabited, part_of, span_of_light_tails
from worker.generator.integrated_time import integrated_time
from worker.generator.interval import narrowed_to_positive
from worker.generator.kramers import extrema_of, kramers_time
from worker.generator.landscape import Landscape
from worker.generator.line import resolve
from worker.generator.line_committors import committor_on_the_line
from worker.generator.passage_law import cells_for_deviation, standard_deviation, variance_diverges
from worker.generator.passage_quantiles import log_quantiles_alone
from worker.generator.passages import mean_time
from worker.generator.places import Pair, facing_numbers
from worker.generator.plane.solution import matched
from worker.generator.process import DiffusionProcess, FloatArray, ScalarProcess, scalar_view
from worker.generator.report import GeneratorReport, Range
from worker.generator.spectrum import spectrum_of
from worker.generator.stationary import log_total_mass, moments_of
from worker.generator.timing import Timing
from worker.generator.topography import Topography, topography_on_the_circle, topography_on_the_line
from worker.generator.turn import opened
from worker.generator.window import choose_window

LEVELS = 2
"""Levels of extrapolation for a sample: 1e-4 of a rate, a small part of any interval worth giving."""
DEPTH = 60.0
"""Fall of the log-density at which the panels of a sample end."""
FEW_MODES = 32
"""Of a circle, where no memory says how many are enough."""
FAR = 0.3
"""Distance from the reference's rates, relative to them, at which a sample's are looked at more closely."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one model says.

    ergodic      it has a stationary law
    settled      there is a law to take numbers from, if only between the reflecting ends of the reference
    rates        as many as the reference has, as far as the sample has them [1/time]
    mean, variance, skewness, kurtosis   None where they do not exist [state], [state²]
    log_times    logarithm of each passage's mean time, inf where it is infinite; empty where nothing can be said
    log_kramers  likewise by the asymptotic formula; None where it does not apply
    exits        of each exit that the reference has, the probability to leave at the upper end and the log of the mean time
    log_integrated_time   of the autocorrelation; None where there is none
    log_deviations   of each passage's time, None where that is not resolved; empty where nothing can be said
    committors   of each that the reference has, on its grid; None where there is none
    topography   of the landscape; None where there is none
    current      of probability, on a circle [1/time]
    frequencies  imaginary parts of the rates; empty on the line [1/time]
    log_quantiles   (k,) of each passage's time, inf where the mean is infinite; None where they are not looked at
    autocorrelation, power_spectrum  (n,) at the reference's lags, and (k,) at its frequencies; None where they are not looked at
    """

    ergodic: bool
    settled: bool = False
    rates: tuple[float, ...] = ()
    mean: float | None = None
    variance: float | None = None
    log_times: tuple[float, ...] = ()
    log_kramers: tuple[float | None, ...] = ()
    exits: tuple[tuple[float | None, float], ...] = ()
    log_integrated_time: float | None = None
    skewness: float | None = None
    kurtosis: float | None = None
    log_deviations: tuple[float | None, ...] = ()
    committors: tuple[FloatArray | None, ...] = ()
    topography: Topography | None = None
    current: float | None = None
    log_quantiles: tuple[FloatArray | None, ...] = ()
    frequencies: tuple[float, ...] = ()
    autocorrelation: FloatArray | None = None
    power_spectrum: FloatArray | None = None


def analysed_alone(
    process: DiffusionProcess,
    reference: GeneratorReport,
    pairs: tuple[Range, ...],
    observed: Range | None,
    *,
    quantiles: bool = False,
) -> Sample:
    """The sample analysed like the reference, on panels of its own; `quantiles` of passage times on the line if wanted."""
    try:
        model = scalar_view(process)
        if model.period is not None:
            return _on_the_circle(model, reference, pairs)
        sample = _on_the_line(model, reference, pairs, observed, quantiles=quantiles)
        if reference.ergodic or reference.boundaries != "reflecting":
            return sample
        # The reference was closed on request; so is the sample, but its share is that of the open model.
        closed = replace(model, bounds=reference.domain)
        return replace(_on_the_line(closed, reference, pairs, observed, quantiles=quantiles), ergodic=sample.ergodic)
    except GeneratorError:
        # A draw far out in the coefficients' distribution may be no process at all; it has no stationary law either.
        return Sample(False)


def looked_at(reference: GeneratorReport, observed: Range | None) -> Range | None:
    """The range around which a sample is analysed: where the reference lives [state]."""
    if reference.stationary is None:
        return observed
    grid = reference.stationary.grid[0]
    return float(grid[0]), float(grid[-1])


def rates_of(reference: GeneratorReport) -> FloatArray:
    """(k,) the reference's rates [1/time]."""
    return np.zeros(0) if reference.spectrum is None else reference.spectrum.eigenvalues.real


def _on_the_line(
    model: ScalarProcess,
    reference: GeneratorReport,
    pairs: tuple[Range, ...],
    observed: Range | None,
    *,
    quantiles: bool,
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
    landscape, fixed = resolve(model, window, ends, (*pairs, *asked, *points), depth_for(len(rates), DEPTH))
    if not holds(landscape, walls):
        return Sample(False)
    lawful = ends_verdict(ends, fixed, observed).ergodic
    if not lawful:
        # Like the reference, a model that runs away only where the data never were is held before it gets there.
        bounds = turning_points(ends, fixed, observed)
        if bounds is not None:
            inner = replace(model, bounds=bounds)
            held = _on_the_line(inner, reference, pairs, observed, quantiles=quantiles, walls=walls_of(bounds, model))
            if held.settled:
                return replace(held, ergodic=False)
    cells, extrema = cut_into_cells(landscape, 2), extrema_of(model, landscape, fixed)
    means = [mean_time(cells, ends, start, to) for start, to in pairs]
    times = tuple(_log_time(mean) for mean in means)
    deviations = tuple(_log_deviation(landscape, ends, *pair, mean) for pair, mean in zip(pairs, means, strict=True))
    found = (
        tuple(log_quantiles_alone(landscape, p, time) for p, time in zip(reference.passages, times, strict=True))
        if quantiles
        else ()
    )
    committors = tuple(_values(committor_on_the_line(landscape, ends, pair)) for pair in between)
    kramers = tuple(kramers_time(extrema, start, to).log_value for start, to in pairs)
    exits = tuple(_known(exit_on_the_line(cells, ends, triple)) for triple in asked)
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
    time = None
    span = inhabited(landscape, len(rates))
    if mean is not None and variance is not None:
        light = part_of(landscape, span_of_light_tails(span, landscape))
        time = integrated_time(light, ends, total, mean, variance).log_value
    if len(rates):
        # A sample's rates may be somewhat faster than the reference's; the cells are made fine enough for that.
        within = part_of(landscape, span)
        rates = spectrum_of(within, ends, len(rates), levels=LEVELS, fastest=1.5 * rates[-1]).eigenvalues.real
    return replace(
        sample,
        ergodic=True,
        settled=True,
        rates=tuple(rates),
        mean=mean,
        variance=variance,
        log_integrated_time=time,
        skewness=None if third is None or variance is None else third / variance**1.5,
        kurtosis=None if fourth is None or variance is None else fourth / variance**2,
    )


def _on_the_circle(model: ScalarProcess, reference: GeneratorReport, pairs: tuple[Range, ...]) -> Sample:
    low, between = reference.domain[0], committors_of(reference)
    remembered = reference.memory if isinstance(reference.memory, Memory) else None
    fixed = circular_fixed_points(model, low)
    circle = opened(model, low, points_of(fixed, pairs, between, exits_of(reference)))
    own = None if remembered is None else correlations_near(model, circle, remembered)
    curves = (None, None)
    if remembered is not None and own is not None:
        curves = own.autocorrelation(remembered.lags)[0], own.power_spectrum(remembered.frequencies)[0]
    rates = _rates_round(model, low, reference, own)
    found = [circular_times(circle, start, to) for start, to in pairs]
    topography, current = topography_on_the_circle(model, circle, fixed, reference)
    return Sample(
        ergodic=True,
        settled=True,
        rates=tuple(float(rate) for rate in rates.real),
        frequencies=tuple(float(rate) for rate in rates.imag),
        log_times=tuple(_log_time(mean) for mean, _ in found),
        log_deviations=tuple(deviation.log_value for _, deviation in found),
        log_kramers=(None,) * len(pairs),
        log_quantiles=tuple(
            circular_log_quantiles(circle, passage, mean) for passage, (mean, _) in zip(reference.passages, found, strict=True)
        ),
        log_integrated_time=None if own is None else float(np.log(own.integrated_time)),
        exits=tuple(_known(circular_exit(circle, triple)) for triple in exits_of(reference)),
        committors=tuple(_values(circular_committor(circle, pair)) for pair in between),
        topography=topography,
        current=current,
        autocorrelation=curves[0],
        power_spectrum=curves[1],
    )


def _rates_round(
    model: ScalarProcess, low: float, reference: GeneratorReport, own: CircleCorrelations | None
) -> NDArray[np.complex128]:
    """(k,) the rates of a model on the turn from `low`, those that stand for the reference's, as far as it has them [1/time]."""
    assert model.period is not None
    wanted = np.zeros(0, np.complex128) if reference.spectrum is None else reference.spectrum.eigenvalues
    if own is not None or not len(wanted):
        return wanted if own is None else matched(own.rates, wanted)
    nearby = fourier_rates(model, low, model.period, FEW_MODES)[: len(wanted)]
    # As many modes settle most models; noise too weak for them gives numbers far from the reference's.
    if np.all(np.abs(nearby.real - wanted.real) < FAR * wanted.real):
        return nearby
    return circular_spectrum(model, low, len(wanted)).eigenvalues


def exits_of(reference: GeneratorReport) -> tuple[Triple, ...]:
    """Those exits of the reference that have an answer: from where, out of what interval [state]."""
    return tuple((e.start, e.low, e.high) for e in reference.exits if e.mean_time.log_value is not None)


def committors_of(reference: GeneratorReport) -> tuple[Pair, ...]:
    """Those committors of the reference that have an answer: between what."""
    return tuple((committor.start, committor.to) for committor in reference.committors if committor.found is not None)


def _values(committor: Committor) -> FloatArray | None:
    return None if committor.found is None else committor.found.values


def _log_deviation(landscape: Landscape, ends: tuple[End, End], start: float, to: float, mean: Timing) -> float | None:
    behind = ends[0] if start < to else ends[1]
    if mean.log_value is None or variance_diverges(behind):
        return np.inf
    if start == to:
        return -np.inf
    return standard_deviation(cells_for_deviation(landscape, start, to), ends, start, to, mean).log_value


def _known(found: Exit) -> tuple[float | None, float]:
    return found.probability_high, _log_time(found.mean_time)


def _log_time(timing: Timing) -> float:
    return np.inf if timing.log_value is None else timing.log_value
