"""Routes of jobs, from the request of a computation to its result."""

import hashlib
import time
from typing import Annotated, Any

import structlog
from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Header, Query, Request, Response

from contract.base import Document
from contract.kinds import JobRequest
from contract.messages import Message, QueueName
from contract.records import JobList, JobRecord
from service.dependencies import Context, Tenant
from service.errors import Refusal
from service.readers import strict_json
from service.requests import request_body, submissions
from service.requests.layouts import LayoutQuery
from service.requests.listing import JobPage, job_page, parameters
from service.responses import draws, npz
from service.responses.job_results import (
    RETRY_AFTER,
    known,
    preferred_seconds,
    stored_result,
    until_terminal,
)
from service.responses.representations import (
    FOREVER,
    chosen,
    digest_of,
    document,
    etag_of,
    form_content,
    headers,
    json_content,
    problems,
    unchanged,
)
from storage import retention_sweep
from storage.stores import Submission

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
_log = structlog.get_logger("service")

WAIT = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`wait=N`: respond when the job has ended, or after N seconds (at most 60).",
    "schema": {"type": "string", "examples": ["wait=30"]},
}
_ACCEPTED: dict[str, Any] = {
    **json_content("JobRequest"),
    **form_content("job", job="JobRequest", layout="Layout"),
}
_FOLLOWED = headers(
    Location="Address of the job.",
    Retry_After="Recommended number of seconds before the next request; absent once the job has "
    "ended.",
    Preference_Applied="The waiting time that was applied.",
    ETag="Version of the job record.",
)
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="A key that you choose for this job. A repeated request with the same key "
        "returns the first job's record.",
    ),
]


class JobCheck(Document):
    """A valid job."""

    request: JobRequest
    """The job as it would be recorded."""
    estimated_seconds: float
    """Estimated computing time on one core, to within a factor of about three [s]."""


