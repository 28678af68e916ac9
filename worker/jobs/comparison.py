"""The kind `comparison`: groups of trajectories → their models and what differs → the document."""

from collections.abc import Mapping

import numpy as np
from scipy.special import ndtri

from contract.base import Interval
from contract.comparison import (
    ComparedComponent,
    ComparedGroup,
    ComparedQuantity,
    ComparedTerm,
    ComparisonJob,
    ComparisonResult,
    GroupEstimate,
    PermutationTest,
)
from contract.results import DataSummary, Estimate, Place, Provenance
from worker.comparison import comparison as core
from worker.comparison.comparison import Comparison, compare
from worker.comparison.quantities import ComparedQuantity as CoreQuantity
from worker.comparison.quantities import GroupQuantity, Quantity
from worker.comparison.ratios import ratio_interval
from worker.documents.comparison import quantity_name, summary_of
from worker.documents.generator import place_of
from worker.documents.model import data_of, model_of
from worker.documents.numbers import interval_of, number
from worker.documents.results import generator_of, version_of_this, warning_of
from worker.generator.quantities.regions import Place as CorePlace
from worker.identification.sums.block_sums import Summing
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.jobs.sources import Groups
from worker.progress import Report

UNBOUNDED = "The coefficient of the reference may be zero, so that the ratio has no interval."


def compute(job: ComparisonJob, groups: Groups, report: Report, summing: Summing) -> Comparison:
    """Compare the groups. Raises IdentificationError.

    Passes over the data are not shared out: helpers open one dataset, and a group may have many.
    """
    data = {name: record.data for name, record in groups.records.items()}
    increments = sum(one.n_increments for one in data.values())
    report(0.02, "reading", f"{increments} increments of {len(data)} groups")
    settings = settings_of(job.parameters, job.analysis.inputs)
    return compare(data, settings, analysis_settings_of(job.analysis), report)


def describe(
    job_id: str, job: ComparisonJob, groups: Groups, found: Comparison, seconds: float
) -> ComparisonResult:
    """Write the document of a comparison."""
    names, confidence = tuple(groups.records), job.analysis.confidence
    components = {
        key: _component(component, names, confidence, found.permuted.p_values.get(key))
        for key, component in found.components.items()
    }
    for key in (*found.models[names[0]].drift, *found.models[names[0]].diffusion):
        components.setdefault(key, _NOTHING)
    result = ComparisonResult(
        job=job_id,
        summary=(),
        reference=names[0],
        confidence=confidence,
        data=_all_data(groups, found),
        groups=tuple(_group(name, job, groups, found) for name in names),
        drift={key: c for key, c in components.items() if "," not in key},
        diffusion={key: c for key, c in components.items() if "," in key},
        quantities=tuple(
            _quantity(what, q, found, groups, job) for what, q in found.quantities.items()
        ),
        permutations=PermutationTest(
            n_permutations=found.permuted.n_permutations, reason=found.permuted.reason or None
        ),
        provenance=Provenance(
            version=version_of_this(),
            dataset=job.dataset,
            dataset_sha256=groups.first.sha256 if job.dataset is not None else None,
            parameters=job.parameters.model_dump(mode="json"),
            analysis=job.analysis.model_dump(mode="json", by_alias=True),
            seconds=round(seconds, 4),
        ),
    )
    return result.model_copy(update={"summary": summary_of(result, groups.symbols)})


_NOTHING = ComparedComponent(
    differs=False, p_value=1.0, adjusted_p_value=1.0, statistic=0.0, degrees=0, terms=()
)


def _group(name: str, job: ComparisonJob, groups: Groups, found: Comparison) -> ComparedGroup:
    model, analysed = found.models[name], found.analysed[name]
    findings = (*model.findings, *(() if analysed is None else analysed.findings))
    datasets = groups.datasets[name]
    return ComparedGroup(
        group=name,
        datasets=tuple(dataset.id for dataset in datasets),
        data=data_of(groups.records[name].dataset, model),
        model=model_of(model, job.parameters, job.analysis.confidence),
        generator=generator_of(analysed, tuple(model.drift)),
        warnings=(
            *(notice for dataset in datasets for notice in dataset.report.warnings),
            *(warning_of(finding) for finding in findings),
        ),
    )


