"""Laws of what the main process does beside Celery."""

import time
from typing import NoReturn

import pytest

from contract.jobs import IdentificationJob
from contract.messages import Message
from storage.memory_jobs import MemoryJobStore
from storage.stores import StoreUnavailable
from worker.lease import Reaper, Running, owner, renew_leases, republish_lost

TENANT = "lab"
JOB = IdentificationJob(kind="identification", dataset="ds_abc", timeout_seconds=7)


def test_a_lease_is_renewed_in_the_name_it_was_claimed_in() -> None:
    jobs = MemoryJobStore()
    mine, other = (jobs.submit(TENANT, JOB).record.id for _ in range(2))
    jobs.claim(mine, owner("host", "message"), 0.05)
    jobs.claim(other, owner("elsewhere", "message"), 0.05)
    running = [Running(mine, owner("host", "message"), 1), Running(other, owner("host", "message"), 2)]
    assert renew_leases(jobs, 30, running) == running[1:]
    time.sleep(0.1)
    assert [again.job_id for again in jobs.reap()] == [other]


def test_a_lost_job_is_published_with_its_time_limit() -> None:
    jobs, published = MemoryJobStore(), list[Message]()
    job_id = jobs.submit(TENANT, JOB, queue="large").record.id
    jobs.claim(job_id, "lost", 0.01)
    time.sleep(0.05)
    republish_lost(jobs, published.append)
    assert published == [Message(job_id, 7.0, "large")]


def test_after_the_store_was_away_those_who_live_renew_before_anybody_looks_for_lost_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs, published = MemoryJobStore(), list[Message]()
    reaper = Reaper(jobs, published.append, 0.05)
    alive, lost = (jobs.submit(TENANT, JOB).record.id for _ in range(2))
    for job_id in (alive, lost):
        jobs.claim(job_id, job_id, 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(MemoryJobStore, "reap", unavailable)
        patch.setattr(MemoryJobStore, "open_jobs", unavailable)
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


def test_a_publication_that_fails_makes_the_reaper_rest_again() -> None:
    jobs = MemoryJobStore(queued_grace=0.0)
    jobs.submit(TENANT, JOB)
    reaper = Reaper(jobs, unavailable, 0.0)
    with pytest.raises(StoreUnavailable):
        reaper.look()
    assert reaper._answers_since is None


def unavailable(*_: object) -> NoReturn:
    raise StoreUnavailable("away")
