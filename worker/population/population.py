"""A population of records: one model's terms, and how their coefficients differ between records.

Read `population` first: the pooled model chooses the terms, one more pass takes the scores of every
record, and random effects are estimated from these.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import TooFewSamples
from worker.identification.estimation.problem import Problem
from worker.identification.estimation.setup import Settings
from worker.identification.findings.finding import Finding
from worker.identification.identified_model import IdentifiedModel, fitted_problem, model_of
from worker.identification.sums.block_sums import Summing, sums_here
from worker.population.random_effects import (
    Heterogeneity,
    Outlier,
    RandomEffects,
    Spread,
    determined_without,
    heterogeneity,
    outliers,
    own_estimates,
    random_effects,
    spread_of,
    student,
)
from worker.population.record_sums import ComponentScores, record_sums
from worker.progress import Report

Floats = NDArray[np.float64]

FEWEST_RECORDS = 3
"""Fewest records that show a scatter between records."""

EXPLAINED = ("trajectories-differ",)
"""Findings about the pooled model that a population answers."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Distribution of one number over the records, in the data's units.

    name           what it is: a term, or `relaxation rate`
    mean           mean over the population
    std_error      standard error of the mean, by Knapp and Hartung
    mean_interval  its confidence interval, by Student's quantile
    spread         standard deviation between records
    heterogeneity  test that it is the same in all records
    own            (N,) estimate from each record alone; NaN where it is too short
    own_errors     (N,) standard errors of these
    shrunken       (N,) estimate of each record given the population
    errors         (N,) standard errors of these
    """

    name: str
    mean: float
    std_error: float
    mean_interval: tuple[float, float]
    spread: Spread
    heterogeneity: Heterogeneity
    own: Floats
    own_errors: Floats
    shrunken: Floats
    errors: Floats


@dataclass(frozen=True, slots=True)
class RecordApart:
    """Record that stands apart from the others in one component.

    component   name of the component
    term        term in which it is farthest away
    away        how far, in standard deviations of the others' distribution
    """

    record: int
    p_value: float
    component: str
    term: str
    away: float


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Distributions of all coefficients over the records.

    model         pooled model
    increments    (N,) number of increments of each record
    components    coefficients of each component that was estimated, by its name
    rate          relaxation rate, where the drift is linear in a single variable
    rate_reason   reason why there is no relaxation rate
    apart         records that stand apart, the farthest of each component first
    """

    model: IdentifiedModel
    increments: NDArray[np.int_]
    components: Mapping[str, tuple[Distribution, ...]]
    rate: Distribution | None
    rate_reason: str | None
    apart: tuple[RecordApart, ...]
    findings: tuple[Finding, ...]


def population(
    data: Trajectories,
    settings: Settings,
    report: Report,
    summing: Summing = sums_here,
    *,
    confidence: float = 0.95,
    names: Sequence[str] = (),
) -> Population:
    """Estimate how coefficients differ between records. Raises IdentificationError.

    Parameters
    ----------
    data : trajectories, of which each is a record
    settings : settings of the pooled identification, of first order
    report : receives the progress
    summing : takes the sums over all the data
    confidence : coverage of the intervals
    names : names of the records, for the findings; numbers if there are none
    """
    if data.n_trajectories < FEWEST_RECORDS:
        raise TooFewSamples(
            f"A population needs {FEWEST_RECORDS} trajectories or more, and there are "
            f"{data.n_trajectories}.",
            hints=("Leave `trajectories` out, or name more of them.",),
        )
    problem, fit = fitted_problem(data, settings, report, summing)
    model = model_of(problem, fit, settings)
    report(0.6, "identifying", f"summing over each of {data.n_trajectories} records")
    sums = record_sums(problem, fit)
    for key, found in sums.components.items():
        _check_records(key, found, sums.increments)
    assert model.coefficients is not None, "the estimator is the efficient one"
    units = model.coefficients.units
    components: dict[str, tuple[Distribution, ...]] = {}
    apart: list[RecordApart] = []
    rate, reason = None, "the drift is not linear in a single variable"
    for number, (key, found) in enumerate(sums.components.items()):
        report(0.65 + 0.25 * number / len(sums.components), "identifying", f"records' {key}")
        effects, unit = random_effects(found.scores), units[key]
        terms = [problem.library.names[k] for k in found.terms]
        read = _Reading(found, effects, confidence)
        rows = found.to_raw * unit
        components[key] = tuple(
            read.distribution(term, row, float(pooled * unit))
            for term, row, pooled in zip(terms, rows, found.pooled, strict=True)
        )
        standing = outliers(found.scores, variance=_variance(key, found))
        apart += _apart(key, components[key], standing)
        if key == "x" and _is_linear(problem, found):
            at = terms.index("x")
            rate = read.distribution("relaxation rate", -rows[at], -float(found.pooled[at] * unit))
            if rate.mean_interval[0] <= 0:
                rate, reason = None, "the drift does not draw every record back significantly"
    findings = (
        *(each for each in model.findings if each.code not in EXPLAINED),
        *_findings(apart, names),
        *_too_short(components, sums.increments),
    )
    return Population(
        model,
        sums.increments,
        components,
        rate,
        None if rate is not None else reason,
        tuple(apart),
        findings,
    )


