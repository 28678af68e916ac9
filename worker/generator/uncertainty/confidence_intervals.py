"""How uncertain the answer is, given models drawn from the coefficients' covariance."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from worker.generator.line.passages.distribution import PROBABILITIES
from worker.generator.line.passages.quantiles import MOST_SAMPLES
from worker.generator.line.stationary import StationaryLaw
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.report import GeneratorReport, Range, observed_ranges
from worker.generator.uncertainty.batch import analysed_together
from worker.generator.uncertainty.intervals import (
    Band,
    GeneratorSpread,
    band_of_rows,
    central_interval,
    interval_of_times,
)
from worker.generator.uncertainty.multivariate_intervals import spread_in_space
from worker.generator.uncertainty.sampled_model import (
    Sample,
    exits_of,
    grid_of_functions,
    rates_of,
)
from worker.generator.uncertainty.single_model import analysed_alone
from worker.generator.uncertainty.topography_intervals import topography_spread

MOST_ALONE = 70
"""Samples that are analysed on panels of their own; from the next of these on all samples are left out."""

__all__ = ["GeneratorSpread", "spread"]


def spread(
    samples: Sequence[DiffusionProcess],
    reference: GeneratorReport,
    confidence: float,
    observed_range: Range | Sequence[Range] | None = None,
) -> GeneratorSpread:
    """Intervals of the reference's numbers over models drawn around it.

    confidence      coverage of each central interval, 0 to 1; times are ranked by their logarithm
    observed_range  where given, each sample is first narrowed to where its noise is positive around the data [state]

    In several coordinates the first 100 samples are analysed, and `observed_range` is not used.

    A sample that has no stationary law counts in `ergodic_share`; its infinite passage times count as infinite.
    """
    if len(reference.domains) > 1:
        return spread_in_space(samples, reference, confidence)
    rates = (
        np.zeros(0, np.complex128) if reference.spectrum is None else reference.spectrum.eigenvalues
    )
    count = len(rates)
    pairs = tuple((passage.start, passage.to) for passage in reference.passages)
    ranges = observed_ranges(observed_range, 1)
    seen = ranges[0] if ranges else None
    together = analysed_together(samples, reference, pairs, seen)
    # Any of the samples are as good as all of them; one alone takes as long as a dozen together.
    alone = [index for index, found in enumerate(together) if found is None]
    if len(alone) > MOST_ALONE:
        samples, together = samples[: alone[MOST_ALONE]], together[: alone[MOST_ALONE]]
    analysed = [
        found
        if found is not None
        else analysed_alone(sample, reference, pairs, seen, in_full=number < MOST_SAMPLES)
        for number, (sample, found) in enumerate(zip(samples, together, strict=True))
    ]
    law = [sample for sample in analysed if sample.settled]
    first = [sample for sample in analysed[:MOST_SAMPLES] if sample.settled]

    def interval(numbers: list[float | None]) -> Range | None:
        return central_interval(numbers, confidence)

    def time_interval(logs: list[float | None]) -> Range | None:
        return interval_of_times(logs, confidence)

    law_of_reference = reference.stationary

    def of_shape(name: Literal["skewness", "kurtosis"]) -> tuple[Range | None, ...]:
        if (
            not isinstance(law_of_reference, StationaryLaw)
            or getattr(law_of_reference, name)[0] is None
        ):
            return (None,)
        return (interval([getattr(sample, name) for sample in law]),)

    def deviation(i: int) -> Range | None:
        """Of a passage whose time's deviation the reference has."""
        found = reference.passages[i].deviation
        if found is None or found.log_value is None:
            return None
        return time_interval([s.log_deviations[i] for s in analysed if s.log_deviations])

    tops = {point.at[0] for point in reference.fixed_points if not point.stable}
    return GeneratorSpread(
        eigenvalues=tuple(
            interval([s.rates[k] if k < len(s.rates) else None for s in law]) for k in range(count)
        ),
        frequencies=tuple(
            interval([s.frequencies[k] if k < len(s.frequencies) else None for s in law])
            if rate.imag
            else None
            for k, rate in enumerate(rates)
        ),
        mean=(interval([sample.mean for sample in law]),),
        covariance=((interval([sample.variance for sample in law]),),),
        passages=tuple(
            time_interval([s.log_times[i] for s in analysed if s.log_times])
            for i in range(len(pairs))
        ),
        # To the top of the reference's barrier is to one side or the other of a sample's: the formula jumps there.
        kramers=tuple(
            None
            if tops & set(pair)
            else time_interval([s.log_kramers[i] for s in analysed if s.log_kramers])
            for i, pair in enumerate(pairs)
        ),
        exits=tuple(
            (
                interval([s.exits[i][0] for s in analysed if s.exits]),
                time_interval([s.exits[i][1] for s in analysed if s.exits]),
            )
            for i in range(len(exits_of(reference)))
        ),
        skewness=of_shape("skewness"),
        kurtosis=of_shape("kurtosis"),
        deviations=tuple(deviation(i) for i in range(len(pairs))),
        committors=_bands(reference, analysed, confidence),
        quantiles=_quantiles(reference, analysed[:MOST_SAMPLES], confidence),
        eigenfunctions=_function_bands(reference, first, confidence),
        topography=topography_spread(
            [sample.topography for sample in analysed], reference, confidence
        ),
        current=interval([sample.current for sample in analysed]),
        integrated_time=time_interval([sample.log_integrated_time for sample in law]),
        autocorrelation=_curve_band([sample.autocorrelation for sample in first], confidence),
        power_spectrum=_curve_band([sample.power_spectrum for sample in first], confidence),
        ergodic_share=sum(sample.ergodic for sample in analysed) / len(analysed)
        if analysed
        else None,
        n_samples=len(analysed),
    )


