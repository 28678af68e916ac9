"""Routes of batches: the same job for each of many records, and the table of the results."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import structlog
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response

from contract.batches import MOST_RECORDS, Batch, BatchList
from service.dependencies import Context, Tenant, still_admitted, unauthorized
from service.errors import Refusal
from service.requests import request_body
from service.requests.batches import batched_jobs, received_batch
from service.requests.listing import Page
from service.responses import batch_table
from service.responses.job_results import CONNECTION_LOOK, RETRY_AFTER, preferred_seconds
from service.responses.representations import (
    chosen,
    digest_of,
    document,
    etag_of,
    headers,
    json_content,
    problems,
)
from service.routes.jobs import WAIT, IdempotencyKey, fingerprint_of, publish
from storage import retention_sweep
from storage.names import new_batch_id
from storage.stores import BatchSubmission, InvalidCursor, QueueFull, TooManyJobs

router = APIRouter(prefix="/v1/batches", tags=["batches"])
_log = structlog.get_logger("service")

_FOLLOWED = headers(
    Location="Address of the batch.",
    Retry_After="Recommended number of seconds before the next request; absent once all jobs have "
    "ended.",
)


Limit = Annotated[int, Query(ge=1, le=200, description="Number of rows per page.")]
Cursor = Annotated[
    str | None, Query(max_length=200, description="Value of `next_cursor` from the previous page.")
]
Format = Annotated[
    Literal["json", "csv"] | None,
    Query(description="`csv`: the whole table as CSV, as with `Accept: text/csv`."),
]


@router.post(
    "",
    status_code=202,
    summary="Start a batch",
    response_model=Batch,
    responses={
        202: {"description": "The batch was accepted and will run.", "headers": _FOLLOWED},
        **problems(400, 401, 408, 413, 415, 422, 503, 507),
    },
    openapi_extra={"requestBody": {"required": True, "content": json_content("BatchRequest")}},
)
async def submit_batch(
    request: Request, context: Context, tenant: Tenant, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start the same job for each of up to 1000 records.

    The records are `datasets`, or the trajectories of one `dataset`. All are checked, and all jobs
    are accepted or none. Every job is a job of its own, labelled with its `batch` and `record`.
    """
    await run_sync(context.admission.body, request_body.announced(request))
    with context.admission.receiving(tenant):
        asked = await received_batch(request, context)
    settings, fingerprint = context.settings, fingerprint_of(asked)

    def submitted() -> BatchSubmission:
        jobs = context.stores.jobs
        if idempotency_key is not None:
            known = jobs.known_batch(tenant, idempotency_key, fingerprint)
            if known is not None:
                return BatchSubmission(known, created=False)
        context.admission.job(tenant)
        batch_id = new_batch_id()
        made = batched_jobs(context, tenant, asked, batch_id)
        with _refused_whole(len(made)):
            submission = jobs.submit_batch(
                tenant,
                made,
                batch_id=batch_id,
                label=asked.label,
                dataset=asked.dataset,
                labels=asked.job.labels,
                idempotency_key=idempotency_key,
                fingerprint=fingerprint,
                most_open=settings.max_open_jobs,
                most_open_of_tenant=settings.max_open_jobs_of_tenant,
            )
        if submission.created:
            _log.info("batch accepted", batch_id=submission.batch_id, jobs=len(made))
        for message in submission.messages:
            publish(context, message)
        return submission

    submission = await run_sync(submitted)
    batch, _ = await run_sync(_known, context, tenant, submission.batch_id)
    fields = {"Location": f"/v1/batches/{batch.id}", "Retry-After": RETRY_AFTER}
    if not submission.created:
        fields["Idempotent-Replayed"] = "true"
    return document(request, batch.linked, 202, headers=fields)


@router.get("", summary="List batches", response_model=BatchList, responses=problems(401, 422, 503))
def list_batches(
    request: Request, context: Context, tenant: Tenant, page: Annotated[Page, Query()]
) -> Response:
    """List your batches, newest first, without their rows."""
    found, cursor = context.stores.jobs.batches(tenant, limit=page.limit, cursor=page.cursor)
    items = tuple(batch.linked for batch in found)
    return document(request, BatchList(items=items, next_cursor=cursor))


@router.get(
    "/{batch_id}",
    summary="Get a batch",
    response_model=Batch,
    responses={
        200: {
            "content": {batch_table.MEDIA_TYPE: {"schema": {"type": "string"}}},
            "headers": headers(
                Retry_After="Recommended number of seconds before the next request; absent once "
                "all jobs have ended.",
                ETag="Version of the batch.",
                Vary="`Accept`.",
            ),
        },
        304: {"description": "Not modified."},
        **problems(401, 404, 406, 422, 503),
    },
    openapi_extra={"parameters": [WAIT]},
)
async def get_batch(
    request: Request,
    context: Context,
    tenant: Tenant,
    batch_id: str,
    limit: Limit = 50,
    cursor: Cursor = None,
    format: Format = None,
) -> Response:
    """Return the numbers of jobs in each state, and a page of the table: a row for each record.

    A row has the job's id and state; if it failed, the reason; if it succeeded, the formulas,
    coefficients and time scales of its model by the name of their column. `Prefer: wait=N` waits
    until all jobs have ended. With `Accept: text/csv` or `format=csv` the response is the whole
    table.
    """
    first = _first_row(cursor)
    await run_sync(_known, context, tenant, batch_id)
    form = {"csv": batch_table.MEDIA_TYPE, "json": "application/json"}.get(format or "")
    form = form or chosen(request, ("application/json", batch_table.MEDIA_TYPE))
    seconds = preferred_seconds(request)
    if seconds:
        await _until_ended(request, context, tenant, batch_id, seconds)
    if form == batch_table.MEDIA_TYPE:
        return await run_sync(_table, request, context, tenant, batch_id)
    batch, _ = await run_sync(_known, context, tenant, batch_id, first, limit)
    fields = {"Vary": "Accept"} | ({"Retry-After": RETRY_AFTER} if batch.counts.open else {})
    if seconds is not None:
        fields["Preference-Applied"] = f"wait={seconds}"
    return document(request, batch.linked, headers=fields)