def _check_records(key: str, found: ComponentScores, increments: NDArray[np.int_]) -> None:
    """Check that some records tell of a component. Raises TooFewSamples."""
    k = len(found.terms)
    if (increments >= k).sum() >= FEWEST_RECORDS and determined_without(
        found.scores, FEWEST_RECORDS - 1
    ):
        return
    what = f"{'diffusion' if ',' in key else 'drift'} {key}"
    raise TooFewSamples(
        f"Fewer than {FEWEST_RECORDS} of {len(increments)} records tell of the {what}, which has "
        f"{k} {'term' if k == 1 else 'terms'}: the others have too few increments, or do not move.",
        hints=(
            "Record each of them for longer, or identify one model of all of them "
            "(kind: identification).",
        ),
    )


def _is_linear(problem: Problem, found: ComponentScores) -> bool:
    library = problem.library
    degrees = {library.degrees[k] for k in found.terms}
    return library.dimension == 1 and problem.period is None and degrees in ({1}, {0, 1})


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """Numbers that are linear in a component's coefficients, read off its random effects."""

    found: ComponentScores
    effects: RandomEffects
    confidence: float

    def distribution(self, name: str, direction: Floats, pooled: float) -> Distribution:
        """Return the distribution of pooled + direction · deviation."""
        scores, effects = self.found.scores, self.effects
        mean = pooled + float(direction @ effects.mean)
        error = float(np.sqrt(direction @ effects.covariance @ direction))
        reach = student(self.confidence, scores.count) * error
        own, variances = own_estimates(scores, direction)
        test = heterogeneity(scores, direction)
        return Distribution(
            name,
            mean,
            error,
            (mean - reach, mean + reach),
            spread_of(scores, direction, self.confidence, test.p_value),
            test,
            pooled + own,
            np.sqrt(variances),
            pooled + effects.shrunken @ direction,
            np.sqrt(np.einsum("i,nij,j->n", direction, effects.errors, direction).clip(min=0)),
        )


def _variance(key: str, found: ComponentScores) -> float | None:
    """Return the pooled diffusion of a variable where it has one term; else None."""
    p, _, q = key.partition(",")
    return float(found.pooled[0] / found.to_raw[0, 0]) if p == q and len(found.terms) == 1 else None


def _apart(
    key: str, terms: Sequence[Distribution], which: Sequence[Outlier]
) -> Iterator[RecordApart]:
    """Yield the records that stand apart, each with the term in which it is farthest away."""
    for outlier in which:
        away = [_away(term, outlier.record) for term in terms]
        farthest = int(np.argmax(np.abs(away)))
        yield RecordApart(
            outlier.record, outlier.p_value, key, terms[farthest].name, float(away[farthest])
        )


def _away(term: Distribution, record: int) -> float:
    """Return how far a record is from the mean, in standard deviations of the other records.

    That of a number without its own estimate is its shrunken one.
    """
    others = np.arange(len(term.own)) != record
    own = np.isfinite(term.own[record])
    values, errors = (term.own, term.own_errors) if own else (term.shrunken, term.errors)
    inside = others & np.isfinite(values)
    middle = float(np.median(values[inside]))
    width = 1.4826 * float(np.median(np.abs(values[inside] - middle)))
    scale = float(np.hypot(width, errors[record]))
    return float(values[record] - middle) / scale if scale > 0 else 0.0


def _findings(apart: Sequence[RecordApart], names: Sequence[str]) -> Iterator[Finding]:
    """Yield a warning that names the records that stand apart."""
    if not apart:
        return
    named = [
        f"{_called(each.record, names)} ({'diffusion' if ',' in each.component else 'drift'} "
        f"{each.component}, {each.term}: {each.away:+.1f} standard deviations)"
        for each in apart[:5]
    ]
    more = f" and {len(apart) - 5} more" if len(apart) > 5 else ""
    one = len({each.record for each in apart}) == 1
    yield Finding(
        "records-apart",
        f"{'One record stands' if one else 'Records stand'} apart from the others by more than "
        f"chance: {'; '.join(named)}{more}. Look at {'it' if one else 'them'}, and repeat without "
        f"{'it' if one else 'them'}: a single one widens the standard deviation between records.",
        {"records": [_called(each.record, names) for each in apart]},
    )


def _called(record: int, names: Sequence[str]) -> str:
    return names[record] if names else f"number {record + 1}"


def _too_short(
    components: Mapping[str, Sequence[Distribution]], increments: NDArray[np.int_]
) -> Iterator[Finding]:
    """Yield a warning where many records do not determine the coefficients alone."""
    alone = [np.isfinite(term.own) for terms in components.values() for term in terms]
    if not alone:
        return
    share = 1 - float(np.mean(np.all(alone, axis=0)))
    if share > 0.1:
        yield Finding(
            "records-short",
            f"{share:.0%} of the records are too short to determine all coefficients alone (their "
            f"median is {np.median(increments):.0f} increments). They have no estimates of their "
            "own; means and standard deviations use them all the same.",
            {"share": share},
        )
