"""The kind `sweep`: data and several sets of parameters → a model for each → the document."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from contract.datasets import Dataset
from contract.sweep import SweepItem, SweepJob, SweepResult
from worker.documents.model import data_summary, diagnostics_of, model_of, selection_of
from worker.documents.results import all_findings, generator_of, provenance_of, warning_of
from worker.generator.errors import GeneratorError
from worker.identification.errors import IdentificationError
from worker.identification.sums.block_sums import Summing
from worker.jobs.parameter_sets import SweepEntry, SweepResults, sweep
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.jobs.problems import of_core
from worker.jobs.sources import Record
from worker.progress import Report


def compute(job: SweepJob, record: Record, report: Report, summing: Summing) -> SweepResults:
    """Identify, analyse and compare under each set; a set without a model does not end the job."""
    sets = [settings_of(parameters) for parameters in job.parameter_sets().values()]
    return sweep(record.data, sets, analysis_settings_of(job.analysis), report, summing)


def describe(
    job_id: str, job: SweepJob, record: Record, found: SweepResults, seconds: float
) -> SweepResult:
    """Write the document of a sweep."""
    dataset, confidence = record.dataset, job.analysis.confidence
    return SweepResult(
        job=job_id,
        data=data_summary(dataset, _step_of(dataset, found)),
        items=tuple(
            _item(variant, item, confidence)
            for variant, item in zip(job.variants, found.items, strict=True)
        ),
        passes_taken=found.taken,
        passes_shared=found.shared,
        provenance=provenance_of(
            dataset, job.parameters, job.analysis.model_dump(mode="json", by_alias=True), seconds
        ),
    )


def _step_of(dataset: Dataset, found: SweepResults) -> float:
    """Return the median sampling interval [time] of the first answer, or else of the dataset."""
    for item in found.items:
        if isinstance(item, SweepEntry):
            return item.answer.scales.time
    report = dataset.report
    return float(np.float64(report.duration) / max(report.n_increments, 1))


def _item(
    variant: Mapping[str, Any],
    item: SweepEntry | IdentificationError | GeneratorError,
    confidence: float,
) -> SweepItem:
    if not isinstance(item, SweepEntry):
        return SweepItem(parameters=dict(variant), error=of_core(item))
    answer, analysed, comparison = item.answer, item.analysed, item.comparison
    return SweepItem(
        parameters=dict(variant),
        model=model_of(answer, confidence),
        selection=selection_of(answer),
        generator=generator_of(analysed),
        diagnostics=diagnostics_of(answer, comparison),
        warnings=tuple(
            warning_of(finding) for finding in all_findings(answer, comparison, analysed)
        ),
    )