def _component(
    component: core.ComparedComponent,
    names: tuple[str, ...],
    confidence: float,
    permuted: float | None,
) -> ComparedComponent:
    test = component.found.equality
    return ComparedComponent(
        differs=bool(test.degrees) and component.adjusted <= 1 - confidence,
        p_value=test.p_value,
        adjusted_p_value=component.adjusted,
        statistic=test.statistic,
        degrees=test.degrees,
        permuted_p_value=permuted,
        terms=tuple(_term(component, k, names, confidence) for k in range(len(component.terms))),
    )


def _term(
    component: core.ComparedComponent, k: int, names: tuple[str, ...], confidence: float
) -> ComparedTerm:
    found = component.found
    z = float(ndtri((1 + confidence) / 2))
    values = found.values[:, k]
    errors = np.sqrt(found.covariance[:, k, k])
    shared = found.sharing[found.present[k]] == "shared"

    def ends(value: float, error: float) -> Interval | None:
        return interval_of((value - z * error, value + z * error))

    def around(g: int, value: float, error: float) -> GroupEstimate:
        return GroupEstimate(group=names[g], value=number(value), ci=ends(value, error))

    def ratio(g: int) -> GroupEstimate:
        found = ratio_interval(values[g], errors[g], values[0], errors[0], confidence)
        if found is None:
            return GroupEstimate(group=names[g], value=None, reason=UNBOUNDED)
        value = number(values[g] / values[0])
        return GroupEstimate(group=names[g], value=value, ci=interval_of(found))

    common, error = found.joint[0, k], found.joint_errors[0, k]
    further = range(1, len(names))
    return ComparedTerm(
        term=component.terms[k],
        shared=shared,
        values=tuple(around(g, values[g], errors[g]) for g in range(len(names))),
        common=Estimate(value=number(common), ci=ends(common, error)) if shared else None,
        ratios=tuple(ratio(g) for g in further),
        differences=tuple(
            around(g, values[g] - values[0], float(np.hypot(errors[g], errors[0]))) for g in further
        ),
        p_value=found.by_term[k].p_value,
        adjusted_p_value=component.by_term[k],
    )


def _quantity(
    what: Quantity, found: CoreQuantity, whole: Comparison, groups: Groups, job: ComparisonJob
) -> ComparedQuantity:
    def places() -> Mapping[str, Place | None]:
        if what.places is None:
            return {"from_": None, "to": None}
        variables = tuple(next(iter(whole.models.values())).drift)
        start, to = (_document_place(place, variables) for place in what.places)
        return {"from_": start, "to": to}

    quantity = ComparedQuantity(
        quantity=what.kind,
        name="",
        variable=what.variable or None,
        **places(),
        values=_estimates(found.groups),
        contrast="ratio" if found.logarithm else "difference",
        contrasts=_estimates(found.contrasts),
        p_value=found.p_value,
        adjusted_p_value=whole.adjusted[what],
    )
    name = quantity_name(quantity, groups.symbols, what.wells, job.parameters.periodic)
    return quantity.model_copy(update={"name": name})


def _document_place(place: CorePlace, variables: tuple[str, ...]) -> Place:
    return place_of(place, variables.__getitem__)


def _estimates(groups: Mapping[str, GroupQuantity]) -> tuple[GroupEstimate, ...]:
    return tuple(
        GroupEstimate(group=name, value=number(q.value), ci=interval_of(q.interval))
        for name, q in groups.items()
    )


def _all_data(groups: Groups, found: Comparison) -> DataSummary:
    """Summarise the data of all groups together."""
    each = [data_of(record.dataset, found.models[name]) for name, record in groups.records.items()]
    return each[0].model_copy(
        update={
            "n_trajectories": sum(data.n_trajectories for data in each),
            "n_increments": sum(data.n_increments for data in each),
            "duration": sum(data.duration for data in each),
            "range": tuple(
                (min(low for low, _ in ends), max(high for _, high in ends))
                for ends in zip(*(data.range for data in each), strict=True)
            ),
        }
    )
