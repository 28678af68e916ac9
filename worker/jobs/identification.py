"""The kind `identification`: data → a model → the analysis of its generator → the document."""

from typing import NamedTuple

from contract.jobs import IdentificationJob
from contract.results import IdentificationResult
from worker import pipeline
from worker.analysis import Analysed
from worker.documents.curves import curves_document, field_document, observed_document
from worker.documents.model import data_of, diagnostics_of, model_of, selection_of
from worker.documents.results import all_findings, generator_of, provenance_of, warning_of
from worker.identification.identified_model import IdentifiedModel
from worker.identification.sums.block_sums import Summing
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.jobs.sources import Record
from worker.progress import Report
from worker.validation import plot_data
from worker.validation.plot_data import Picture
from worker.validation.validation import Validation


class Identified(NamedTuple):
    """Model, analysis (None if only the model was requested), validation and curves."""

    answer: IdentifiedModel
    analysed: Analysed | None
    validation: Validation
    seen: Picture


def compute(job: IdentificationJob, record: Record, report: Report, summing: Summing) -> Identified:
    """Identify a model, analyse it and validate it with the data. Raises IdentificationError."""
    settings = settings_of(job.parameters, job.analysis.inputs)
    answer = pipeline.identify(record.data, settings, report, summing)
    asked = analysis_settings_of(job.analysis)
    states = pipeline.states_of(answer, record.data)
    analysed, validation = pipeline.analyse_and_validate(answer, states, asked, report)
    generator = None if analysed is None else analysed.generator
    seen = plot_data.of_answer(answer, states, generator, job.analysis.confidence)
    return Identified(answer, analysed, validation, seen)


def describe(
    job_id: str, job: IdentificationJob, record: Record, found: Identified, seconds: float
) -> IdentificationResult:
    """Write the document of an identification."""
    answer, analysed, validation, seen = found
    findings = all_findings(answer, validation, analysed)
    return IdentificationResult(
        job=job_id,
        data=data_of(record.dataset, answer),
        model=model_of(answer, job.parameters, job.analysis.confidence),
        selection=selection_of(answer),
        generator=generator_of(analysed, tuple(answer.drift)),
        diagnostics=diagnostics_of(answer, validation),
        observed=None
        if seen.observed is None
        else observed_document(seen.observed, tuple(answer.drift)),
        curves=curves_document(seen.curves),
        drift_field=field_document(seen.field),
        warnings=(*record.dataset.report.warnings, *(warning_of(finding) for finding in findings)),
        provenance=provenance_of(
            record.dataset,
            job.parameters,
            job.analysis.model_dump(mode="json", by_alias=True),
            seconds,
        ),
    )
