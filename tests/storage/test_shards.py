"""Laws of a job whose sums are shared out."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from redis import Redis

from contract.jobs import IdentificationJob
from contract.messages import HELP_JOB, RUN_JOB
from storage.blobs import Blobs, ResultStore
from storage.configuration import Retention
from storage.names import new_job_id, part_name, result_name
from storage.redis.jobs import ATTEMPT_CAP, JobStore
from storage.retention_sweep import delete_job, sweep
from storage.stores import LeftParts, ShardClaim, Stores, timed_out

OpenJobs = Callable[..., JobStore]
TENANT = "lab"
LEASE = 30.0
BRIEF = 0.05
PASS = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2
JOB = IdentificationJob(kind="identification", dataset="ds_abc", timeout_seconds=7)


def running(jobs: JobStore, lease: float = LEASE) -> str:
    job_id = jobs.submit(TENANT, JOB, queue="large").record.id
    assert jobs.claim(job_id, "runner", lease)
    return job_id


def shared(jobs: JobStore, shards: int = 3, lease: float = LEASE) -> str:
    job_id = running(jobs, lease)
    assert jobs.fan_out(job_id, 1, PASS, shards)
    return job_id


def claimed(
    jobs: JobStore, job_id: str, owner: str = "helper", lease: float = LEASE, **options: bool
) -> ShardClaim:
    claim = jobs.claim_shard(job_id, owner, lease, **options)
    assert claim is not None
    return claim


def committed(jobs: JobStore, claim: ShardClaim) -> bool:
    return jobs.commit_shard(claim, part_name(claim.pass_name, claim.number, claim.attempt))


def test_each_shard_is_claimed_once_from_either_end_and_the_join_sees_their_parts_in_order(
    jobs: JobStore,
) -> None:
    job_id = shared(jobs)
    first, last, middle = (
        claimed(jobs, job_id),
        claimed(jobs, job_id, last=True),
        claimed(jobs, job_id),
    )
    assert [(c.number, c.attempt, c.shards, c.pass_name) for c in (first, middle, last)] == [
        (n, 1, 3, PASS) for n in range(3)
    ]
    assert (first.of.job_id, first.of.tenant, first.of.attempt, first.of.job) == (
        job_id,
        TENANT,
        1,
        JOB,
    )
    assert jobs.claim_shard(job_id, "late", LEASE) is None
    assert jobs.parts(job_id, 1, PASS) == [None, None, None]
    assert committed(jobs, last)
    assert committed(jobs, first)
    assert jobs.parts(job_id, 1, PASS) == [part_name(PASS, 0, 1), None, part_name(PASS, 2, 1)]
    assert committed(jobs, middle)
    assert jobs.claim_shard(job_id, "late", LEASE) is None


def test_of_claims_that_race_each_shard_goes_to_one(jobs: JobStore) -> None:
    job_id = shared(jobs, 5)
    with ThreadPoolExecutor(12) as pool:
        claims = list(pool.map(lambda n: jobs.claim_shard(job_id, f"helper{n}", LEASE), range(12)))
    assert sorted(claim.number for claim in claims if claim) == list(range(5))


def test_a_silent_holders_shard_is_anothers_and_its_late_commit_is_refused(jobs: JobStore) -> None:
    job_id = shared(jobs, 1)
    slow = claimed(jobs, job_id, "slow", BRIEF)
    assert jobs.claim_shard(job_id, "quick", LEASE) is None
    time.sleep(2 * BRIEF)
    quick = claimed(jobs, job_id, "quick")
    assert quick.attempt == 2
    assert not jobs.renew(job_id, "slow", LEASE)
    assert not committed(jobs, slow)
    assert jobs.parts(job_id, 1, PASS) == [None]
    assert committed(jobs, quick)
    assert committed(jobs, quick), "repeated after its answer was lost"
    assert not committed(jobs, slow)


def test_a_shard_given_back_is_anothers_at_once_and_no_attempt_of_its_cap(jobs: JobStore) -> None:
    job_id = shared(jobs, 1)
    for attempt in range(1, 2 * ATTEMPT_CAP):
        claim = claimed(jobs, job_id)
        assert claim.attempt == attempt
        jobs.give_back_shard(claim)
        jobs.give_back_shard(claim)
        assert not jobs.renew(job_id, "helper", LEASE)
    assert jobs.tally().happened.get("shard_lost", 0) == 0
    claim = claimed(jobs, job_id, "another")
    jobs.give_back_shard(replace(claim, attempt=claim.attempt - 1))
    assert committed(jobs, claim), "it was another attempt that was given back"


def test_a_renewed_shard_stays_its_holders(jobs: JobStore) -> None:
    job_id = shared(jobs, 1)
    claim = claimed(jobs, job_id, "helper", BRIEF)
    assert jobs.renew(job_id, "helper", LEASE)
    assert not jobs.renew(job_id, "stranger", LEASE)
    time.sleep(2 * BRIEF)
    assert jobs.claim_shard(job_id, "another", LEASE) is None
    assert committed(jobs, claim)
    assert not jobs.renew(job_id, "helper", LEASE), "it holds nothing any more"


def test_the_runners_renewal_keeps_the_job_and_its_shards(jobs: JobStore) -> None:
    job_id = shared(jobs, 1, lease=BRIEF)
    claimed(jobs, job_id, "runner", BRIEF)
    assert jobs.renew(job_id, "runner", LEASE)
    time.sleep(2 * BRIEF)
    assert jobs.claim(job_id, "another", LEASE) is None
    assert jobs.claim_shard(job_id, "another", LEASE) is None


def test_what_a_lost_attempt_had_of_the_same_pass_counts_for_the_next(jobs: JobStore) -> None:
    job_id = shared(jobs, 2, lease=BRIEF)
    assert committed(jobs, claimed(jobs, job_id))
    time.sleep(2 * BRIEF)
    assert jobs.claim(job_id, "second", LEASE)
    held = claimed(jobs, job_id)
    assert held.of.attempt == 2
    assert jobs.parts(job_id, 1, PASS) is None
    assert not jobs.fan_out(job_id, 1, OTHER, 2), "a runner that woke up late spoils nothing"
    assert jobs.fan_out(job_id, 2, PASS, 2)
    assert jobs.parts(job_id, 2, PASS) == [part_name(PASS, 0, 1), None]
    assert committed(jobs, held)


def test_another_pass_begins_anew_and_shards_of_the_one_before_are_fenced(jobs: JobStore) -> None:
    job_id = shared(jobs, 2)
    old = claimed(jobs, job_id)
    assert jobs.fan_out(job_id, 1, OTHER, 2)
    assert not committed(jobs, old)
    assert jobs.parts(job_id, 1, PASS) is None
    assert jobs.parts(job_id, 1, OTHER) == [None, None]


@pytest.mark.parametrize("how", ["cancelled", "failed", "succeeded"])
def test_with_its_job_a_shard_ends(jobs: JobStore, how: str) -> None:
    job_id = shared(jobs)
    claim = claimed(jobs, job_id)
    if how == "cancelled":
        jobs.cancel(TENANT, job_id)
    elif how == "succeeded":
        jobs.succeed(job_id, 1, result_name(job_id, 1))
    else:
        jobs.fail(job_id, 1, timed_out())
    assert not jobs.renew(job_id, "helper", LEASE)
    assert not committed(jobs, claim)
    assert jobs.claim_shard(job_id, "late", LEASE) is None
    assert jobs.parts(job_id, 1, PASS) is None
    assert not jobs.fan_out(job_id, 1, PASS, 3)
    assert jobs.reap() == []


def test_shards_that_nobody_works_on_are_published_again_and_no_others(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(queued_grace=0.6)
    job_id = shared(jobs, 4)
    claimed(jobs, job_id)
    lost = claimed(jobs, job_id, "lost", BRIEF)
    assert committed(jobs, claimed(jobs, job_id))
    assert jobs.reap() == [], "their messages may still be under way"
    time.sleep(0.7)
    again = jobs.reap()
    assert [(m.job_id, m.task, m.queue, m.timeout_seconds) for m in again] == [
        (job_id, HELP_JOB, "large", 7.0)
    ] * 2
    assert jobs.reap() == []
    assert claimed(jobs, job_id).number == lost.number


def test_while_messages_stand_in_line_no_shard_is_published_again(
    open_jobs: OpenJobs, set_messages_waiting: Callable[[bool], None]
) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    job_id = jobs.submit(TENANT, JOB).record.id
    jobs.claim(job_id, "runner", LEASE)
    jobs.fan_out(job_id, 1, PASS, 2)
    set_messages_waiting(True)
    time.sleep(2 * BRIEF)
    assert jobs.reap() == []
    set_messages_waiting(False)
    time.sleep(2 * BRIEF)
    assert [message.task for message in jobs.reap()] == [HELP_JOB] * 2


def test_a_lost_runner_is_published_beside_its_shards(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    shared(jobs, 2, lease=BRIEF)
    time.sleep(3 * BRIEF)
    assert [message.task for message in jobs.reap()] == [RUN_JOB, HELP_JOB, HELP_JOB]


def test_a_clock_that_was_set_back_delays_no_lost_shard(
    open_jobs: OpenJobs, job_client: Redis
) -> None:
    jobs, by = open_jobs(queued_grace=BRIEF), 600.0
    job_id = shared(jobs, 2)
    claimed(jobs, job_id, "lost", by + BRIEF)
    job_client.zincrby("jobs:shared", by, job_id)
    time.sleep(3 * BRIEF)
    job_client.set("jobs:clock", time.time() + by)
    assert [message.task for message in jobs.reap()] == [RUN_JOB, HELP_JOB, HELP_JOB]


def test_a_shard_that_is_lost_again_and_again_fails_its_job(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(attempt_cap=2)
    job_id = shared(jobs, 1)
    for _ in range(2):
        claimed(jobs, job_id, "dies", BRIEF)
        time.sleep(2 * BRIEF)
    assert jobs.claim_shard(job_id, "wary", LEASE) is None
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert record.error is not None
    assert (record.state, record.error.code) == ("failed", "worker-lost")


def test_shards_count_as_no_jobs(jobs: JobStore) -> None:
    shared(jobs, 10)
    assert (jobs.open_jobs(), jobs.open_jobs(TENANT), jobs.tally().queued) == (1, 1, 0)


@pytest.mark.parametrize("odd", ["", "job_", "jobs:due", "../etc/passwd"])
def test_an_odd_id_has_no_shards(jobs: JobStore, odd: str) -> None:
    assert jobs.claim_shard(odd, "helper", LEASE) is None
    job_id = shared(jobs, 1)
    with pytest.raises(ValueError, match="part"):
        jobs.commit_shard(claimed(jobs, job_id), "../../etc/passwd")


def test_parts_are_kept_by_job_and_go_together(results: ResultStore) -> None:
    one, other = new_job_id(), new_job_id()
    names = [part_name(PASS), part_name(PASS, 0, 1), part_name(PASS, 11, 2)]
    for name in names:
        results.put_part(TENANT, one, name, name.encode())
    results.put_part(TENANT, other, names[0], b"other")
    assert [results.get_part(TENANT, one, name) for name in names] == [
        name.encode() for name in names
    ]
    assert results.get_part("stranger", one, names[0]) is None
    results.delete_part(TENANT, one, names[1])
    results.delete_part(TENANT, one, names[1])
    assert results.get_part(TENANT, one, names[1]) is None
    results.delete_parts(TENANT, one)
    results.delete_parts(TENANT, one)
    assert [results.get_part(TENANT, one, name) for name in names] == [None] * 3
    assert results.get_part(TENANT, other, names[0]) == b"other"


@pytest.mark.parametrize(
    "odd", ["", "..", "../../etc/passwd", f"{PASS}.npz\n", "a\0b", f"{PASS}-1.npz"]
)
def test_no_parts_name_is_a_path(results: ResultStore, odd: str) -> None:
    with pytest.raises(ValueError, match="part"):
        results.put_part(TENANT, new_job_id(), odd, b"")
    with pytest.raises(ValueError, match="job"):
        results.put_part(TENANT, "..", part_name(PASS), b"")


def test_what_is_left_of_a_job_that_ended_is_found_and_deleted(
    jobs: JobStore, blobs: Blobs
) -> None:
    stores = Stores(jobs, *blobs)
    results = stores.results
    for_ever = Retention(float("inf"), float("inf"))
    ended, goes_on = shared(jobs), shared(jobs)
    for job_id in (ended, goes_on):
        results.put_part(TENANT, job_id, part_name(PASS), b"pass")
    jobs.cancel(TENANT, ended)
    assert sweep(stores, for_ever) == 0, "its workers may not know yet"
    assert jobs.left_parts(0) == [LeftParts(TENANT, ended)]
    results.delete_parts(TENANT, ended)
    jobs.drop_parts(LeftParts(TENANT, ended))
    assert jobs.left_parts(0) == []
    jobs.cancel(TENANT, goes_on)
    assert delete_job(stores, TENANT, goes_on, for_ever)
    assert results.get_part(TENANT, goes_on, part_name(PASS)) is None
    assert jobs.left_parts(0) == [LeftParts(TENANT, goes_on)], (
        "forgotten, but its parts may come back"
    )
