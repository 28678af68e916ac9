"""Parts of results that several kinds of job share; a missing part is null with a reason."""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from contract import results
from contract.datasets import Dataset
from contract.identification import IdentificationParameters
from worker.analysis import Analysed
from worker.documents.driving import driving_of
from worker.documents.generator import analysis_of, findings_of
from worker.documents.numbers import plain
from worker.identification.findings.derived import MODEL_ONLY
from worker.identification.findings.finding import Finding
from worker.identification.identified_model import IdentifiedModel
from worker.validation.validation import Validation


def generator_of(analysed: Analysed | None, variables: Sequence[str]) -> results.GeneratorAnalysis:
    """Write the analysis of a model of some variables, or that none was asked for."""
    if analysed is None:
        return results.GeneratorAnalysis(ergodic=None, reason=MODEL_ONLY)
    found = analysis_of(analysed.generator, analysed.spread, analysed.transitions, variables)
    if analysed.driven is None or not analysed.driven.periodic:
        return found
    return found.model_copy(update={"driving": driving_of(analysed.driven, variables)})


def all_findings(
    answer: IdentifiedModel, validation: Validation, analysed: Analysed | None
) -> tuple[Finding, ...]:
    """Collect every finding about a model, of the fit, the validation and the analysis."""
    found = (*answer.findings, *validation.findings)
    if analysed is None:
        return found
    return (*found, *analysed.findings, *findings_of(analysed.generator))


def provenance_of(
    dataset: Dataset, parameters: IdentificationParameters, analysis: dict[str, Any], seconds: float
) -> results.Provenance:
    """Write the provenance of a result computed from data."""
    return results.Provenance(
        version=version_of_this(),
        dataset=dataset.id,
        dataset_sha256=dataset.sha256,
        parameters=parameters.model_dump(mode="json"),
        analysis=analysis,
        seconds=round(seconds, 4),
    )


def warning_of(finding: Finding) -> results.Notice:
    """Write a finding as a warning."""
    return results.Notice(
        code=finding.code, message=finding.message, details=plain(dict(finding.details))
    )


@cache
def version_of_this() -> str:
    """Return the version of Itoscope."""
    try:
        return version("itoscope")
    except PackageNotFoundError:
        return VERSION


VERSION = "0.1.0"
