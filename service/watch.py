"""One look at the store for all who wait for a job: two hundred callers cost it as much as one."""

import asyncio
import threading
import time
from dataclasses import dataclass, field

from anyio.to_thread import run_sync

from storage.stores import JobStore

SOONEST_LOOK, LATEST_LOOK = 0.015, 0.1
"""Seconds between two looks."""
PATIENCE = 0.1
"""The look that finds a job ended comes later by this share, at most, of the time that the latest caller has waited."""


@dataclass(slots=True, eq=False)
class _Waiter:
    job_id: str
    since: float = field(default_factory=time.monotonic)
    news: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class JobWatch:
    """Waits in the event loop. Looks only while somebody waits, so that nothing has to be started or stopped."""

    def __init__(self, jobs: JobStore, stopping: threading.Event) -> None:
        self._jobs = jobs
        self._stopping = stopping
        self._waiters: set[_Waiter] = set()
        self._looking: asyncio.Task[None] | None = None

    async def ended(self, job_id: str, seconds: float) -> bool:
        """Whether the job ended within so many seconds, or the process was asked to stop, so that waiting is over.

        Raises StoreUnavailable.
        """
        waiter = _Waiter(job_id)
        self._waiters.add(waiter)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            await asyncio.wait_for(waiter.news, seconds)
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)
        return True

    async def _look(self) -> None:
        while self._waiters:
            waited = time.monotonic() - max(waiter.since for waiter in self._waiters)
            await asyncio.sleep(min(max(PATIENCE * waited, SOONEST_LOOK), LATEST_LOOK))
            asked = tuple(self._waiters)
            try:
                names = sorted({waiter.job_id for waiter in asked})
                still_open = frozenset() if self._stopping.is_set() else await run_sync(self._jobs.still_open, names)
            except Exception as error:
                for waiter in asked:
                    if not waiter.news.done():
                        waiter.news.set_exception(error)
            else:
                for waiter in asked:
                    if waiter.job_id not in still_open and not waiter.news.done():
                        waiter.news.set_result(None)
            # Whoever was answered is gone from the set once the loop has turned.
            self._waiters.difference_update([waiter for waiter in asked if waiter.news.done()])