@router.post(
    "/{batch_id}/retry",
    status_code=202,
    summary="Retry failed jobs",
    response_model=Batch,
    responses={202: {"headers": _FOLLOWED}, **problems(401, 404, 503, 507)},
)
def retry_batch(request: Request, context: Context, tenant: Tenant, batch_id: str) -> Response:
    """Start a new job in the place of each failed one; without failed jobs nothing happens.

    The failed jobs stay as they are, as jobs of their own.
    """
    known, _ = _known(context, tenant, batch_id)
    context.admission.job(tenant)
    settings = context.settings
    with _refused_whole(known.counts.failed):
        messages = context.stores.jobs.retry_batch(
            tenant,
            batch_id,
            most_open=settings.max_open_jobs,
            most_open_of_tenant=settings.max_open_jobs_of_tenant,
        )
    for message in messages:
        publish(context, message)
    batch, _ = _known(context, tenant, batch_id)
    return document(request, batch.linked, 202, headers={"Location": f"/v1/batches/{batch_id}"})


@router.post(
    "/{batch_id}/cancel",
    status_code=202,
    summary="Cancel a batch",
    response_model=Batch,
    responses=problems(401, 404, 503),
)
def cancel_batch(request: Request, context: Context, tenant: Tenant, batch_id: str) -> Response:
    """Cancel the jobs that no worker has begun. Those that run go on, and keep their results."""
    if not context.stores.jobs.cancel_batch(tenant, batch_id):
        raise _unknown()
    batch, _ = _known(context, tenant, batch_id)
    return document(request, batch.linked, 202)


@router.delete(
    "/{batch_id}",
    status_code=204,
    summary="Delete a batch",
    responses=problems(401, 404, 409, 503),
)
def delete_batch(context: Context, tenant: Tenant, batch_id: str) -> Response:
    """Delete a batch whose jobs have all ended, with its jobs and their results."""
    batch, _ = _known(context, tenant, batch_id, 0, MOST_RECORDS)
    if batch.counts.open:
        raise Refusal(
            "job-not-finished",
            f"{batch.counts.open} jobs of the batch have not ended.",
            f"POST /v1/batches/{batch_id}/cancel first, and wait for those that run.",
        )
    for row in batch.rows:
        if row.state is not None:
            retention = context.settings.retention
            retention_sweep.delete_job(context.stores, tenant, row.job, retention)
    context.admission.freed(tenant)
    return Response(status_code=204)


def _known(
    context: Context, tenant: str, batch_id: str, first: int = 0, limit: int = 0
) -> tuple[Batch, str | None]:
    """Return the batch and its last open job. Raises Refusal (not-found)."""
    found = context.stores.jobs.batch(tenant, batch_id, first, limit)
    if found is None:
        raise _unknown()
    return found


def _unknown() -> Refusal:
    return Refusal(
        "not-found",
        "There is no such batch. A batch is kept as long as one of its jobs.",
        "GET /v1/batches lists your batches.",
    )


def _table(request: Request, context: Context, tenant: str, batch_id: str) -> Response:
    batch, _ = _known(context, tenant, batch_id, 0, MOST_RECORDS)
    body = batch_table.csv_of(batch.rows).encode("utf-8", "replace")
    fields = {
        "ETag": etag_of(body, "-csv"),
        "Vary": "Accept",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'attachment; filename="{batch_id}.csv"',
        **digest_of(body),
    }
    return Response(body, headers=fields, media_type=f"{batch_table.MEDIA_TYPE}; charset=utf-8")


def _first_row(cursor: str | None) -> int:
    """Return the number of a page's first row. Raises Refusal (invalid-request)."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 6):
        raise InvalidCursor("no page of a batch gave this cursor")
    return int(cursor)


async def _until_ended(
    request: Request, context: Context, tenant: str, batch_id: str, seconds: int
) -> None:
    """Wait until all jobs of the batch have ended, or the time is over.

    It waits for the last open job, of which few are left behind. Raises Refusal (not-found,
    unauthorized).
    """
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and not context.stopping.is_set():
        _, open_job = await run_sync(_known, context, tenant, batch_id)
        if open_job is None or await request.is_disconnected():
            return
        await context.watch.ended(open_job, min(left, CONNECTION_LOOK))
        if not still_admitted(request, context, tenant):
            raise unauthorized()


@contextmanager
def _refused_whole(jobs: int) -> Iterator[None]:
    """Say of a batch that exceeds the number of open jobs how many would be accepted."""
    try:
        yield
    except QueueFull as error:
        own = isinstance(error, TooManyJobs)
        whose = "of your jobs" if own else "jobs"
        raise Refusal(
            "too-many-jobs" if own else "queue-full",
            f"The batch has {jobs} jobs, and {error.allowed} more {whose} may wait or run now. "
            "None of them was accepted.",
            "Submit it again when some jobs have ended, or send fewer records.",
            headers={"Retry-After": "5" if own else "10"},
        ) from None
