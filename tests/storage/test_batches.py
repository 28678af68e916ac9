"""Laws of batches: all jobs or none, counts that are the jobs' states, a retry of what failed."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from redis import Redis

from contract.batches import MOST_RECORDS, BatchCounts
from contract.jobs import IdentificationJob
from contract.problems import problem
from storage.names import new_batch_id, result_name
from storage.redis.jobs import JobStore
from storage.stores import BatchedJob, IdempotencyMismatch, QueueFull, TooManyJobs

OpenJobs = Callable[..., JobStore]
TENANT, LEASE = "lab", 30.0
WHY = problem(422, "too-few-samples", "Too few samples", "There are 3 increments.")


def records(count: int, **fields: object) -> Sequence[BatchedJob]:
    return [
        BatchedJob(
            f"trap {number}",
            number,
            IdentificationJob.model_validate(
                {
                    "kind": "identification",
                    "dataset": "ds_abc",
                    "trajectories": [number],
                    "labels": {"record": f"trap {number}"},
                    **fields,
                }
            ),
        )
        for number in range(count)
    ]


def submitted(jobs: JobStore, count: int, **how: object) -> str:
    return jobs.submit_batch(TENANT, records(count), **how).batch_id  # type: ignore[arg-type]


def counts(jobs: JobStore, batch_id: str) -> dict[str, int]:
    found = jobs.batch(TENANT, batch_id)
    assert found is not None
    return {name: count for name, count in found[0].counts.model_dump().items() if count}


def job_ids(jobs: JobStore, batch_id: str) -> list[str]:
    found = jobs.batch(TENANT, batch_id, 0, MOST_RECORDS)
    assert found is not None
    return [row.job for row in found[0].rows]


def ended(jobs: JobStore, job_id: str, state: str) -> None:
    claim = jobs.claim(job_id, "worker", LEASE)
    assert claim is not None
    if state == "failed":
        assert jobs.fail(job_id, claim.attempt, WHY)
    else:
        name = result_name(job_id, claim.attempt)
        assert jobs.succeed(job_id, claim.attempt, name, 10, '{"drift.x": "-x", "dt": 0.1}')


def test_every_job_of_a_batch_is_a_job_and_two_have_their_turn(jobs: JobStore) -> None:
    submission = jobs.submit_batch(TENANT, records(5), label="March", dataset="ds_abc")
    found = jobs.batch(TENANT, submission.batch_id, 0, 5)
    assert submission.created
    assert found is not None
    batch, open_job = found
    assert (batch.label, batch.dataset, batch.n_records) == ("March", "ds_abc", 5)
    assert [(row.number, row.record, row.trajectory) for row in batch.rows] == [
        (k, f"trap {k}", k) for k in range(5)
    ]
    first = jobs.get(TENANT, batch.rows[0].job)
    assert first is not None
    assert (first.state, first.request.labels) == ("queued", {"record": "trap 0"})
    assert open_job == batch.rows[4].job
    assert [message.job_id for message in submission.messages] == [r.job for r in batch.rows[:2]]
    assert len(jobs.list(TENANT)[0]) == 5


def test_counts_are_the_states_of_the_jobs_whatever_becomes_of_them(jobs: JobStore) -> None:
    batch = submitted(jobs, 6)
    ids = job_ids(jobs, batch)
    ended(jobs, ids[0], "succeeded")
    ended(jobs, ids[1], "failed")
    claim = jobs.claim(ids[2], "worker", LEASE)
    assert claim is not None
    jobs.cancel(TENANT, ids[3])
    lost = jobs.claim(ids[4], "worker", LEASE)
    assert lost is not None
    jobs.give_back(ids[4], lost.attempt)
    states = Counter(record.state for record in jobs.list(TENANT)[0])
    assert counts(jobs, batch) == dict(states)
    assert states == {"succeeded": 1, "failed": 1, "running": 1, "cancelled": 1, "queued": 2}


def test_a_row_holds_the_values_of_its_result_or_the_reason_for_none(jobs: JobStore) -> None:
    batch = submitted(jobs, 2)
    good, bad = job_ids(jobs, batch)
    ended(jobs, good, "succeeded")
    ended(jobs, bad, "failed")
    found = jobs.batch(TENANT, batch, 0, 2)
    assert found is not None
    assert found[0].rows[0].values == {"drift.x": "-x", "dt": 0.1}
    assert found[0].rows[1].error == WHY
    assert found[1] is None


def test_a_job_of_no_batch_keeps_no_values(jobs: JobStore, job_client: Redis) -> None:
    job_id = jobs.submit(TENANT, records(1)[0].job).record.id
    ended(jobs, job_id, "succeeded")
    assert job_client.hget(f"job:{job_id}", "values") is None


def test_a_retry_puts_new_jobs_in_the_places_of_failed_ones_alone(jobs: JobStore) -> None:
    batch = submitted(jobs, 3)
    before = job_ids(jobs, batch)
    for job_id, state in zip(before, ("failed", "succeeded", "failed"), strict=True):
        ended(jobs, job_id, state)
    messages = jobs.retry_batch(TENANT, batch)
    after = job_ids(jobs, batch)
    assert counts(jobs, batch) == {"queued": 2, "succeeded": 1}
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True, False]
    assert [message.job_id for message in messages] == [after[0], after[2]]
    again = jobs.get(TENANT, after[2])
    assert again is not None
    assert again.request == records(3)[2].job
    old = jobs.get(TENANT, before[0])
    assert old is not None
    assert (old.state, old.error) == ("failed", WHY)
    assert jobs.retry_batch(TENANT, batch) == ()
    jobs.forget(TENANT, before[0], 60)  # it belongs to the batch no more
    assert counts(jobs, batch) == {"queued": 2, "succeeded": 1}


def test_a_cancelled_batch_finishes_what_has_begun(jobs: JobStore) -> None:
    batch = submitted(jobs, 4)
    ids = job_ids(jobs, batch)
    claim = jobs.claim(ids[0], "worker", LEASE)
    assert claim is not None
    assert jobs.cancel_batch(TENANT, batch)
    assert counts(jobs, batch) == {"running": 1, "cancelled": 3}
    assert jobs.succeed(ids[0], claim.attempt, result_name(ids[0], claim.attempt))
    assert jobs.open_jobs(TENANT) == 0


def test_a_batch_is_accepted_whole_or_not_at_all(jobs: JobStore) -> None:
    submitted(jobs, 3)
    with pytest.raises(TooManyJobs) as too_many:
        submitted(jobs, 3, most_open_of_tenant=5)
    assert too_many.value.allowed == 2
    with pytest.raises(QueueFull) as full:
        submitted(jobs, 3, most_open=4)
    assert full.value.allowed == 1
    assert jobs.open_jobs(TENANT) == 3
    assert len(jobs.batches(TENANT)[0]) == 1
    submitted(jobs, 2, most_open_of_tenant=5)


def test_a_retry_obeys_the_bounds_and_changes_nothing_beyond_them(jobs: JobStore) -> None:
    batch = submitted(jobs, 3)
    for job_id in job_ids(jobs, batch):
        ended(jobs, job_id, "failed")
    with pytest.raises(TooManyJobs) as too_many:
        jobs.retry_batch(TENANT, batch, most_open_of_tenant=2)
    assert too_many.value.allowed == 2
    assert counts(jobs, batch) == {"failed": 3}


def test_the_same_key_is_the_same_batch_and_no_job(jobs: JobStore) -> None:
    how = {"idempotency_key": "K", "fingerprint": "one"}
    batch = submitted(jobs, 2, **how)
    again = jobs.submit_batch(TENANT, records(2), idempotency_key="K", fingerprint="one")
    assert (again.batch_id, again.created) == (batch, False)
    assert jobs.known_batch(TENANT, "K", "one") == batch
    with pytest.raises(IdempotencyMismatch):
        jobs.known_batch(TENANT, "K", "other")
    assert not jobs.remembers(TENANT, "K")
    with pytest.raises(IdempotencyMismatch):
        jobs.submit_batch(TENANT, records(3), idempotency_key="K", fingerprint="other")
    assert jobs.submit(TENANT, records(1)[0].job, idempotency_key="K", fingerprint="one").created
    assert jobs.open_jobs(TENANT) == 3


def test_a_repeated_call_records_no_second_batch(jobs: JobStore) -> None:
    batch_id = new_batch_id()
    assert [submitted(jobs, 2, batch_id=batch_id) for _ in range(2)] == [batch_id, batch_id]
    assert jobs.open_jobs(TENANT) == 2


def test_a_batch_is_kept_as_long_as_one_of_its_jobs(jobs: JobStore, job_client: Redis) -> None:
    batch = submitted(jobs, 2)
    ids = job_ids(jobs, batch)
    for job_id in ids:
        ended(jobs, job_id, "succeeded")
    jobs.forget(TENANT, ids[0], 60)
    assert counts(jobs, batch) == {"succeeded": 1, "gone": 1}
    found = jobs.batch(TENANT, batch, 0, 2)
    assert found is not None
    assert [row.state for row in found[0].rows] == [None, "succeeded"]
    jobs.forget(TENANT, ids[1], 60)
    assert jobs.batch(TENANT, batch) is None
    assert jobs.batches(TENANT) == ([], None)
    assert not list(job_client.scan_iter("*batch*"))


def test_nobody_else_sees_a_batch(jobs: JobStore) -> None:
    batch = submitted(jobs, 2)
    assert jobs.batch("other", batch) is None
    assert not jobs.cancel_batch("other", batch)
    with pytest.raises(KeyError):
        jobs.retry_batch("other", batch)
    assert jobs.batches("other") == ([], None)
    assert jobs.batch(TENANT, "batch_../secrets") is None


def test_batches_are_listed_newest_first_page_by_page(jobs: JobStore) -> None:
    made = [submitted(jobs, 1) for _ in range(5)]
    seen, cursor = [], None
    while True:
        page, cursor = jobs.batches(TENANT, limit=2, cursor=cursor)
        seen += [batch.id for batch in page]
        if cursor is None:
            break
    assert seen == made[::-1]
    assert page[0].counts == BatchCounts(queued=1)


def test_another_tenants_job_waits_for_two_of_a_batch_at_most(jobs: JobStore) -> None:
    batch = jobs.submit_batch(TENANT, records(50))
    other = jobs.submit("other", records(1)[0].job)
    sent = [*batch.messages, *other.messages]
    assert [message.job_id for message in sent].index(other.record.id) == 2
