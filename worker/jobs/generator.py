"""The kind `generator`: a model → the analysis of its generator → the document."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

from contract.generator import ModelOfJob, ModelTerms
from contract.jobs import GeneratorJob
from contract.results import Component, GeneratorResult, Model, Provenance, Term
from grammar.terms import variable_name
from storage.stores import Forgotten, Stores
from worker import pipeline
from worker.analysis import Analysed
from worker.comparison import plot_data
from worker.comparison.plot_data import Picture
from worker.documents.curves import curves_document, field_document
from worker.documents.generator import findings_of
from worker.documents.results import generator_of, version_of_this, warning_of
from worker.identification.sums.block_sums import Summing
from worker.identification.symbolic_process import expression
from worker.jobs.parameters import analysis_settings_of, process_of
from worker.jobs.problems import JobProblem
from worker.jobs.sources import check_sizes, check_variables, invalid
from worker.progress import Report


@contextmanager
def model_of(tenant: str, job: GeneratorJob, stores: Stores) -> Iterator[ModelTerms]:
    """Yield the terms of the job's model. Raises JobProblem if it or a variable is unknown."""
    model = (
        _model_of_job(tenant, job.model, stores) if isinstance(job.model, ModelOfJob) else job.model
    )
    variables = [variable_name(i) for i in range(len(model.drift))]
    check_variables("model/drift", model.drift, variables)
    check_variables(
        "model/diffusion", model.diffusion, [f"{v},{w}" for v, w in product(variables, repeat=2)]
    )
    check_variables("model/domain", model.domain, variables)
    check_variables("model/periodic", model.periodic, variables)
    check_sizes("model/domain", model.domain)
    check_sizes("model/periodic", model.periodic)
    yield model


def compute(
    job: GeneratorJob, model: ModelTerms, report: Report, summing: Summing
) -> tuple[Analysed, Picture]:
    """Analyse a given model. Raises GeneratorError, IdentificationError."""
    process = process_of(model)
    analysed = pipeline.analyse_terms(process, analysis_settings_of(job.analysis), report)
    return analysed, plot_data.of_terms(process, analysed.generator)


def describe(
    job_id: str,
    job: GeneratorJob,
    model: ModelTerms,
    found: tuple[Analysed, Picture],
    seconds: float,
) -> GeneratorResult:
    """Write the document of a generator analysis."""
    analysed, seen = found
    return GeneratorResult(
        job=job_id,
        model=Model(drift=_given(model.drift), diffusion=_given(model.diffusion)),
        generator=generator_of(analysed),
        curves=curves_document(seen.curves),
        drift_field=field_document(seen.field),
        warnings=tuple(
            warning_of(finding)
            for finding in (*analysed.findings, *findings_of(analysed.generator))
        ),
        provenance=Provenance(
            version=version_of_this(),
            parameters=model.model_dump(mode="json"),
            analysis=job.analysis.model_dump(mode="json", by_alias=True),
            seconds=round(seconds, 4),
        ),
    )


def _model_of_job(tenant: str, reference: ModelOfJob, stores: Stores) -> ModelTerms:
    """Read the active terms of an earlier job's model."""
    try:
        name = stores.jobs.result_name(tenant, reference.job)
    except Forgotten:
        name = None
    body = None if name is None else stores.results.get(tenant, name)
    if body is None:
        hint = "Wait until that job has succeeded, then submit again."
        raise JobProblem(invalid("model/job", f"job {reference.job} has no result", hint))
    return _active_terms(body)


def _active_terms(body: bytes) -> ModelTerms:
    """Read the active terms of a result document's model, with its domain and periods."""
    document = json.loads(body)
    parameters = document["provenance"]["parameters"]
    return ModelTerms(
        drift=_active(document["model"]["drift"]),
        diffusion=_active(document["model"]["diffusion"]),
        domain=parameters.get("domain", {}),
        periodic=parameters.get("periodic", {}),
    )


def _active(components: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        key: {t["term"]: t["value"] for t in c["terms"] if t["active"]}
        for key, c in components.items()
    }


def _given(components: dict[str, dict[str, float]]) -> dict[str, Component]:
    return {
        key: Component(
            expression=expression(terms),
            terms=tuple(
                Term(term=name, value=value, active=value != 0) for name, value in terms.items()
            ),
        )
        for key, terms in components.items()
    }
