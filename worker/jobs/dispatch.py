"""A claimed job, done: load, compute, describe. Everything a job needs besides the queue."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from contract.datasets import Dataset
from contract.generator import ModelOfJob, ModelTerms
from contract.jobs import DataJob, GeneratorJob, IdentificationJob
from contract.problems import Problem, ProblemError, problem
from contract.results import GeneratorResult, IdentificationResult
from contract.rolling import RollingJob, RollingResult
from contract.sweep import SweepJob, SweepResult
from grammar.terms import variable_name
from storage.stores import Claim, Forgotten, Stores
from worker import pipeline
from worker.comparison import plot_data
from worker.documents import results, rolling
from worker.documents import sweep as sweep_documents
from worker.fan_out.policy import packed_sums, summing_with
from worker.fan_out.serialization import unpack
from worker.fan_out.shards import Share, Sum
from worker.generator.errors import GeneratorError
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import IdentificationError
from worker.identification.sums.block_sums import Summing
from worker.jobs import parameter_sets
from worker.jobs import rolling as rolling_pipeline
from worker.problems import JobProblem, of_core
from worker.progress import Report


def execute(
    claim: Claim, stores: Stores, report: Report, share: Share, fan_out_increments: float
) -> IdentificationResult | GeneratorResult | RollingResult | SweepResult:
    """The result of a job. Raises JobProblem where data or model cannot answer it, and whatever `report` and `share` raise.

    fan_out_increments   a pass over more of them is shared out
    """
    try:
        if isinstance(claim.job, IdentificationJob):
            return _identification(claim, claim.job, stores, report, summing_with(share, fan_out_increments))
        if isinstance(claim.job, RollingJob):
            return _rolling(claim, claim.job, stores, report)
        if isinstance(claim.job, SweepJob):
            return _sweep(claim, claim.job, stores, report, summing_with(share, fan_out_increments))
        assert isinstance(claim.job, GeneratorJob)
        return _generator(claim, claim.job, stores, report)
    except (IdentificationError, GeneratorError) as error:
        raise JobProblem(of_core(error)) from error


@contextmanager
def helper(claim: Claim, stores: Stores, work: bytes, shards: int) -> Iterator[Sum]:
    """How to sum shards of another worker's job. Raises JobProblem where its data are gone."""
    assert isinstance(claim.job, DataJob), "no other job has data"
    with _opened(stores, claim.tenant, _dataset_of(claim, claim.job, stores)) as data:
        yield partial(packed_sums, unpack(work, data), shards)


def _identification(
    claim: Claim, job: IdentificationJob, stores: Stores, report: Report, summing: Summing
) -> IdentificationResult:
    begun = time.monotonic()
    dataset = _dataset_of(claim, job, stores)
    with _opened(stores, claim.tenant, dataset) as data:
        answer = pipeline.identify(data, job.parameters, report, summing)
        analysed, comparison = pipeline.judged(answer, data, job.analysis, report)
        seen = plot_data.of_answer(answer, data, None if analysed is None else analysed.generator, job.analysis.confidence)
    report(0.95, "writing", "result")
    seconds = time.monotonic() - begun
    return results.identification_result(claim.job_id, job, dataset, answer, analysed, comparison, seen, seconds)


def _rolling(claim: Claim, job: RollingJob, stores: Stores, report: Report) -> RollingResult:
    begun = time.monotonic()
    dataset = _dataset_of(claim, job, stores)
    with _opened(stores, claim.tenant, dataset) as data:
        found = rolling_pipeline.roll_along(data, job.parameters, job.windows, report)
    report(0.95, "writing", "result")
    return rolling.rolling_result(claim.job_id, job, dataset, found, time.monotonic() - begun)


def _sweep(claim: Claim, job: SweepJob, stores: Stores, report: Report, summing: Summing) -> SweepResult:
    begun = time.monotonic()
    dataset = _dataset_of(claim, job, stores)
    with _opened(stores, claim.tenant, dataset) as data:
        found = parameter_sets.swept(data, list(job.parameter_sets().values()), job.analysis, report, summing)
    report(0.95, "writing", "result")
    return sweep_documents.sweep_result(claim.job_id, job, dataset, found, time.monotonic() - begun)


def _dataset_of(claim: Claim, job: DataJob, stores: Stores) -> Dataset:
    """The job's, with every variable that its parameters name."""
    dataset = stores.datasets.get(claim.tenant, job.dataset) if job.dataset is not None else None
    if dataset is None:
        raise JobProblem(_dataset_gone(job.dataset))
    variables = [v.name for v in dataset.report.variables]
    for place, parameters in job.parameter_sets().items():
        _check_variables(f"{place}/domain", parameters.domain, variables)
        _check_variables(f"{place}/periodic", parameters.periodic, variables)
    return dataset


def _generator(claim: Claim, job: GeneratorJob, stores: Stores, report: Report) -> GeneratorResult:
    begun = time.monotonic()
    model = _model_of_job(claim.tenant, job.model, stores) if isinstance(job.model, ModelOfJob) else job.model
    variables = [variable_name(i) for i in range(len(model.drift))]
    _check_variables("model/drift", model.drift, variables)
    _check_variables("model/diffusion", model.diffusion, [f"{v},{w}" for v, w in product(variables, repeat=2)])
    _check_variables("model/domain", model.domain, variables)
    _check_variables("model/periodic", model.periodic, variables)
    analysed = pipeline.analyse_terms(model, job.analysis, report)
    seen = plot_data.of_terms(pipeline.process_of(model), analysed.generator)
    return results.generator_result(claim.job_id, job, model, analysed, time.monotonic() - begun, seen)


@contextmanager
def _opened(stores: Stores, tenant: str, dataset: Dataset) -> Iterator[Trajectories]:
    """The dataset as memory maps: memory does not grow with it."""
    try:
        files = stores.datasets.files(tenant, dataset.id)
        with files as folder:
            yield Trajectories(
                *(np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("states", "times", "segments"))
            )
    except KeyError as error:
        raise JobProblem(_dataset_gone(dataset.id)) from error


def _model_of_job(tenant: str, reference: ModelOfJob, stores: Stores) -> ModelTerms:
    """The active terms of an earlier job's model."""
    try:
        name = stores.jobs.result_name(tenant, reference.job)
    except Forgotten:
        name = None
    body = None if name is None else stores.results.get(tenant, name)
    if body is None:
        raise JobProblem(
            _invalid("model/job", f"job {reference.job} has no result", "Wait until that job has succeeded, then submit again.")
        )
    return results.model_terms(body)


def _check_variables(where: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        detail = f"there is no {unknown[0]!r} here; known: {', '.join(known)}"
        raise JobProblem(_invalid(f"{where}/{unknown[0]}", detail, f"Use {' or '.join(known[:6])}."))


def _invalid(pointer: str, detail: str, hint: str) -> Problem:
    return problem(
        422,
        "invalid-request",
        "The job does not fit the data or model",
        detail[:1].upper() + detail[1:] + ".",
        errors=(ProblemError(detail=detail, pointer=f"#/{pointer}"),),
        hints=(hint,),
    )


def _dataset_gone(dataset: str | None) -> Problem:
    return problem(
        422,
        "dataset-gone",
        "The dataset is not there",
        f"Dataset {dataset} was deleted after the job was accepted.",
        hints=("Upload the data again and submit the job anew.",),
    )
