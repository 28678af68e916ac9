"""Batch submissions: one job for each of many records, checked before any is accepted."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request
from pydantic import ValidationError

from contract.batches import MOST_LABELS, MOST_RECORDS, OWN_LABELS, BatchRequest
from contract.datasets import Dataset
from contract.jobs import DataJob, Job
from contract.kinds import JOB_REQUEST
from contract.messages import QueueName
from contract.problems import ProblemError
from service.dependencies import Context
from service.errors import Refusal
from service.readers import strict_json
from service.requests import request_body, uploads
from service.requests.submissions import (
    check_data,
    check_job,
    check_trajectories,
    estimated_seconds,
    invalid,
)
from service.responses import deprecation
from service.validation_errors import MOST, document_faults, pointer
from storage.stores import BatchedJob

_WHAT = "The batch"
_SCHEMA = "The JSON Schema of batches is at /v1/schemas/batch-request."


async def received_batch(request: Request, context: Context) -> BatchRequest:
    """Read and check the batch that a request submits; its records are not looked at.

    Raises Refusal (unsupported-media-type, body-too-large, invalid-request, invalid-json).
    """
    if uploads.media_type(request) != "application/json":
        raise Refusal(
            "unsupported-media-type",
            "A batch must be sent as application/json.",
            "Upload the data first with POST /v1/datasets, then name the dataset.",
        )
    settings = context.settings
    body = await request_body.whole(request, settings.max_job_bytes, settings.body_idle_seconds)
    given = await run_sync(strict_json.parse, body)
    asked = await run_sync(_parsed, given)
    deprecation.note(request, deprecation.used(asked.job, given["job"]))
    with _inside("job"):
        job = check_job(asked.job, settings)
    return asked.model_copy(update={"job": job})


def _parsed(given: Any) -> BatchRequest:
    """Return the batch. Raises Refusal, which names every field at fault."""
    job: Job | None = None
    faults: tuple[ProblemError, ...] = ()
    if isinstance(given, dict) and "job" in given:
        try:
            job = JOB_REQUEST.validate_python(given["job"])
        except ValidationError as error:
            faults = document_faults(error, given["job"], "job")
    rest = {**given, "job": job} if isinstance(given, dict) and job is not None else given
    try:
        asked = BatchRequest.model_validate(rest)
    except ValidationError as error:
        others = document_faults(error, given)
        faults += tuple(fault for fault in others if not (fault.pointer or "").startswith("#/job/"))
        asked = None
    if asked is None or faults:
        raise invalid(_WHAT, faults[:MOST], (_SCHEMA,))
    _check_template(asked.job)
    _check_records(asked)
    return asked


def _check_template(job: Job) -> None:
    if not isinstance(job, DataJob):
        raise _fault(f"a batch is of jobs on data, and a {job.kind} job has none", "job", "kind")
    for name in ("dataset", "data", "trajectories", "groups", "datasets"):
        if getattr(job, name, None):
            raise _fault("the batch names the data, not its job: leave this out", "job", name)
    for label in OWN_LABELS:
        if label in job.labels:
            raise _fault(
                f"the service gives this label to every job of a batch; the others are yours, "
                f"{MOST_LABELS} at most",
                *("job", "labels", label),
            )
    if len(job.labels) > MOST_LABELS:
        raise _fault(f"may have {MOST_LABELS} entries in a batch", "job", "labels")


def _check_records(asked: BatchRequest) -> None:
    if (asked.datasets is None) == (asked.dataset is None):
        found = "found none" if asked.datasets is None else "found both"
        raise _fault(f"give the records once: `datasets` or `dataset`; {found}", "datasets")
    if asked.trajectories is not None and asked.dataset is None:
        raise _fault("is for the trajectories of one `dataset`", "trajectories")
    for name in ("datasets", "trajectories"):
        given: Sequence[Any] = getattr(asked, name) or ()
        first: dict[Any, int] = {}
        for place, record in enumerate(given):
            if first.setdefault(record, place) < place:
                raise _fault(f"is named twice: here and at {first[record]}", name, place)


def batched_jobs(
    context: Context, tenant: str, asked: BatchRequest, batch_id: str
) -> Sequence[BatchedJob]:
    """Return the job of each record, checked with its data. This reads from the stores.

    Raises Refusal (invalid-request, body-too-large), StoreUnavailable.
    """
    template = asked.job
    assert isinstance(template, DataJob), "checked when it was received"
    if asked.dataset is not None:
        dataset = _known(context, tenant, asked.dataset, "dataset")
        records = _trajectories(context, tenant, asked, dataset)
        first = records[0][1]
        with _inside("job"):
            check_data(template.model_copy(update={"trajectories": (first,)}), dataset)
    else:
        records = _datasets(context, tenant, asked.datasets or (), template)
    size, most = len(template.model_dump_json(by_alias=True)), context.settings.max_json_bytes
    if size * len(records) > most:
        raise Refusal(
            "body-too-large",
            f"The jobs of this batch would take {size * len(records) / 1e6:.0f} MB, and may take "
            f"{most / 1e6:.0f} MB.",
            "Send fewer records in a batch, or fewer parameters.",
        )
    return [_batched(context, template, batch_id, *record) for record in records]


_Record = tuple[str, int | None, Dataset]


def _trajectories(
    context: Context, tenant: str, asked: BatchRequest, dataset: Dataset
) -> list[_Record]:
    """Return the name and number of each trajectory that is a record."""
    check_trajectories(asked.trajectories or (), dataset, _WHAT)
    numbers = asked.trajectories or tuple(range(dataset.report.n_trajectories))
    if len(numbers) > MOST_RECORDS:
        raise _fault(
            f"has {len(numbers)} trajectories; a batch has {MOST_RECORDS} records at most",
            "dataset",
            hint="Give the numbers of some in `trajectories`, and the others to further batches.",
        )
    names = context.stores.datasets.trajectory_names(tenant, dataset.id)
    return [(names[k] if k < len(names) else f"trajectory {k}", k, dataset) for k in numbers]


def _datasets(
    context: Context, tenant: str, ids: Sequence[str], template: DataJob
) -> list[_Record]:
    """Return each dataset that is a record. Raises Refusal, which names all that cannot be used."""
    records: list[_Record] = []
    faults: dict[str, ProblemError] = {}
    hints: tuple[str, ...] = ()
    for place, dataset_id in enumerate(ids):
        try:
            dataset = _known(context, tenant, dataset_id, "datasets", place)
            with _inside("job"):
                check_data(template, dataset)
        except Refusal as refusal:
            here = pointer("datasets", place)
            for fault in refusal.errors:
                # A word that is no variable is the job's fault, which needs no repetition.
                of_job = (fault.pointer or "").startswith("#/job/parameters")
                detail = f"{fault.detail} (#{place} of the datasets)" if of_job else fault.detail
                at = (fault.pointer or here) if of_job else here
                faults.setdefault(at, ProblemError(detail=detail, pointer=at))
            hints = tuple(dict.fromkeys((*hints, *refusal.hints)))
            if len(faults) >= MOST:
                break
        else:
            records.append((dataset.label or dataset.id, None, dataset))
    if faults:
        raise invalid(_WHAT, tuple(faults.values())[:MOST], hints[:4])
    return records


def _batched(
    context: Context,
    template: DataJob,
    batch_id: str,
    name: str,
    trajectory: int | None,
    dataset: Dataset,
) -> BatchedJob:
    own: Mapping[str, str] = dict(zip(OWN_LABELS, (batch_id, name[:255]), strict=True))
    job = template.model_copy(
        update={
            "dataset": dataset.id,
            "trajectories": None if trajectory is None else (trajectory,),
            "labels": {**template.labels, **own},
        }
    )
    long = estimated_seconds(job, (dataset,)) > context.settings.large_job_seconds
    queue: QueueName = "large" if long else "small"
    return BatchedJob(name, trajectory, job, queue)


def _known(context: Context, tenant: str, dataset_id: str, *place: str | int) -> Dataset:
    dataset = context.stores.datasets.get(tenant, dataset_id)
    if dataset is None:
        raise _fault(
            "there is no such dataset",
            *place,
            hint="POST /v1/datasets uploads one; GET /v1/datasets lists yours.",
        )
    return dataset


def _fault(detail: str, *place: str | int, hint: str = _SCHEMA) -> Refusal:
    return invalid(_WHAT, (ProblemError(detail=detail, pointer=pointer(*place)),), (hint,))


@contextmanager
def _inside(name: str) -> Iterator[None]:
    """Put the name before the place of every fault of a refusal raised inside."""
    try:
        yield
    except Refusal as refusal:
        refusal.errors = tuple(
            fault.model_copy(
                update={"pointer": f"#/{name}{(fault.pointer or '#').removeprefix('#')}"}
            )
            for fault in refusal.errors
        )
        raise