def _quantiles(
    reference: GeneratorReport, analysed: Sequence[Sample], confidence: float
) -> tuple[tuple[Range | None, ...], ...]:
    """For each passage of the reference, of each of its quantiles."""
    found = [sample.log_quantiles for sample in analysed if sample.log_quantiles]
    missing = np.full(len(PROBABILITIES), np.nan)
    intervals = []
    for i in range(len(reference.passages)):
        rows = np.array([missing if logs[i] is None else logs[i] for logs in found]).reshape(
            -1, len(PROBABILITIES)
        )
        columns = ([None if np.isnan(log) else float(log) for log in column] for column in rows.T)
        intervals.append(tuple(interval_of_times(column, confidence) for column in columns))
    return tuple(intervals)


def _bands(
    reference: GeneratorReport, analysed: Sequence[Sample], confidence: float
) -> tuple[Band | None, ...]:
    """One for each committor of the reference."""
    lawful = [sample.committors for sample in analysed if sample.committors]
    known = [committor.found is not None for committor in reference.committors]
    at = np.cumsum(known) - 1
    return tuple(
        band_of_rows([rows[k] for rows in lawful], confidence) if has else None
        for k, has in zip(at, known, strict=True)
    )


def _curve_band(curves: Sequence[FloatArray | None], confidence: float) -> Band | None:
    """The band of the one coordinate's curves, each end (1, n)."""
    band = band_of_rows(curves, confidence)
    return None if band is None else (band[0][None], band[1][None])


def _function_bands(
    reference: GeneratorReport, analysed: Sequence[Sample], confidence: float
) -> tuple[Band | None, ...]:
    """One for each eigenfunction of the reference."""
    if grid_of_functions(reference) is None:
        return ()
    found = [sample.eigenfunctions for sample in analysed]
    return tuple(
        band_of_rows(
            [None if rows is None or k >= len(rows) else rows[k] for rows in found], confidence
        )
        for k in range(len(rates_of(reference)))
    )
