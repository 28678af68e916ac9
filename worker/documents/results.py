"""Core values → documents. Numbers stay finite; what is missing is null, with a reason where a reader would ask."""

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from contract import results
from contract.datasets import Dataset
from contract.generator import ModelTerms
from contract.identification import IdentificationParameters
from contract.jobs import GeneratorJob, IdentificationJob
from worker.comparison.compare import Comparison
from worker.comparison.plot_data import NOTHING, Picture
from worker.documents.curves import curves_document, field_document, observed_document
from worker.documents.generator import analysis_of, findings_of
from worker.documents.model import (
    data_of,
    diagnostics_of,
    model_of,
    selection_of,
)
from worker.documents.numbers import plain
from worker.identification.checks.diagnostics import Finding
from worker.identification.identified_model import Answer
from worker.identification.identified_system import JointAnswer
from worker.identification.symbolic_process import expression
from worker.pipeline import MODEL_ONLY, Analysed


def identification_result(
    job_id: str,
    job: IdentificationJob,
    dataset: Dataset,
    answer: Answer | JointAnswer,
    analysed: Analysed | None,
    comparison: Comparison,
    seen: Picture,
    seconds: float,
) -> results.IdentificationResult:
    """The document of an identification."""
    return results.IdentificationResult(
        job=job_id,
        data=data_of(dataset, answer),
        model=model_of(answer, job.analysis.confidence),
        selection=selection_of(answer),
        generator=generator_of(analysed),
        diagnostics=diagnostics_of(answer, comparison),
        observed=None if seen.observed is None else observed_document(seen.observed),
        curves=curves_document(seen.curves),
        drift_field=field_document(seen.field),
        warnings=(*dataset.report.warnings, *(notice_of(f) for f in said_of(answer, comparison, analysed))),
        provenance=provenance_of(dataset, job.parameters, job.analysis.model_dump(mode="json", by_alias=True), seconds),
    )


def generator_of(analysed: Analysed | None) -> results.GeneratorAnalysis:
    """What was read off a model; where nothing was asked for, that."""
    if analysed is None:
        return results.GeneratorAnalysis(ergodic=None, reason=MODEL_ONLY)
    return analysis_of(analysed.generator, analysed.spread)


def said_of(answer: Answer | JointAnswer, comparison: Comparison, analysed: Analysed | None) -> tuple[Finding, ...]:
    """All that the reader of a model should know."""
    of_generator = () if analysed is None else (*analysed.findings, *findings_of(analysed.generator))
    return (*answer.findings, *comparison.findings, *of_generator)


def generator_result(
    job_id: str, job: GeneratorJob, model: ModelTerms, analysed: Analysed, seconds: float, seen: Picture = NOTHING
) -> results.GeneratorResult:
    """The document of a generator analysis."""
    return results.GeneratorResult(
        job=job_id,
        model=results.Model(drift=_given(model.drift), diffusion=_given(model.diffusion)),
        generator=generator_of(analysed),
        curves=curves_document(seen.curves),
        drift_field=field_document(seen.field),
        warnings=tuple(notice_of(f) for f in (*analysed.findings, *findings_of(analysed.generator))),
        provenance=results.Provenance(
            version=version_of_this(),
            parameters=model.model_dump(mode="json"),
            analysis=job.analysis.model_dump(mode="json", by_alias=True),
            seconds=round(seconds, 4),
        ),
    )


def provenance_of(
    dataset: Dataset, parameters: IdentificationParameters, analysis: dict[str, Any], seconds: float
) -> results.Provenance:
    """Of what was computed from data."""
    return results.Provenance(
        version=version_of_this(),
        dataset=dataset.id,
        dataset_sha256=dataset.sha256,
        parameters=parameters.model_dump(mode="json"),
        analysis=analysis,
        seconds=round(seconds, 4),
    )


def model_terms(body: bytes) -> ModelTerms:
    """The active terms of the model in a result document, with the domain and period it was identified or given with."""
    document = json.loads(body)
    parameters = document["provenance"]["parameters"]
    return ModelTerms(
        drift=_active(document["model"]["drift"]),
        diffusion=_active(document["model"]["diffusion"]),
        domain=parameters.get("domain", {}),
        periodic=parameters.get("periodic", {}),
    )


def _active(components: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {key: {t["term"]: t["value"] for t in c["terms"] if t["active"]} for key, c in components.items()}


def _given(components: dict[str, dict[str, float]]) -> dict[str, results.Component]:
    return {
        key: results.Component(
            expression=expression(terms),
            terms=tuple(results.Term(term=name, value=value, active=value != 0) for name, value in terms.items()),
        )
        for key, terms in components.items()
    }


def notice_of(finding: Finding) -> results.Notice:
    """A warning, as a document."""
    return results.Notice(code=finding.code, message=finding.message, details=plain(dict(finding.details)))


@cache
def version_of_this() -> str:
    """Of the program."""
    try:
        return version("itoscope")
    except PackageNotFoundError:
        return VERSION


VERSION = "0.1.0"
