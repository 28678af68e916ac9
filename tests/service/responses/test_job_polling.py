"""All who wait share one look at the store; it finds what ended, for whoever waits for it, and says
when it cannot."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

import pytest

from service.job_polling import MAX_INTERVAL, JobWatch
from storage.stores import StoreUnavailable


class _Jobs:
    """Counts the looks."""

    def __init__(self) -> None:
        self.open: set[str] = {"job_a", "job_b"}
        self.newest = {"job_a": "1-0", "job_b": "1-0"}
        self.looks = 0
        self.away = False

    def newest_events(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        self.looks += 1
        if self.away:
            raise StoreUnavailable("away")
        return {name: event for name, event in self.newest.items() if name in job_ids}

    def ended(self, job_ids: Sequence[str]) -> frozenset[str]:
        self.looks += 1
        if self.away:
            raise StoreUnavailable("away")
        return frozenset(job_ids) - self.open


async def _later(seconds: float, act: Callable[[], object]) -> None:
    await asyncio.sleep(seconds)
    act()


def _run(story: Callable[[_Jobs, JobWatch, threading.Event], Coroutine[Any, Any, None]]) -> None:
    jobs, stopping = _Jobs(), threading.Event()
    asyncio.run(story(jobs, JobWatch(jobs, stopping), stopping))  # type: ignore[arg-type]


def test_two_hundred_wait_at_the_price_of_one() -> None:
    async def looks_of(callers: int) -> int:
        jobs = _Jobs()
        watch = JobWatch(jobs, threading.Event())  # type: ignore[arg-type]
        waiting: list[Awaitable[bool]] = [watch.ended("job_a", 30) for _ in range(callers)]
        answers = await asyncio.gather(*waiting, _later(0.5, lambda: jobs.open.discard("job_a")))
        assert answers[:-1] == [True] * callers
        return jobs.looks

    # Fewer looks on a busy machine, never more.
    assert asyncio.run(looks_of(200)) <= 0.5 / 0.015 + 2


def test_each_hears_of_its_own_job_only() -> None:
    async def story(jobs: _Jobs, watch: JobWatch, _: threading.Event) -> None:
        a, b, _none = await asyncio.gather(
            watch.ended("job_a", 5),
            watch.ended("job_b", 0.3),
            _later(0.05, lambda: jobs.open.discard("job_a")),
        )
        assert (a, b) == (True, False)

    _run(story)


def test_looking_ends_with_the_last_who_waits_and_begins_again_with_the_next() -> None:
    async def story(jobs: _Jobs, watch: JobWatch, _: threading.Event) -> None:
        assert not await watch.ended("job_a", 0.1)
        await asyncio.sleep(2 * MAX_INTERVAL)
        looks = jobs.looks
        await asyncio.sleep(3 * MAX_INTERVAL)
        assert jobs.looks == looks
        jobs.open.clear()
        assert await watch.ended("job_b", 5)

    _run(story)


def test_a_store_that_is_away_is_told_to_all_and_the_next_wait_works() -> None:
    async def story(jobs: _Jobs, watch: JobWatch, _: threading.Event) -> None:
        jobs.away = True
        answers = await asyncio.gather(
            watch.ended("job_a", 5), watch.ended("job_b", 5), return_exceptions=True
        )
        assert [type(answer) for answer in answers] == [StoreUnavailable] * 2
        jobs.away = False
        jobs.open.clear()
        assert await watch.ended("job_a", 5)

    _run(story)


def test_waiting_is_over_when_the_process_is_asked_to_stop() -> None:
    async def story(_jobs: _Jobs, watch: JobWatch, stopping: threading.Event) -> None:
        begun = time.monotonic()
        answer, _none = await asyncio.gather(watch.ended("job_a", 30), _later(0.05, stopping.set))
        assert answer
        assert time.monotonic() - begun < 15

    _run(story)


def test_a_caller_who_gives_up_leaves_the_others_waiting() -> None:
    async def story(jobs: _Jobs, watch: JobWatch, _: threading.Event) -> None:
        gives_up = asyncio.ensure_future(watch.ended("job_a", 30))
        stays = asyncio.ensure_future(watch.ended("job_a", 30))
        await asyncio.sleep(0.05)
        gives_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gives_up
        jobs.open.clear()
        assert await stays

    _run(story)


def test_two_hundred_followers_hear_of_news_at_the_price_of_one() -> None:
    async def story(jobs: _Jobs, watch: JobWatch, _: threading.Event) -> None:
        following: list[Awaitable[str | None]] = [
            watch.newest_event("job_a", "1-0", 30) for _ in range(200)
        ]
        elsewhere = watch.newest_event("job_b", "1-0", 0.6)
        *answers, other, _none = await asyncio.gather(
            *following, elsewhere, _later(0.5, lambda: jobs.newest.update(job_a="2-0"))
        )
        assert (answers, other) == (["2-0"] * 200, "1-0")
        assert jobs.looks <= 0.6 / 0.015 + 2

    _run(story)


def test_whoever_knows_less_than_the_newest_event_hears_of_it_at_once() -> None:
    async def story(jobs: _Jobs, watch: JobWatch, _: threading.Event) -> None:
        assert await watch.newest_event("job_a", "0-5", 30) == "1-0"
        assert jobs.looks == 1
        del jobs.newest["job_a"]
        assert await watch.newest_event("job_a", "1-0", 30) is None

    _run(story)


def test_followers_are_told_of_a_stop_and_of_a_store_that_is_away() -> None:
    async def story(jobs: _Jobs, watch: JobWatch, stopping: threading.Event) -> None:
        jobs.away = True
        with pytest.raises(StoreUnavailable):
            await watch.newest_event("job_a", "1-0", 30)
        jobs.away = False
        begun = time.monotonic()
        known, _none = await asyncio.gather(
            watch.newest_event("job_a", "1-0", 30), _later(0.05, stopping.set)
        )
        assert known == "1-0"
        assert time.monotonic() - begun < 15

    _run(story)
