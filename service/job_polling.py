"""Shared polling of the store for all callers that wait for jobs: 200 cost it as much as one."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from anyio.to_thread import run_sync

from storage.redis.jobs import JobStore

MIN_INTERVAL = 0.015
MAX_INTERVAL = 0.1
"""Seconds between two polls."""
MIN_EVENT_INTERVAL = 0.05
"""Seconds between two polls for events: workers report progress at most five times a second."""
BACKOFF = 0.1
"""Largest delay of a poll, as a fraction of the time that the newest caller has waited."""

Seen = TypeVar("Seen")


class JobWatch:
    """Waits for jobs in the event loop.

    The store is polled only while somebody waits, so nothing has to be started or stopped.
    """

    def __init__(self, jobs: JobStore, stopping: threading.Event) -> None:
        self._ends = _SharedPoll(jobs.ended, stopping, MIN_INTERVAL)
        self._events = _SharedPoll(jobs.newest_events, stopping, MIN_EVENT_INTERVAL)

    async def ended(self, job_id: str, seconds: float) -> bool:
        """Wait at most `seconds` for the job to end; return whether waiting is over.

        It is also over if the process was asked to stop. Raises StoreUnavailable.
        """
        try:
            await self._ends.until(job_id, lambda ended: job_id in ended, seconds)
        except TimeoutError:
            return False
        return True

    async def newest_event(self, job_id: str, known: str | None, seconds: float) -> str | None:
        """Return the id of the newest event as soon as it differs from `known`.

        After `seconds`, or if the process was asked to stop, return `known`; return None if the
        job's events are gone. Raises StoreUnavailable.
        """
        try:
            newest = await self._events.until(
                job_id, lambda newest: newest.get(job_id) != known, seconds
            )
        except TimeoutError:
            return known
        return known if newest is None else newest.get(job_id)


@dataclass(slots=True, eq=False)
class _Waiter(Generic[Seen]):
    job_id: str
    is_news: Callable[[Seen], bool]
    since: float = field(default_factory=time.monotonic)
    news: asyncio.Future[Seen | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class _SharedPoll(Generic[Seen]):
    """One query about many jobs, repeated for all callers that wait for its result to change."""

    def __init__(
        self, look: Callable[[Sequence[str]], Seen], stopping: threading.Event, soonest: float
    ) -> None:
        self._look_at = look
        self._stopping = stopping
        self._soonest = soonest
        self._waiters: set[_Waiter[Seen]] = set()
        self._looking: asyncio.Task[None] | None = None

    async def until(
        self, job_id: str, is_news: Callable[[Seen], bool], seconds: float
    ) -> Seen | None:
        """Return the first result that is news; None if the process was asked to stop.

        Raises TimeoutError, StoreUnavailable.
        """
        waiter = _Waiter(job_id, is_news)
        self._waiters.add(waiter)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            return await asyncio.wait_for(waiter.news, seconds)
        finally:
            self._waiters.discard(waiter)

    async def _look(self) -> None:
        while self._waiters:
            waited = time.monotonic() - max(waiter.since for waiter in self._waiters)
            await asyncio.sleep(min(max(BACKOFF * waited, self._soonest), MAX_INTERVAL))
            asked = tuple(self._waiters)
            try:
                names = sorted({waiter.job_id for waiter in asked})
                seen = None if self._stopping.is_set() else await run_sync(self._look_at, names)
            except Exception as error:
                for waiter in asked:
                    if not waiter.news.done():
                        waiter.news.set_exception(error)
            else:
                for waiter in asked:
                    if (seen is None or waiter.is_news(seen)) and not waiter.news.done():
                        waiter.news.set_result(seen)
            # Callers with an answer leave the set themselves, but only after the loop has turned.
            self._waiters.difference_update([waiter for waiter in asked if waiter.news.done()])
