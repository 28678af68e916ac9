"""The analysis of a generator → its part of the result document, on the line, on the circle and in several coordinates."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from contract import results
from grammar.terms import variable_name
from worker.documents.arrays import (
    array,
    band_of,
    curves_of,
    encoded,
    interval_of,
    table,
)
from worker.documents.numbers import number
from worker.documents.potential import (
    barriers_of,
    eigenvalue_of,
    fixed_points_of,
    potential_of,
    relaxation_of,
)
from worker.documents.simulation import simulated_of
from worker.generator.analysis import GeneratorReport
from worker.generator.line.passages.distribution import PROBABILITIES, NoCurve, PassageCurve
from worker.generator.line.passages.mean_times import Passage
from worker.generator.plane.passages.passages import SpatialPassage
from worker.generator.quantities.committor import Committor
from worker.generator.quantities.correlations import Memory
from worker.generator.quantities.multivariate_distribution import SpatialLaw
from worker.generator.quantities.passage_time import Timing
from worker.generator.quantities.regions import Place, Region
from worker.generator.uncertainty.confidence_intervals import GeneratorSpread
from worker.generator.uncertainty.intervals import Band
from worker.identification.findings import Finding

Floats = NDArray[np.float64]


def analysis_of(
    report: GeneratorReport, spread: GeneratorSpread | None
) -> results.GeneratorAnalysis:
    """Everything that the report says, with the intervals of the samples where there are any."""
    topography = None if spread is None else spread.topography
    return results.GeneratorAnalysis(
        ergodic=report.ergodic,
        reason=report.reason,
        domain=(number(report.domain[0]), number(report.domain[1])),
        domains=tuple((number(low), number(high)) for low, high in report.domains),
        boundaries=report.boundaries,
        approximation=report.approximation,
        observed_ranges=tuple(
            (number(low), number(high)) for low, high in report.observed_ranges or ()
        ),
        unseen_mass=report.unseen_mass,
        spectrum=_spectrum(report, spread),
        stationary=_stationary(report, spread),
        autocorrelation=_autocorrelation(report, spread),
        power_spectrum=_power_spectrum(report, spread),
        fixed_points=fixed_points_of(report, topography),
        barriers=barriers_of(report, topography),
        passages=(
            *(_passage(p, i, spread) for i, p in enumerate(report.passages)),
            *(_between(p, i, spread) for i, p in enumerate(report.between)),
        ),
        committors=tuple(_committor(c, i, spread) for i, c in enumerate(report.committors)),
        exits=tuple(_exits(report, spread)),
        effective_potential=potential_of(report, topography),
        ends=tuple(
            results.End(
                at=number(end.at),
                kind=end.kind,
                reason=None if end.problem is None else f"{end.problem} {end.place}",
            )
            for end in report.ends
        ),
        local_relaxation=relaxation_of(report, topography),
        simulated=None if report.simulated is None else simulated_of(report.simulated),
        ergodic_share=None if spread is None else spread.ergodic_share,
    )


def findings_of(report: GeneratorReport) -> Sequence[Finding]:
    """What the reader must be told beside the numbers."""
    if report.ergodic or report.reason is None:
        return ()
    said = [report.reason, *([report.approximation] if report.approximation else [])]
    sentences = (f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}." for sentence in said)
    return (Finding("not-ergodic", " ".join(sentences)),)


def _spectrum(report: GeneratorReport, spread: GeneratorSpread | None) -> results.Spectrum | None:
    spectrum = report.spectrum
    if spectrum is None:
        return None
    count = len(spectrum.eigenvalues)
    intervals = spread.eigenvalues if spread is not None else (None,) * count
    frequencies = (
        spread.frequencies if spread is not None and spread.frequencies else (None,) * count
    )
    fundamental = [k for k in range(count) if not spectrum.overtones[k]]
    overtones = [k for k in range(count) if spectrum.overtones[k]]
    return results.Spectrum(
        eigenvalues=tuple(
            eigenvalue_of(spectrum.eigenvalues[k], intervals[k], frequencies[k])
            for k in fundamental
        ),
        overtones=tuple(
            eigenvalue_of(spectrum.eigenvalues[k], intervals[k], frequencies[k]) for k in overtones
        ),
        relaxation_times=tuple(float(spectrum.relaxation_times[k]) for k in fundamental),
        eigenfunctions=()
        if spectrum.eigenfunctions is None
        else tuple(array(f) for f in np.real(spectrum.eigenfunctions)[fundamental]),
        eigenfunctions_ci=tuple(curves_of(spread.eigenfunctions[k]) for k in fundamental)
        if spread is not None and spread.eigenfunctions
        else (),
        reason=spectrum.reason,
    )


def _stationary(
    report: GeneratorReport, spread: GeneratorSpread | None
) -> results.Stationary | None:
    law = report.stationary
    if law is None:
        return None
    spatial = law if isinstance(law, SpatialLaw) else None
    turn = report.domain[1] - report.domain[0]
    current = None if spread is None else spread.current
    band = None if spread is None or spread.topography is None else spread.topography.density
    return results.Stationary(
        mean=law.mean,
        mean_ci=() if spread is None else spread.mean,
        covariance=law.covariance,
        covariance_ci=() if spread is None else spread.covariance,
        skewness=law.skewness,
        skewness_ci=() if spread is None else spread.skewness,
        kurtosis=law.kurtosis,
        kurtosis_ci=() if spread is None else spread.kurtosis,
        density=results.Density(
            grid=tuple(array(g) for g in law.grid),
            values=table(law.density),
            values_ci=band_of(band),
        ),
        reason=law.reason,
        current=None if spatial is None or spatial.current is None else encoded(spatial.current),
        probability_current=report.probability_current,
        probability_current_ci=current,
        mean_velocity=None
        if report.probability_current is None
        else report.probability_current * turn,
        mean_velocity_ci=None if current is None else (current[0] * turn, current[1] * turn),
        circulation=None if spatial is None else spatial.circulation,
        circulation_ci=None if spread is None else spread.circulation,
        entropy_production=None if spatial is None else spatial.entropy_production,
        entropy_production_ci=None if spread is None else spread.entropy_production,
    )


def _exits(report: GeneratorReport, spread: GeneratorSpread | None) -> Iterator[results.Exit]:
    intervals = iter(() if spread is None else spread.exits)
    for e in report.exits:
        probability, time = (
            (None, None) if e.mean_time.log_value is None else next(intervals, (None, None))
        )
        yield results.Exit(
            from_=e.start,
            low=e.low,
            high=e.high,
            probability_high=results.Estimate(
                value=e.probability_high, ci=probability, reason=e.reason
            ),
            mean_time=_estimate(e.mean_time, time),
        )


def _autocorrelation(
    report: GeneratorReport, spread: GeneratorSpread | None
) -> results.Autocorrelation | None:
    memory = report.memory
    if not isinstance(memory, Memory):
        return None if memory is None else results.Autocorrelation(reason=memory.reason)
    return results.Autocorrelation(
        lags=array(memory.lags),
        values=_by_variable(memory.autocorrelation),
        values_ci={} if spread is None else _bands_by_variable(spread.autocorrelation),
        integrated_time={
            variable_name(i): _estimate(time, interval)
            for i, (time, interval) in enumerate(
                zip_longest(memory.integrated_times, _times_of(spread))
            )
            if time is not None
        },
    )


def _times_of(spread: GeneratorSpread | None) -> tuple[tuple[float, float] | None, ...]:
    """Intervals of the integrated times, as far as there are any."""
    return () if spread is None else spread.integrated_times or (spread.integrated_time,)


def _power_spectrum(
    report: GeneratorReport, spread: GeneratorSpread | None
) -> results.PowerSpectrum | None:
    memory = report.memory
    if not isinstance(memory, Memory):
        return None
    return results.PowerSpectrum(
        frequencies=array(memory.frequencies),
        values=_by_variable(memory.power_spectrum),
        values_ci={} if spread is None else _bands_by_variable(spread.power_spectrum),
    )


def _by_variable(rows: Floats) -> dict[str, results.Array]:
    return {variable_name(i): array(row) for i, row in enumerate(rows) if np.isfinite(row).any()}


def _bands_by_variable(band: Band | None) -> dict[str, tuple[results.Array, results.Array]]:
    if band is None:
        return {}
    return {
        variable_name(i): (array(low), array(high))
        for i, (low, high) in enumerate(zip(*band, strict=True))
        if np.isfinite(low).any()
    }


def _passage(passage: Passage, index: int, spread: GeneratorSpread | None) -> results.Passage:
    return results.Passage(
        from_=passage.start,
        to=passage.to,
        mean_time=_estimate(passage.mean_time, None if spread is None else spread.passages[index]),
        kramers=_estimate(passage.kramers, None if spread is None else spread.kramers[index]),
        standard_deviation=None
        if passage.deviation is None
        else _estimate(
            passage.deviation,
            spread.deviations[index] if spread is not None and spread.deviations else None,
        ),
        quantiles=_quantiles(
            passage.law, spread.quantiles[index] if spread is not None and spread.quantiles else ()
        ),
        distribution=_distribution(passage.law),
    )


def _quantiles(
    law: PassageCurve | NoCurve | None, intervals: tuple[tuple[float, float] | None, ...]
) -> tuple[results.Quantile, ...]:
    if not isinstance(law, PassageCurve):
        return ()
    found = zip_longest(PROBABILITIES, law.quantiles, intervals)
    return tuple(results.Quantile(probability=p, time=t, ci=interval_of(ci)) for p, t, ci in found)


def _between(
    passage: SpatialPassage, index: int, spread: GeneratorSpread | None
) -> results.Passage:
    known = spread is not None and index < len(spread.between)
    return results.Passage(
        from_=_place(passage.start),
        to=_place(passage.to),
        mean_time=_estimate(
            passage.mean_time, spread.between[index] if spread is not None and known else None
        ),
        kramers=results.Estimate(value=None, reason="the formula is given for one variable"),
        standard_deviation=None
        if passage.deviation is None
        else _estimate(
            passage.deviation, spread.deviations[index] if spread is not None and known else None
        ),
    )


def _committor(
    committor: Committor, index: int, spread: GeneratorSpread | None
) -> results.Committor:
    found = committor.found
    band = None if spread is None or index >= len(spread.committors) else spread.committors[index]
    return results.Committor(
        from_=_place(committor.start),
        to=_place(committor.to),
        grid=() if found is None else tuple(array(points) for points in found.grid),
        values=() if found is None else table(found.values),
        values_ci=None if found is None else band_of(band),
        reason=committor.reason,
    )


def _place(place: Place) -> results.Place:
    if not isinstance(place, Region):
        return place
    ends = {
        variable_name(i): (number(low), number(high))
        for i, (low, high) in enumerate(place.intervals)
    }
    return ends | dict.fromkeys(place.unknown, (None, None))


def _distribution(law: PassageCurve | NoCurve | None) -> results.PassageDistribution | None:
    if not isinstance(law, PassageCurve):
        return None if law is None else results.PassageDistribution(reason=law.reason)
    return results.PassageDistribution(
        times=array(law.times), density=array(law.density), cumulative=array(law.cumulative)
    )


def _estimate(timing: Timing, ci: tuple[float, float] | None) -> results.Estimate:
    return results.Estimate(value=timing.value, ci=interval_of(ci), reason=timing.reason)
