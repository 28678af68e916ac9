"""Laws of what the main process does beside Celery."""

import time
from collections.abc import Callable
from typing import NoReturn

import pytest

from contract.jobs import IdentificationJob
from contract.messages import Message
from storage.redis.jobs import JobStore
from storage.stores import StoreUnavailable
from worker.queue.lease import (
    OVERRUN,
    STRAY_BEATS,
    Overruns,
    Reaper,
    Running,
    Strays,
    owner,
    renew_leases,
)

TENANT = "lab"
JOB = IdentificationJob(kind="identification", dataset="ds_abc", timeout_seconds=7)


def test_a_lease_is_renewed_in_the_name_it_was_claimed_in(jobs: JobStore) -> None:
    mine, other = (jobs.submit(TENANT, JOB).record.id for _ in range(2))
    jobs.claim(mine, owner("host", "message"), 0.05)
    jobs.claim(other, owner("elsewhere", "message"), 0.05)
    running = [
        Running(mine, owner("host", "message"), 1),
        Running(other, owner("host", "message"), 2),
    ]
    assert renew_leases(jobs, 30, running) == running[1:]
    time.sleep(0.1)
    assert [again.job_id for again in jobs.reap()] == [other]


def test_a_child_whose_job_has_ended_is_stray_at_once_and_another_only_after_long(
    jobs: JobStore,
) -> None:
    cancelled, lost = (jobs.submit(TENANT, JOB).record.id for _ in range(2))
    for job_id in (cancelled, lost):
        jobs.claim(job_id, owner("host", "message"), 30)
    jobs.cancel(TENANT, cancelled)
    mine, other = Running(cancelled, "host/message", 1), Running(lost, "elsewhere", 2)
    strays = Strays(jobs)
    assert renew_leases(jobs, 30, [mine, other]) == [mine, other]
    seen = [strays.look([mine, other]) for _ in range(2)]
    assert seen == [frozenset(), {mine}]
    seen = [strays.look([other]) for _ in range(STRAY_BEATS - 2)]
    assert seen == [frozenset()] * (STRAY_BEATS - 3) + [{other}]


def test_a_job_that_overruns_its_estimate_leaves_a_worker_for_short_jobs(
    jobs: JobStore, open_jobs: Callable[..., JobStore]
) -> None:
    """One estimated at 3.3 s was at 0.3 of its work after 8.5 min."""
    small = open_jobs(queues=("small",))
    job_id, brief = (jobs.submit(TENANT, JOB).record.id for _ in range(2))
    small.claim(job_id, owner("host", "message"), 30)
    time.sleep(0.1)
    small.claim(brief, owner("host", "other"), 30)
    overruns = Overruns(small, ("small",), 0.1 / OVERRUN)
    running = [
        Running(job_id, owner("host", "message"), 1), Running(brief, owner("host", "other"), 2),
    ]  # fmt: skip
    assert overruns.look(running) == [], "nobody else would take it"
    jobs.beat("other", ["large"])
    assert Overruns(jobs, ("small", "large"), 0.0).look(running) == []
    assert overruns.look(running) == running[:1]
    assert not jobs.renew(job_id, running[0].owner, 30), "it is no longer its runner's"
    assert small.claim(job_id, "again", 30) is None, "its old message is still there"
    assert [(again.job_id, again.queue) for again in jobs.reap()] == [(job_id, "large")]
    claim = jobs.claim(job_id, "other", 30)
    assert claim is not None
    assert claim.attempt == 2


def test_a_lost_job_is_published_with_its_time_limit(jobs: JobStore) -> None:
    published = list[Message]()
    job_id = jobs.submit(TENANT, JOB, queue="large").record.id
    jobs.claim(job_id, "lost", 0.01)
    time.sleep(0.05)
    Reaper(jobs, published.append, 60.0).look()
    assert published == [Message(job_id, 7.0, "large")]


def test_after_the_store_was_away_those_who_live_renew_before_anybody_looks_for_lost_jobs(
    jobs: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = list[Message]()
    reaper = Reaper(jobs, published.append, 0.05)
    alive, lost = (jobs.submit(TENANT, JOB).record.id for _ in range(2))
    for job_id in (alive, lost):
        jobs.claim(job_id, job_id, 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(JobStore, "reap", unavailable)
        patch.setattr(JobStore, "open_jobs", unavailable)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                reaper.look()
    time.sleep(0.02)
    reaper.look()
    assert published == []
    jobs.renew(alive, alive, 30)
    time.sleep(0.06)
    reaper.look()
    assert [again.job_id for again in published] == [lost]


def test_a_publication_that_fails_is_told_and_keeps_the_reaper_from_nothing(
    open_jobs: Callable[..., JobStore],
) -> None:
    jobs, published = open_jobs(queued_grace=0.0), list[Message]()
    jobs.submit(TENANT, JOB)

    def publish(message: Message) -> None:
        published.append(message)
        if len(published) == 1:
            unavailable()

    reaper = Reaper(jobs, publish, 60.0)
    with pytest.raises(StoreUnavailable):
        reaper.look()
    reaper.look()
    assert len(published) == 2


def unavailable(*_: object) -> NoReturn:
    raise StoreUnavailable("away")
