"""The kind `sweep`: data and several sets of parameters → a model for each → the document.

Each set is identified as if it were alone; the sums over the data are shared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contract.datasets import Dataset
from contract.identification import IdentificationParameters
from contract.sweep import SweepItem, SweepJob, SweepResult
from worker import pipeline
from worker.analysis import Analysed, AnalysisSettings
from worker.documents.model import data_summary, diagnostics_of, model_of, selection_of
from worker.documents.results import all_findings, generator_of, provenance_of, warning_of
from worker.fan_out.summing import SumCache
from worker.generator.errors import GeneratorError
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import IdentificationError
from worker.identification.estimation.setup import Settings
from worker.identification.identified_model import IdentifiedModel
from worker.identification.sums.block_sums import Summing
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.jobs.problems import of_core
from worker.jobs.sources import Record
from worker.progress import Report
from worker.validation.validation import Validation


@dataclass(frozen=True, slots=True, eq=False)
class SweepEntry:
    """Results of one set of parameters; the analysis is None if only the model was requested."""

    answer: IdentifiedModel
    analysed: Analysed | None
    validation: Validation


@dataclass(frozen=True, slots=True, eq=False)
class SweepResults:
    """Results in the order of the sets.

    items    an entry for each set, or the error for which it has none
    taken    number of passes over all increments
    shared   number of passes whose sums were known already
    """

    items: tuple[SweepEntry | IdentificationError | GeneratorError, ...]
    taken: int
    shared: int


def sweep(
    data: Trajectories,
    sets: Sequence[Settings],
    asked: AnalysisSettings,
    report: Report,
    summing: Summing,
) -> SweepResults:
    """Identify, analyse and validate under each set. Raises what `report` raises."""
    sum_cache = SumCache(summing)
    found: dict[int, SweepEntry | IdentificationError | GeneratorError] = {}
    # Sums for a library of high degree contain those for a lower degree.
    for done, number in enumerate(
        sorted(range(len(sets)), key=lambda i: -sets[i].polynomial_degree)
    ):
        report_part = _part_of(report, done, len(sets))
        try:
            answer = pipeline.identify(data, sets[number], report_part, sum_cache)
            states = pipeline.states_of(answer, data)
            analysis = pipeline.analyse_and_validate(answer, states, asked, report_part)
            found[number] = SweepEntry(answer, *analysis)
        except (IdentificationError, GeneratorError) as error:
            found[number] = error
    return SweepResults(
        tuple(found[number] for number in range(len(sets))), sum_cache.taken, sum_cache.shared
    )


def _part_of(report: Report, done: int, count: int) -> Report:
    """Return a report of one set's progress as part of all sets'."""

    def report_part(fraction: float, stage: str, message: str) -> None:
        report(0.95 * (done + fraction) / count, stage, f"set {done + 1} of {count}: {message}")

    return report_part


def compute(job: SweepJob, record: Record, report: Report, summing: Summing) -> SweepResults:
    """Identify, analyse and validate under each set; a set without a model does not end the job."""
    sets = [
        settings_of(parameters, job.analysis.inputs) for parameters in job.parameter_sets().values()
    ]
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
            _item(*each, confidence)
            for each in zip(job.variants, job.parameter_sets().values(), found.items, strict=True)
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
    parameters: IdentificationParameters,
    item: SweepEntry | IdentificationError | GeneratorError,
    confidence: float,
) -> SweepItem:
    if not isinstance(item, SweepEntry):
        return SweepItem(parameters=dict(variant), error=of_core(item))
    answer, analysed, validation = item.answer, item.analysed, item.validation
    return SweepItem(
        parameters=dict(variant),
        model=model_of(answer, parameters, confidence),
        selection=selection_of(answer),
        generator=generator_of(analysed, tuple(answer.drift)),
        diagnostics=diagnostics_of(answer, validation),
        warnings=tuple(
            warning_of(finding) for finding in all_findings(answer, validation, analysed)
        ),
    )