@router.post(
    "",
    status_code=202,
    summary="Start a job",
    response_model=JobRecord,
    responses={
        202: {"description": "The job was accepted and will run.", "headers": _FOLLOWED},
        200: {
            "model": JobRecord,
            "description": "The job ended within the requested waiting time.",
            "headers": _FOLLOWED,
        },
        **problems(400, 401, 408, 413, 415, 422, 503, 507),
    },
    openapi_extra={"requestBody": {"required": True, "content": _ACCEPTED}, "parameters": [WAIT]},
)
async def submit_job(
    request: Request,
    context: Context,
    tenant: Tenant,
    query: Annotated[LayoutQuery, Query()],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Send the job as JSON, with the id of a `dataset` or with the `data` themselves.

    To upload a file in the same request, send a multipart form with the parts `file`, `job` (JSON)
    and, if needed, `layout` (JSON, or as query parameters).
    """
    began = time.time_ns()

    def is_repeated() -> bool:
        if idempotency_key and context.stores.jobs.remembers(tenant, idempotency_key):
            return True
        context.admission.job(tenant)
        context.admission.body(request_body.announced(request))
        return False

    # A repeated job has its record, however full the store is and whatever was deleted since.
    repeated = await run_sync(is_repeated)
    with context.admission.receiving(tenant):
        job, datasets = await submissions.received(request, context, tenant, query, repeated)
    seconds = 0.0 if repeated else submissions.estimated_seconds(job, datasets)
    queue: QueueName = "large" if seconds > context.settings.large_job_seconds else "small"

    # These steps share one thread, because each change of threads costs as much as the steps do.
    def submitted() -> Submission:
        submission = context.stores.jobs.submit(
            tenant,
            job,
            idempotency_key=idempotency_key,
            fingerprint=fingerprint_of(job),
            queue=queue,
            most_open=context.settings.max_open_jobs,
            most_open_of_tenant=0 if repeated else context.settings.max_open_jobs_of_tenant,
        )
        if submission.created:
            # This line connects the request's id with the job's.
            _log.info("job accepted", job_id=submission.record.id, queue=queue)
            said = {"itoscope.kind": job.kind, "itoscope.request": str(request.scope["request_id"])}
            context.traces.submitted(submission.record.id, began, said)
        for message in submission.messages:
            publish(context, message)
        return submission

    submission = await run_sync(submitted)
    record: JobRecord | None = submission.record
    assert record is not None
    extra = {"Location": f"/v1/jobs/{record.id}"}
    if not submission.created:
        extra["Idempotent-Replayed"] = "true"
    return await _followed(request, context, tenant, record, extra, pending=202)


@router.post(
    "/validate",
    summary="Check a job",
    response_model=JobCheck,
    responses=problems(400, 401, 408, 413, 415, 422, 503, 507),
    openapi_extra={"requestBody": {"required": True, "content": _ACCEPTED}},
)
async def validate_job(
    request: Request, context: Context, tenant: Tenant, query: Annotated[LayoutQuery, Query()]
) -> Response:
    """Check a job as for starting it, and return it with every default filled in.

    Nothing is run. Data in the request become a dataset, which can be named when the job is
    started.
    """
    await run_sync(context.admission.body, request_body.announced(request))
    with context.admission.receiving(tenant):
        job, datasets = await submissions.received(request, context, tenant, query)
    return document(
        request,
        JobCheck(request=job, estimated_seconds=submissions.estimated_seconds(job, datasets)),
    )


@router.get(
    "",
    summary="List jobs",
    response_model=JobList,
    responses=problems(401, 422, 503),
    openapi_extra={"parameters": parameters()},
)
def list_jobs(
    request: Request, context: Context, tenant: Tenant, page: Annotated[JobPage, Depends(job_page)]
) -> Response:
    """List your jobs, newest first: all of them, or those that match every filter given.

    Continue with `next_cursor` until it is null: with several filters a page may be short, or
    empty, before the end.
    """
    records, cursor = context.stores.jobs.list(
        tenant, page.wanted, limit=page.limit, cursor=page.cursor
    )
    return document(
        request, JobList(items=tuple(record.linked for record in records), next_cursor=cursor)
    )


@router.get(
    "/{job_id}",
    summary="Get a job",
    response_model=JobRecord,
    responses={
        200: {"headers": _FOLLOWED},
        304: {"description": "Not modified."},
        **problems(401, 404, 410, 503),
    },
    openapi_extra={"parameters": [WAIT]},
)
async def get_job(request: Request, context: Context, tenant: Tenant, job_id: str) -> Response:
    """Return the job's record: its state, its progress and, if it failed, the reason.

    Honours `Prefer: wait=N` and `If-None-Match`.
    """
    record = await run_sync(context.stores.jobs.get, tenant, job_id)
    return await _followed(request, context, tenant, known(record), {}, pending=200)


@router.get(
    "/{job_id}/result",
    summary="Fetch a result",
    response_model=None,
    responses={
        200: {
            "description": "The result. It never changes.",
            "content": {
                **json_content("Result"),
                npz.MEDIA_TYPE: {"schema": {"type": "string", "contentMediaType": npz.MEDIA_TYPE}},
            },
            "headers": headers(
                ETag="Version of the result in this format.",
                Cache_Control="Immutable.",
                Vary="`Accept`.",
            ),
        },
        304: {"description": "Not modified."},
        **problems(401, 404, 406, 409, 410, 503),
    },
)
def get_job_result(request: Request, context: Context, tenant: Tenant, job_id: str) -> Response:
    """Return the model with its errors and the quantities derived from it; 409 if there is none.

    With `Accept: application/x-npz` the response is an archive for `numpy.load`. It holds every
    array by its place in the document (`generator.stationary.density.values`), the numbers of
    lists of objects as arrays (`generator.spectrum.eigenvalues.re`), NaN for null, and the
    document itself as `document`.
    """
    _, body = stored_result(context, tenant, job_id)
    form = chosen(request, ("application/json", npz.MEDIA_TYPE))
    varies = {"Vary": "Accept"}
    if form == "application/json":
        return document(request, body, cache=FOREVER, headers=varies)
    fields = {**varies, "ETag": etag_of(body, "-npz"), "Cache-Control": FOREVER}
    if unchanged(request, fields["ETag"]):
        return Response(status_code=304, headers=fields)
    packed = npz.archive(body)
    named = {"Content-Disposition": f'attachment; filename="{job_id}.npz"'}
    return Response(
        packed, headers={**fields, **named, **digest_of(packed)}, media_type=npz.MEDIA_TYPE
    )


@router.get(
    "/{job_id}/draws",
    summary="Draw models",
    response_model=None,
    responses={
        200: {
            "description": "Models drawn around the estimate. Equal seeds give equal models.",
            "model": draws.Draws,
            "content": {
                npz.MEDIA_TYPE: {"schema": {"type": "string", "contentMediaType": npz.MEDIA_TYPE}}
            },
            "headers": headers(
                ETag="Version of the models in this format.",
                Cache_Control="Immutable.",
                Vary="`Accept`.",
            ),
        },
        304: {"description": "Not modified."},
        **problems(401, 404, 406, 409, 410, 422, 503),
    },
)
def get_job_draws(
    request: Request,
    context: Context,
    tenant: Tenant,
    job_id: str,
    count: Annotated[int, Query(ge=1, le=draws.MOST, description="Number of models.")] = 500,
    seed: Annotated[
        int, Query(ge=0, lt=2**32, description="Seed: equal seeds give equal models.")
    ] = 0,
) -> Response:
    """Draw models from the distribution that the confidence intervals have; 409 if there is none.

    Each model has a likely set of terms, with coefficients from their covariance; the spread of
    any function of these is its uncertainty. With `Accept: application/x-npz` the response is an
    archive for `numpy.load` with `drift.x.coefficients`, an array of a row for each model, and
    `drift.x.terms`, the same of every component.
    """
    _, body = stored_result(context, tenant, job_id)
    form = chosen(request, ("application/json", npz.MEDIA_TYPE))
    packed = form == npz.MEDIA_TYPE
    version = f"-draws-{count}-{seed}{'-npz' if packed else ''}"
    fields = {"Vary": "Accept", "ETag": etag_of(body, version), "Cache-Control": FOREVER}
    if unchanged(request, fields["ETag"]):
        return Response(status_code=304, headers=fields)
    found = draws.drawn(body, count, seed, packed=packed)
    if packed:
        fields["Content-Disposition"] = f'attachment; filename="{job_id}-draws.npz"'
    return Response(found, headers={**fields, **digest_of(found)}, media_type=form)


@router.post(
    "/{job_id}/cancel",
    status_code=202,
    summary="Cancel a job",
    response_model=JobRecord,
    responses=problems(401, 404, 410, 503),
)
def cancel_job(request: Request, context: Context, tenant: Tenant, job_id: str) -> Response:
    """Cancel a queued or running job, which will have no result.

    A job that has ended stays as it is.
    """
    return document(request, known(context.stores.jobs.cancel(tenant, job_id)).linked, 202)


@router.delete(
    "/{job_id}",
    status_code=204,
    summary="Delete a job",
    responses=problems(401, 404, 409, 410, 503),
)
def delete_job(context: Context, tenant: Tenant, job_id: str) -> Response:
    """Delete the record and result of a job that has ended; any other must be cancelled first."""
    record = known(context.stores.jobs.get(tenant, job_id))
    if not retention_sweep.delete_job(context.stores, tenant, job_id, context.settings.retention):
        raise Refusal(
            "job-not-finished",
            f"The job is {record.state}. Only a job that has ended can be deleted.",
            f"POST /v1/jobs/{job_id}/cancel first.",
        )
    return Response(status_code=204)


def fingerprint_of(asked: Document) -> str:
    """Return the SHA-256 of a job or batch, by which a repetition is told from another.

    Defaults are left out: a field that a later version adds does not make it another.
    """
    whole = asked.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return hashlib.sha256(strict_json.canonical(whole)).hexdigest()


def publish(context: Context, message: Message) -> None:
    """Send a message to the workers; where that fails the reaper will."""
    try:
        context.queue.publish(message)
    except Exception as error:
        # The record is enough: the reaper publishes again the jobs that no worker has claimed.
        _log.warning("not published", job_id=message.job_id, error=type(error).__name__)


async def _followed(
    request: Request,
    context: Context,
    tenant: str,
    record: JobRecord,
    extra: dict[str, str],
    *,
    pending: int,
) -> Response:
    """Respond with the record, now or after the requested wait."""
    seconds = preferred_seconds(request)
    fields = dict(extra)
    if seconds is not None:
        record = known(await until_terminal(request, context, tenant, record, seconds))
        fields["Preference-Applied"] = f"wait={seconds}"
    if not record.terminal:
        fields["Retry-After"] = RETRY_AFTER
    done = record.terminal and (seconds is not None or pending == 200)
    return document(request, record.linked, 200 if done else pending, headers=fields)
