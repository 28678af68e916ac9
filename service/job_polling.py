"""One look at the store for all who wait for a job: two hundred callers cost it as much as one."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from anyio.to_thread import run_sync

from storage.redis.jobs import JobStore

SOONEST_LOOK, LATEST_LOOK = 0.015, 0.1
"""Seconds between two looks."""
SOONEST_LOOK_FOR_EVENTS = 0.05
"""Workers tell of progress five times a second at most."""
PATIENCE = 0.1
"""The look that finds a job ended comes later by this share, at most, of the time that the latest caller has waited."""

Seen = TypeVar("Seen")


class JobWatch:
    """Waits in the event loop. Looks only while somebody waits, so that nothing has to be started or stopped."""

    def __init__(self, jobs: JobStore, stopping: threading.Event) -> None:
        self._ends = _SharedLook(jobs.ended, stopping, SOONEST_LOOK)
        self._events = _SharedLook(jobs.newest_events, stopping, SOONEST_LOOK_FOR_EVENTS)

    async def ended(self, job_id: str, seconds: float) -> bool:
        """Whether the job ended within so many seconds, or the process was asked to stop, so that waiting is over.

        Raises StoreUnavailable.
        """
        try:
            await self._ends.until(job_id, lambda ended: job_id in ended, seconds)
        except TimeoutError:
            return False
        return True

    async def newest_event(self, job_id: str, known: str | None, seconds: float) -> str | None:
        """Id of the newest event, as soon as it is another than the `known` one; after so many seconds, or where the process
        was asked to stop, that one. None where the job's events are gone. Raises StoreUnavailable.
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


class _SharedLook(Generic[Seen]):
    """One question to the store about many jobs, asked again and again for all who wait for its answer to change."""

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
        """The first answer that is news; None where the process was asked to stop. Raises TimeoutError, StoreUnavailable."""
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
            await asyncio.sleep(min(max(PATIENCE * waited, self._soonest), LATEST_LOOK))
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
            # Whoever was answered is gone from the set once the loop has turned.
            self._waiters.difference_update([waiter for waiter in asked if waiter.news.done()])
