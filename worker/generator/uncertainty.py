"""How uncertain the answer is, given models drawn from the coefficients' covariance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from worker.generator.boundaries import classify_end
from worker.generator.cells import cut_into_cells
from worker.generator.circle import circular_spectrum, circular_time, opened
from worker.generator.ergodicity import ends_verdict, noise_verdict
from worker.generator.errors import GeneratorError
from worker.generator.interval import narrowed_to_positive
from worker.generator.kramers import extrema_of, kramers_time
from worker.generator.line import depth_for, resolve
from worker.generator.passages import mean_time
from worker.generator.process import DiffusionProcess, FloatArray, ScalarProcess, scalar_view
from worker.generator.report import GeneratorReport, Range
from worker.generator.spectrum import spectrum_of
from worker.generator.stationary import log_total_mass, moments_of
from worker.generator.timing import Timing
from worker.generator.window import choose_window

LEVELS = 2
"""Levels of extrapolation for a sample: 1e-4 of a rate, a small part of any interval worth giving."""
DEPTH = 60.0
"""Fall of the log-density at which the panels of a sample end."""
FEWEST = 20
"""Samples below which no interval is given."""


@dataclass(frozen=True, slots=True)
class GeneratorSpread:
    """Central percentile intervals over the sampled models; None where too few samples have the quantity.

    They are the samples' own percentiles: the reference value lies inside them only if the samples put it there.

    eigenvalues    one interval for each eigenvalue of the reference [1/time]
    mean           (d,) intervals [state]
    covariance     (d, d) intervals [state²]
    passages       one interval for each passage of the reference, its mean time [time]
    kramers        likewise for the asymptotic formula [time]
    ergodic_share  share of the samples that have a stationary law; None without samples
    n_samples      how many models were analysed
    """

    eigenvalues: tuple[Range | None, ...]
    mean: tuple[Range | None, ...]
    covariance: tuple[tuple[Range | None, ...], ...]
    passages: tuple[Range | None, ...]
    kramers: tuple[Range | None, ...]
    ergodic_share: float | None
    n_samples: int


@dataclass(frozen=True, slots=True)
class _Sample:
    """`settled`: there is a law to take numbers from, if only between the reflecting ends of the reference."""

    ergodic: bool
    settled: bool = False
    rates: tuple[float, ...] = ()
    mean: float | None = None
    variance: float | None = None
    log_times: tuple[float, ...] = ()
    log_kramers: tuple[float | None, ...] = ()


def spread(
    samples: Sequence[DiffusionProcess],
    reference: GeneratorReport,
    confidence: float,
    observed_range: Range | None = None,
) -> GeneratorSpread:
    """Intervals of the reference's numbers over models drawn around it.

    confidence      coverage of each central interval, 0 to 1; times are ranked by their logarithm
    observed_range  where given, each sample is first narrowed to where its noise is positive around the data [state]

    A sample that has no stationary law counts in `ergodic_share`; its infinite passage times count as infinite.
    """
    count = 0 if reference.spectrum is None else len(reference.spectrum.eigenvalues)
    pairs = tuple((passage.start, passage.to) for passage in reference.passages)
    analysed = [_analysed(sample, reference, pairs, observed_range) for sample in samples]
    law = [sample for sample in analysed if sample.settled]

    def interval(numbers: list[float | None]) -> Range | None:
        known = np.array([number for number in numbers if number is not None])
        if len(known) < max(FEWEST, len(numbers) / 2):
            return None
        # Order statistics, not interpolation: an infinite time must not turn its neighbour into nan.
        low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2], method="nearest")
        return float(low), float(high)

    def time_interval(logs: list[float | None]) -> Range | None:
        found = interval(logs)
        with np.errstate(over="ignore"):
            return None if found is None else (float(np.exp(found[0])), float(np.exp(found[1])))

    tops = {point.at[0] for point in reference.fixed_points if not point.stable}
    return GeneratorSpread(
        eigenvalues=tuple(interval([s.rates[k] if k < len(s.rates) else None for s in law]) for k in range(count)),
        mean=(interval([sample.mean for sample in law]),),
        covariance=((interval([sample.variance for sample in law]),),),
        passages=tuple(time_interval([s.log_times[i] for s in analysed if s.log_times]) for i in range(len(pairs))),
        # To the top of the reference's barrier is to one side or the other of a sample's: the formula jumps there.
        kramers=tuple(
            None if tops & set(pair) else time_interval([s.log_kramers[i] for s in analysed if s.log_kramers])
            for i, pair in enumerate(pairs)
        ),
        ergodic_share=sum(sample.ergodic for sample in analysed) / len(analysed) if analysed else None,
        n_samples=len(analysed),
    )


def _analysed(
    process: DiffusionProcess, reference: GeneratorReport, pairs: tuple[Range, ...], observed: Range | None
) -> _Sample:
    try:
        model = scalar_view(process)
        if model.period is not None:
            return _on_the_circle(model, reference, pairs)
        sample = _on_the_line(model, reference, pairs, observed)
        if reference.ergodic or reference.boundaries != "reflecting":
            return sample
        # The reference was closed on request; so is the sample, but its share is that of the open model.
        return replace(_on_the_line(replace(model, bounds=reference.domain), reference, pairs, observed), ergodic=sample.ergodic)
    except GeneratorError:
        # A draw far out in the coefficients' distribution may be no process at all; it has no stationary law either.
        return _Sample(False)


def _on_the_line(
    model: ScalarProcess, reference: GeneratorReport, pairs: tuple[Range, ...], observed: Range | None
) -> _Sample:
    # The samples live where the reference does.
    looked_at = observed
    if reference.stationary is not None:
        grid = reference.stationary.grid[0]
        looked_at = float(grid[0]), float(grid[-1])
    if observed is not None:
        model = narrowed_to_positive(model, observed).process
    window = choose_window(model, looked_at)
    if not noise_verdict(model, window, observed).usable:
        return _Sample(False)
    ends = classify_end(model, window, -1), classify_end(model, window, 1)
    rates = _rates_of(reference)
    landscape, fixed = resolve(model, window, ends, pairs, depth_for(len(rates), DEPTH))
    cells, extrema = cut_into_cells(landscape, 2), extrema_of(model, landscape, fixed)
    times = tuple(_log_time(mean_time(cells, ends, start, to)) for start, to in pairs)
    kramers = tuple(kramers_time(extrema, start, to).log_value for start, to in pairs)
    if not ends_verdict(ends, fixed, observed).ergodic:
        return _Sample(False, log_times=times, log_kramers=kramers)
    mean, variance, _, _ = moments_of(landscape, window, ends, log_total_mass(landscape))
    if len(rates):
        # A sample's rates may be somewhat faster than the reference's; the cells are made fine enough for that.
        rates = spectrum_of(landscape, ends, len(rates), levels=LEVELS, fastest=1.5 * rates[-1]).eigenvalues.real
    return _Sample(True, True, tuple(rates), mean, variance, times, kramers)


def _on_the_circle(model: ScalarProcess, reference: GeneratorReport, pairs: tuple[Range, ...]) -> _Sample:
    count = len(_rates_of(reference))
    rates = circular_spectrum(opened(model, reference.domain[0]), count).eigenvalues.real if count else np.zeros(0)
    times = tuple(_log_time(circular_time(model, start, to)) for start, to in pairs)
    return _Sample(True, True, tuple(rates), log_times=times, log_kramers=(None,) * len(pairs))


def _rates_of(reference: GeneratorReport) -> FloatArray:
    return np.zeros(0) if reference.spectrum is None else reference.spectrum.eigenvalues.real


def _log_time(timing: Timing) -> float:
    return np.inf if timing.log_value is None else timing.log_value
