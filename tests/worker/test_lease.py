"""Laws of what the main process does beside Celery."""

import threading
import time

from contract.jobs import IdentificationJob
from contract.messages import Message
from storage.memory_jobs import MemoryJobStore
from storage.stores import StoreUnavailable
from worker.lease import every, owner, renew_leases, republish_lost
from worker.pulse import Pulse

TENANT = "lab"
JOB = IdentificationJob(kind="identification", dataset="ds_abc", timeout_seconds=7)


def test_a_lease_is_renewed_in_the_name_it_was_claimed_in() -> None:
    jobs = MemoryJobStore()
    mine, other = (jobs.submit(TENANT, JOB).record.id for _ in range(2))
    jobs.claim(mine, owner("host", "message"), 0.05)
    jobs.claim(other, owner("elsewhere", "message"), 0.05)
    renew_leases(jobs, 30, [(mine, owner("host", "message")), (other, owner("host", "message"))])
    time.sleep(0.1)
    assert [again.job_id for again in jobs.reap()] == [other]


def test_a_lost_job_is_published_with_its_time_limit() -> None:
    jobs, published = MemoryJobStore(), list[Message]()
    job_id = jobs.submit(TENANT, JOB, queue="large").record.id
    jobs.claim(job_id, "lost", 0.01)
    time.sleep(0.05)
    republish_lost(jobs, published.append)
    assert published == [Message(job_id, 7.0, "large")]


def test_a_loop_goes_on_whatever_happens() -> None:
    enough, errors = threading.Event(), iter([StoreUnavailable("away"), ValueError("a fault"), StoreUnavailable("away")])

    def act() -> None:
        error = next(errors, None)
        if error is not None:
            raise error
        enough.set()

    thread = every(0.01, "testing", act)
    assert enough.wait(5)
    assert thread.daemon


def test_a_worker_gives_no_sign_of_life_before_its_queue_is_connected_and_then_at_once() -> None:
    jobs, pulse = MemoryJobStore(), Pulse()

    def beat() -> None:
        if pulse.fresh():
            jobs.beat("worker")

    every(60, "testing", beat)
    time.sleep(0.05)
    assert jobs.workers_alive(60) == 0
    pulse.tick()
    end = time.monotonic() + 5
    while not jobs.workers_alive(60) and time.monotonic() < end:
        time.sleep(0.01)
    assert jobs.workers_alive(60) == 1
