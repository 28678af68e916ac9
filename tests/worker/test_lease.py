"""Laws of what the main process does beside Celery."""

import time

from contract.jobs import IdentificationJob
from contract.messages import Message
from storage.memory_jobs import MemoryJobStore
from worker.lease import owner, renew_leases, republish_lost

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
