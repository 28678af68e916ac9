"""Waiting for a job (`Prefer: wait=N`, RFC 7240), and its stored result or the reason for none."""

import re
import time

from anyio.to_thread import run_sync
from fastapi import Request

from contract.records import JobRecord
from service.dependencies import Context, still_admitted, unauthorized
from service.errors import Refusal

LONGEST = 60
"""Longest wait of one request [s]."""

CONNECTION_LOOK = 5.0
"""Seconds between two checks whether the caller is still connected."""
_WAIT = re.compile(r"wait\s*=\s*\"?(\d{1,9})\"?", re.IGNORECASE)


def preferred_seconds(request: Request) -> int | None:
    """Return N of `Prefer: wait=N`, at most LONGEST; None if the caller does not want to wait."""
    for preference in ",".join(request.headers.getlist("prefer")).split(","):
        match = _WAIT.fullmatch(preference.split(";")[0].strip())
        if match is not None:
            return min(int(match[1]), LONGEST)
    return None


async def until_terminal(
    request: Request, context: Context, tenant: str, record: JobRecord, seconds: int
) -> JobRecord | None:
    """Return the record when the job has ended or the time is over; None if the job is gone.

    Raises StoreUnavailable, Refusal (unauthorized) if the key was revoked meanwhile.
    """
    if record.terminal or seconds == 0:
        return record
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and not context.stopping.is_set():
        if await request.is_disconnected() or await context.watch.ended(
            record.id, min(left, CONNECTION_LOOK)
        ):
            break
        if not still_admitted(request, context, tenant):
            break
    if not still_admitted(request, context, tenant):
        raise unauthorized()
    return await run_sync(context.stores.jobs.get, tenant, record.id)


RETRY_AFTER = "1"
"""Seconds after which a caller should ask again for a job that has not ended."""


def known(record: JobRecord | None) -> JobRecord:
    """Return the record. Raises Refusal (not-found) if there is none."""
    if record is None:
        raise Refusal("not-found", "There is no such job.", "GET /v1/jobs lists your jobs.")
    return record


def stored_result(context: Context, tenant: str, job_id: str) -> tuple[JobRecord, bytes]:
    """Return the record of a job that succeeded, and its result as it was written.

    Raises Refusal (not-found, job-not-finished, job-failed, job-cancelled, gone), Forgotten,
    StoreUnavailable.
    """
    record = known(context.stores.jobs.get(tenant, job_id))
    if record.state != "succeeded":
        raise _without_result(record)
    name = context.stores.jobs.result_name(tenant, job_id)
    body = context.stores.results.get(tenant, name) if name is not None else None
    if body is None:
        raise Refusal("gone", "The result is no longer available.", "Submit the job again.")
    return record, body


def _without_result(record: JobRecord) -> Refusal:
    if record.error is not None:
        return Refusal(
            "job-failed", record.error.detail, *record.error.hints, errors=record.error.errors
        )
    if record.state == "cancelled":
        return Refusal("job-cancelled", "The job was cancelled and has no result.")
    return Refusal(
        "job-not-finished",
        f"The job is {record.state}.",
        f"Wait with GET /v1/jobs/{record.id} and Prefer: wait=60.",
        headers={"Retry-After": RETRY_AFTER},
    )
