"""Waiting for a job (`Prefer: wait=N`, RFC 7240) without holding a thread or a connection."""

import re
import time

from anyio.to_thread import run_sync
from fastapi import Request

from contract.records import JobRecord
from service.dependencies import Context, still_admitted, unauthorized

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
        raise unauthorized()
    return await run_sync(context.stores.jobs.get, tenant, record.id)
