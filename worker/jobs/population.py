"""The kind `population`: records → distributions of their coefficients → the document."""

from collections.abc import Sequence

import numpy as np

from contract import population as documents
from contract.population import PopulationJob, PopulationNumber, PopulationResult
from contract.results import Component, Estimate, Provenance
from worker.documents.model import data_summary, model_of
from worker.documents.numbers import array, interval_of, number
from worker.documents.results import provenance_of, warning_of
from worker.identification.sums.block_sums import Summing
from worker.jobs.parameters import settings_of
from worker.jobs.sources import Record
from worker.population.population import Distribution, Population, population
from worker.progress import Report


def compute(job: PopulationJob, record: Record, report: Report, summing: Summing) -> Population:
    """Estimate the population. Raises IdentificationError."""
    report(0.05, "reading", f"{record.data.n_increments} increments")
    return population(
        record.data,
        settings_of(job.parameters),
        report,
        summing,
        confidence=job.confidence,
        names=record.names,
    )


def describe(
    job_id: str, job: PopulationJob, record: Record, found: Population, seconds: float
) -> PopulationResult:
    """Write the document of a population."""
    names = record.names or tuple(str(n + 1) for n in range(len(found.increments)))
    pooled = model_of(found.model, job.parameters, job.confidence)
    components = {**pooled.drift, **pooled.diffusion}
    numbers = {
        key: tuple(_number(each, _pooled(components[key], each.name)) for each in each_term)
        for key, each_term in found.components.items()
    }
    rate = None
    if found.rate is not None:
        slope = _pooled(components["x"], "x")
        rate = _number(found.rate, _opposite(slope))
    return PopulationResult(
        job=job_id,
        data=data_summary(record.dataset, found.model.scales.time),
        pooled=pooled,
        records=names,
        increments=array(found.increments.astype(np.float64)),
        drift={key: value for key, value in numbers.items() if "," not in key},
        diffusion={key: value for key, value in numbers.items() if "," in key},
        relaxation_rate=rate,
        relaxation_time=_time(found),
        variation_of_rate=_variation(found),
        apart=_apart(found, names),
        warnings=(
            *record.dataset.report.warnings,
            *(warning_of(finding) for finding in found.findings),
        ),
        provenance=_provenance(job, record, seconds),
    )


def _provenance(job: PopulationJob, record: Record, seconds: float) -> Provenance:
    """Write the provenance; several datasets are named by the job."""
    analysis = {"confidence": job.confidence}
    found = provenance_of(record.dataset, job.parameters, analysis, seconds)
    if not job.datasets:
        return found
    return found.model_copy(update={"dataset": None, "dataset_sha256": None})


def _number(found: Distribution, pooled: Estimate) -> PopulationNumber:
    test = found.heterogeneity
    return PopulationNumber(
        term=found.name,
        pooled=pooled,
        mean=Estimate(value=number(found.mean), ci=interval_of(found.mean_interval)),
        std_error=number(found.std_error),
        standard_deviation=Estimate(
            value=number(found.spread.value), ci=interval_of(found.spread.interval)
        ),
        p_value=test.p_value,
        heterogeneity=documents.Heterogeneity(
            q=number(test.statistic),
            degrees=number(test.degrees),
            share=number(found.spread.share),
        ),
        estimates=array(found.own),
        std_errors=array(found.own_errors),
        shrunken=array(found.shrunken),
        shrunken_std_errors=array(found.errors),
    )


def _pooled(component: Component, term: str) -> Estimate:
    """Return a coefficient of the pooled model."""
    [found] = [each for each in component.terms if each.term == term]
    if not found.active:
        return Estimate(value=None, reason="The pooled model does not have the term.")
    return Estimate(value=found.value, ci=found.ci)


def _opposite(estimate: Estimate) -> Estimate:
    if estimate.value is None or estimate.ci is None:
        return estimate
    low, high = (None if end is None else -end for end in reversed(estimate.ci))
    return Estimate(value=-estimate.value, ci=(low, high))


def _time(found: Population) -> Estimate:
    rate = found.rate
    if rate is None:
        return Estimate(value=None, reason=found.rate_reason)
    low, high = rate.mean_interval
    return Estimate(value=number(1 / rate.mean), ci=(number(1 / high), number(1 / low)))


def _variation(found: Population) -> Estimate:
    rate = found.rate
    if rate is None:
        return Estimate(value=None, reason=found.rate_reason)
    low, high = rate.spread.interval
    return Estimate(
        value=number(rate.spread.value / rate.mean),
        ci=(number(low / rate.mean), number(high / rate.mean)),
    )


def _apart(found: Population, names: Sequence[str]) -> tuple[documents.RecordApart, ...]:
    return tuple(
        documents.RecordApart(
            number=each.record,
            record=names[each.record],
            component=each.component,
            term=each.term,
            away=number(each.away),
            p_value=each.p_value,
        )
        for each in found.apart
    )
