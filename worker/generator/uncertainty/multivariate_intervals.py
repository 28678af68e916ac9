"""How uncertain an answer in several coordinates is, given models drawn from the coefficients' covariance."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worker.generator.errors import GeneratorError
from worker.generator.line.spectrum import Spectrum, matched
from worker.generator.linear.correlations import LinearCorrelations
from worker.generator.linear.fixed_points import fixed_points_near
from worker.generator.linear.process import LinearProcess, gaussian_density, linear_view
from worker.generator.plane.sample import SpatialSample, sampled_in_the_plane
from worker.generator.plane.sampled_passages import sampled_committor, sampled_times
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.correlations import Memory
from worker.generator.quantities.multivariate_distribution import LawNumbers, SpatialLaw
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.uncertainty.intervals import (
    GeneratorSpread,
    TopographySpread,
    band_of_rows,
    central_band,
    central_interval,
    interval_of_times,
)
from worker.generator.uncertainty.topography_intervals import fixed_points_spread

MOST_SAMPLES = 100
"""Models that are analysed; each is 25 to 100 ms in the plane, unless it is linear."""


def spread_in_space(
    samples: Sequence[DiffusionProcess], reference: GeneratorReport, confidence: float
) -> GeneratorSpread:
    """Intervals over the first MOST_SAMPLES models."""
    law, spectrum = reference.stationary, reference.spectrum
    if not isinstance(law, SpatialLaw) or spectrum is None:
        return _nothing(reference)
    taken = samples[:MOST_SAMPLES]
    if reference.solution is not None:
        memory = reference.memory if isinstance(reference.memory, Memory) else None
        analysed = sampled_in_the_plane(taken, reference.solution, memory, law)
    else:
        analysed = [_linear(sample, reference, law, spectrum) for sample in taken]
    settled = [sample for sample in analysed if sample.rates is not None]
    laws = [sample.law for sample in settled if sample.law is not None]

    def interval(numbers: Sequence[float | None]) -> Range | None:
        return central_interval([_finite(number) for number in numbers], confidence)

    def rate(k: int, part: str) -> Range | None:
        return interval(
            [None if s.rates is None else float(getattr(s.rates[k], part)) for s in settled]
        )

    def of_law(value: float | None, name: str, *at: int) -> Range | None:
        """Of a number that the reference has."""
        found = [getattr(sample, name) for sample in laws]
        return (
            None
            if value is None
            else interval([None if f is None else float(np.asarray(f)[at]) for f in found])
        )

    # A model without a law of its own may never arrive; where it is no process at all there is no time.
    lawful = [
        process for process, sample in zip(taken, analysed, strict=True) if sample.rates is not None
    ]
    logs = sampled_times(lawful, reference.between)
    bands = (sampled_committor(lawful, committor) for committor in reference.committors)

    topography = fixed_points_spread(
        taken, reference, _lengths(law, taken), confidence
    ) or TopographySpread(())
    topography = replace(
        topography, density=band_of_rows([sample.density for sample in settled], confidence)
    )
    d = len(law.mean)
    count = len(spectrum.eigenvalues)
    turning = [abs(value.imag) > 0 for value in spectrum.eigenvalues]
    return GeneratorSpread(
        eigenvalues=tuple(rate(k, "real") for k in range(count)),
        mean=tuple(of_law(law.mean[i], "mean", i) for i in range(d)),
        covariance=tuple(
            tuple(of_law(law.covariance[i][j], "covariance", i, j) for j in range(d))
            for i in range(d)
        ),
        passages=(None,) * len(reference.passages),
        kramers=(None,) * len(reference.passages),
        ergodic_share=sum(sample.ergodic for sample in analysed) / len(analysed)
        if analysed
        else None,
        n_samples=len(analysed),
        frequencies=tuple(rate(k, "imag") if turning[k] else None for k in range(count)),
        between=tuple(interval_of_times(column, confidence) for column in _columns(logs[..., 0])),
        deviations=tuple(
            interval_of_times(column, confidence) for column in _columns(logs[..., 1])
        ),
        committors=tuple(
            None if band is None else central_band(band, confidence) for band in bands
        ),
        integrated_times=tuple(
            interval(
                [
                    None if s.integrated_times is None else float(s.integrated_times[i])
                    for s in settled
                ]
            )
            for i in range(d)
        ),
        skewness=tuple(of_law(law.skewness[i], "skewness", i) for i in range(d)),
        kurtosis=tuple(of_law(law.kurtosis[i], "kurtosis", i) for i in range(d)),
        circulation=of_law(law.circulation, "circulation"),
        entropy_production=of_law(law.entropy_production, "entropy_production"),
        topography=topography,
        autocorrelation=band_of_rows([sample.autocorrelation for sample in settled], confidence),
        power_spectrum=band_of_rows([sample.power_spectrum for sample in settled], confidence),
    )


def _lengths(law: SpatialLaw, samples: Sequence[DiffusionProcess]) -> FloatArray:
    """(d,) standard deviation of each coordinate; of an angle, its period over 2π [state]."""
    periods = samples[0].periods if samples else (None,) * len(law.mean)
    variances = (law.covariance[i][i] for i in range(len(law.mean)))
    return np.array(
        [
            period / (2 * np.pi) if period is not None else np.sqrt(variance or 1.0)
            for variance, period in zip(variances, periods, strict=True)
        ]
    )


def _columns(logs: FloatArray) -> list[list[float | None]]:
    return [[_finite(float(log)) for log in column] for column in logs.T]


def _finite(number: float | None) -> float | None:
    return None if number is None or not np.isfinite(number) else number


def _linear(
    process: DiffusionProcess, reference: GeneratorReport, law: SpatialLaw, spectrum: Spectrum
) -> SpatialSample:
    mean = np.array(law.mean, dtype=float)
    scale = np.sqrt(np.diag(np.array(law.covariance, dtype=float)))
    try:
        linear = (
            linear_view(process, mean, scale)
            if reference.approximation is None
            else _next_to(process, mean, scale)
        )
    except GeneratorError:
        return SpatialSample(False)
    if linear is None:
        return SpatialSample(True)
    covariance = linear.covariance
    if covariance is None or not linear.has_density(covariance):
        return SpatialSample(False)
    rates = matched(linear.rates(len(spectrum.eigenvalues)), spectrum.eigenvalues)
    numbers = LawNumbers(
        mean=linear.mean,
        covariance=covariance,
        circulation=linear.circulation(covariance),
        entropy_production=linear.entropy_production(covariance),
    )
    correlations, memory = LinearCorrelations(linear.jacobian, covariance), reference.memory
    return SpatialSample(
        True,
        rates,
        numbers,
        correlations.integrated_times,
        gaussian_density(linear.mean, covariance, law.grid) if law.density.size else None,
        correlations.autocorrelation(memory.lags) if isinstance(memory, Memory) else None,
        correlations.power_spectrum(memory.frequencies) if isinstance(memory, Memory) else None,
    )


def _next_to(
    process: DiffusionProcess, mean: FloatArray, scale: FloatArray
) -> LinearProcess | None:
    """The linear process next to the sample's own stable fixed point, near the reference's."""
    stable = [point for point in fixed_points_near(process, mean[None], scale) if point.stable]
    if not stable:
        return None
    at = np.array(stable[0].at)
    return LinearProcess(
        process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0], at, np.zeros(len(at))
    )


def _nothing(reference: GeneratorReport) -> GeneratorSpread:
    d, count = (
        len(reference.domains),
        0 if reference.spectrum is None else len(reference.spectrum.eigenvalues),
    )
    without = (None,) * len(reference.passages)
    return GeneratorSpread(
        (None,) * count, (None,) * d, ((None,) * d,) * d, without, without, None, 0, (None,) * count
    )
