"""The part of the result document about the analysis of a generator, in any geometry."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contract import results
from grammar.terms import variable_name
from worker.documents.numbers import (
    array,
    band_of,
    curves_of,
    encoded,
    interval_of,
    number,
    table,
    written,
)
from worker.documents.potential import (
    barriers_of,
    eigenvalue_of,
    fixed_points_of,
    potential_of,
    relaxation_of,
)
from worker.generator.analysis import GeneratorReport
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.outcomes import Reason
from worker.generator.quantities.passages import (
    PROBABILITIES,
    Committor,
    Exit,
    Passage,
    PassageCurve,
    SpatialPassage,
    Timing,
)
from worker.generator.quantities.regions import Place, Region
from worker.generator.quantities.stationary import (
    Marginal,
    MultivariateDistribution,
    Simulated,
    SimulatedLaw,
)
from worker.generator.uncertainty.intervals import Intervals, Path
from worker.identification.findings.finding import Finding

Floats = NDArray[np.float64]


NONE = Intervals({})
Names = Callable[[int], str]
"""Name of each variable, by its index."""


def analysis_of(
    report: GeneratorReport,
    intervals: Intervals | None,
    transitions: Sequence[tuple[int, int] | None] = (),
    variables: Sequence[str] = (),
) -> results.GeneratorAnalysis:
    """Write everything that the report says, with intervals where there are any.

    Parameters
    ----------
    report : analysis of the generator
    intervals : confidence intervals; None without sampled models
    transitions : transitions of each passage in the data, and back; empty without data
    variables : names of the variables; default: x, y, z, …
    """
    spread = intervals or NONE
    names: Names = variables.__getitem__ if variables else variable_name
    passages = (
        *(_passage(p, spread, "passages", i) for i, p in enumerate(report.passages)),
        *(_between(p, names, spread, "between", i) for i, p in enumerate(report.between)),
    )
    seen = transitions or (None,) * len(passages)
    return results.GeneratorAnalysis(
        ergodic=report.ergodic,
        reason=sentences(report.reason),
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
        autocorrelation=_autocorrelation(report, names, spread),
        power_spectrum=_power_spectrum(report, names, spread),
        fixed_points=fixed_points_of(report, spread),
        barriers=barriers_of(report, spread),
        passages=tuple(
            p if n is None else p.model_copy(update={"transitions": n[0]})
            for p, n in zip(passages, seen, strict=True)
        ),
        committors=tuple(
            _committor(c, names, spread, "committors", i) for i, c in enumerate(report.committors)
        ),
        exits=tuple(_exit(e, spread, "exits", i) for i, e in enumerate(report.exits)),
        effective_potential=potential_of(report, spread),
        ends=tuple(
            results.End(
                at=number(end.at),
                kind=end.kind,
                reason=None if end.problem is None else f"{end.problem} {end.place}",
            )
            for end in report.ends
        ),
        local_relaxation=relaxation_of(report, spread),
        simulated=None if report.simulated is None else simulated_of(report.simulated),
        ergodic_share=spread.ergodic_share,
    )


def findings_of(report: GeneratorReport) -> Sequence[Finding]:
    """Collect what the reader must know beside the numbers."""
    if report.ergodic is not False or report.reason is None:
        return ()
    said = [report.reason.sentence, *([report.approximation] if report.approximation else [])]
    written = (f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}." for sentence in said)
    return (Finding("not-ergodic", " ".join(written)),)


def sentences(*reasons: Reason | None) -> str | None:
    """Write reasons in one line; None where there are none."""
    return "; ".join(reason.sentence for reason in reasons if reason is not None) or None


def _spectrum(report: GeneratorReport, spread: Intervals) -> results.Spectrum | None:
    spectrum = report.spectrum
    if spectrum is None:
        return None
    here: Path = ("spectrum", "eigenvalues")
    all_of_them = [
        eigenvalue_of(value, spread, here, k) for k, value in enumerate(spectrum.eigenvalues)
    ]
    fundamental = np.flatnonzero(~spectrum.overtones)
    return results.Spectrum(
        eigenvalues=tuple(all_of_them[k] for k in fundamental),
        overtones=tuple(all_of_them[k] for k in np.flatnonzero(spectrum.overtones)),
        relaxation_times=tuple(float(spectrum.relaxation_times[k]) for k in fundamental),
        eigenfunctions=()
        if spectrum.eigenfunctions is None
        else tuple(array(f) for f in np.real(spectrum.eigenfunctions)[fundamental]),
        eigenfunctions_ci=tuple(
            curves_of(spread.band("spectrum", "eigenfunctions", int(k))) for k in fundamental
        )
        if ("spectrum", "eigenfunctions") in spread.ends
        else (),
        reason=sentences(*spectrum.reasons),
    )


def _stationary(report: GeneratorReport, spread: Intervals) -> results.Stationary | None:
    law = report.stationary
    if law is None:
        return None
    spatial = law if isinstance(law, MultivariateDistribution) else None
    return results.Stationary(
        mean=law.mean,
        mean_ci=_row(spread, law.mean, "stationary", "mean"),
        covariance=law.covariance,
        covariance_ci=tuple(
            _row(spread, row, "stationary", "covariance", i) for i, row in enumerate(law.covariance)
        )
        if spread.ends
        else (),
        skewness=law.skewness,
        skewness_ci=_row(spread, law.skewness, "stationary", "skewness"),
        kurtosis=law.kurtosis,
        kurtosis_ci=_row(spread, law.kurtosis, "stationary", "kurtosis"),
        density=results.Density(
            grid=tuple(array(g) for g in law.grid),
            values=table(law.density),
            values_ci=band_of(spread.band("stationary", "density")),
        ),
        reason=sentences(*law.reasons),
        current=None if spatial is None or spatial.current is None else encoded(spatial.current),
        probability_current=report.probability_current,
        probability_current_ci=spread.range("probability_current"),
        mean_velocity=report.mean_velocity,
        mean_velocity_ci=spread.range("mean_velocity"),
        kinetic_temperature=report.kinetic_temperature,
        kinetic_temperature_ci=spread.range("kinetic_temperature"),
        circulation=None if spatial is None else spatial.circulation,
        circulation_ci=spread.range("stationary", "circulation"),
        entropy_production=None if spatial is None else spatial.entropy_production,
        entropy_production_ci=spread.range("stationary", "entropy_production"),
    )


def _row(
    spread: Intervals, values: Sequence[float | None], *path: str | int
) -> tuple[tuple[float, float] | None, ...]:
    """Write the intervals of numbers in a row; None without sampled models."""
    if not spread.ends:
        return ()
    return tuple(spread.range(*path, i) for i in range(len(values)))


def _exit(exit_: Exit, spread: Intervals, *path: str | int) -> results.Exit:
    return results.Exit(
        from_=exit_.start,
        low=exit_.low,
        high=exit_.high,
        probability_high=results.Estimate(
            value=exit_.probability_high,
            ci=spread.range(*path, "probability_high"),
            reason=sentences(exit_.reason),
        ),
        mean_time=_estimate(exit_.mean_time, spread, *path, "mean_time"),
    )


def _autocorrelation(
    report: GeneratorReport, names: Names, spread: Intervals
) -> results.Autocorrelation | None:
    correlations = report.correlations
    if correlations is None:
        return None
    if isinstance(correlations, Reason):
        return results.Autocorrelation(reason=correlations.sentence)
    return results.Autocorrelation(
        lags=array(correlations.lags),
        values=_by_variable(correlations.autocorrelation, names),
        values_ci=_bands_by_variable(
            correlations.autocorrelation, names, spread, "correlations", "autocorrelation"
        ),
        integrated_time={
            names(i): _estimate(time, spread, "correlations", "integrated_times", i)
            for i, time in enumerate(correlations.integrated_times)
        },
    )


def _power_spectrum(
    report: GeneratorReport, names: Names, spread: Intervals
) -> results.PowerSpectrum | None:
    correlations = report.correlations
    if not isinstance(correlations, Correlations):
        return None
    return results.PowerSpectrum(
        frequencies=array(correlations.frequencies),
        values=_by_variable(correlations.power_spectrum, names),
        values_ci=_bands_by_variable(
            correlations.power_spectrum, names, spread, "correlations", "power_spectrum"
        ),
    )


def _by_variable(rows: Floats, names: Names) -> dict[str, results.Array]:
    return {names(i): array(row) for i, row in enumerate(rows) if np.isfinite(row).any()}


def _bands_by_variable(
    rows: Floats, names: Names, spread: Intervals, *path: str
) -> dict[str, tuple[results.Array, results.Array]]:
    bands = {names(i): spread.band(*path, i) for i in range(len(rows))}
    return {
        name: (array(band[0]), array(band[1])) for name, band in bands.items() if band is not None
    }


def _passage(passage: Passage, spread: Intervals, *path: str | int) -> results.Passage:
    return results.Passage(
        from_=passage.start,
        to=passage.to,
        mean_time=_estimate(passage.mean_time, spread, *path, "mean_time"),
        kramers=_estimate(passage.kramers, spread, *path, "kramers"),
        standard_deviation=None
        if passage.deviation is None
        else _estimate(passage.deviation, spread, *path, "deviation"),
        quantiles=tuple(
            results.Quantile(
                probability=p,
                time=time,
                ci=interval_of(spread.range(*path, "quantiles", k)),
            )
            for k, (p, time) in enumerate(zip(PROBABILITIES, passage.quantiles, strict=False))
        ),
        distribution=_distribution(passage.law),
    )


def _between(
    passage: SpatialPassage, names: Names, spread: Intervals, *path: str | int
) -> results.Passage:
    return results.Passage(
        from_=place_of(passage.start, names),
        to=place_of(passage.to, names),
        mean_time=_estimate(passage.mean_time, spread, *path, "mean_time"),
        kramers=results.Estimate(value=None, reason="the formula is given for one variable")
        if passage.kramers is None
        else _estimate(passage.kramers, spread, *path, "kramers"),
        standard_deviation=None
        if passage.deviation is None
        else _estimate(passage.deviation, spread, *path, "deviation"),
    )


def _committor(
    committor: Committor, names: Names, spread: Intervals, *path: str | int
) -> results.Committor:
    start, to = place_of(committor.start, names), place_of(committor.to, names)
    found = committor.found
    if isinstance(found, Reason):
        return results.Committor(from_=start, to=to, reason=found.sentence)
    return results.Committor(
        from_=start,
        to=to,
        grid=tuple(array(points) for points in found.grid),
        values=table(found.values),
        values_ci=band_of(spread.band(*path, "found", "values")),
    )


def place_of(place: Place, names: Names) -> results.Place:
    """Write a place of a passage."""
    if not isinstance(place, Region):
        return place
    ends = {names(i): (number(low), number(high)) for i, (low, high) in enumerate(place.intervals)}
    return ends | dict.fromkeys(place.unknown, (None, None))


def _distribution(law: PassageCurve | Reason | None) -> results.PassageDistribution | None:
    if law is None:
        return None
    if isinstance(law, Reason):
        return results.PassageDistribution(reason=law.sentence)
    return results.PassageDistribution(
        times=array(law.times), density=array(law.density), cumulative=array(law.cumulative)
    )


def _estimate(timing: Timing, spread: Intervals, *path: str | int) -> results.Estimate:
    # A time too long for a number still has an interval, of times that are not or are too.
    ci = interval_of(spread.range(*path))
    return results.Estimate(value=timing.value, ci=ci, reason=sentences(timing.reason))


def simulated_of(law: SimulatedLaw) -> results.SimulatedLaw:
    """Write the simulated distribution, every number with its Monte Carlo standard error."""
    found = law.estimates
    estimates = {} if found is None else {f.name: getattr(found, f.name) for f in fields(found)}
    return results.SimulatedLaw(
        n_paths=law.n_paths,
        n_escaped=law.n_escaped,
        duration=law.duration,
        step=law.step,
        reason=sentences(law.reason),
        **{name: _simulated(value) for name, value in estimates.items()},
    )


def _simulated(value: Any) -> Any:
    match value:
        case Simulated():
            return written(results.Simulated, value)
        case Marginal():
            return written(results.SimulatedMarginal, value)
        case tuple():
            return tuple(_simulated(each) for each in value)
    return None if value is None else number(value)
