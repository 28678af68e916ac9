"""Waiting for a job (`Prefer: wait=N`, RFC 7240) without holding a thread or a connection to the store."""

import re
import time

import anyio
from anyio.to_thread import run_sync
from fastapi import Request

from contract.jobs import JobRecord
from service.dependencies import Context

LONGEST = 60
"""Seconds that one request may wait."""

_FIRST_LOOK, _RAREST_LOOK = 0.05, 0.5
_WAIT = re.compile(r"wait\s*=\s*\"?(\d{1,9})\"?", re.IGNORECASE)


def preferred_seconds(request: Request) -> int | None:
    """N of `Prefer: wait=N`, at most LONGEST; None where the caller does not want to wait."""
    for preference in ",".join(request.headers.getlist("prefer")).split(","):
        match = _WAIT.fullmatch(preference.split(";")[0].strip())
        if match is not None:
            return min(int(match[1]), LONGEST)
    return None


async def until_terminal(request: Request, context: Context, tenant: str, record: JobRecord, seconds: int) -> JobRecord | None:
    """The record when the job has ended or the time is over; None where the job is gone. Raises StoreUnavailable."""
    end = time.monotonic() + seconds
    pause = _FIRST_LOOK
    current: JobRecord | None = record
    while current is not None and not current.terminal and not context.stopping.is_set():
        left = end - time.monotonic()
        if left <= 0 or await request.is_disconnected():
            break
        await anyio.sleep(min(pause, left))
        pause = min(1.5 * pause, _RAREST_LOOK)
        current = await run_sync(context.stores.jobs.get, tenant, record.id)
    return current
