"""The negative control: without the fence, the tests' way of looking does see a result written
twice."""

import time

import pytest
from redis import Redis

from contract.jobs import IdentificationJob
from storage.names import part_name, result_name
from storage.redis.connection import connect
from storage.redis.jobs import JobStore

UNFENCED_COMMIT = "redis.call('HSET', KEYS[1], 'state', ARGV[3], ARGV[4], ARGV[5]) return 1"


def results_accepted(jobs: JobStore) -> int:
    """How many attempts at one job are told that theirs is the result, when the first one sleeps
    through its lease."""
    job_id = jobs.submit(
        "lab", IdentificationJob(kind="identification", dataset="ds_abc")
    ).record.id
    assert jobs.claim(job_id, "sleeper", 0.05)
    time.sleep(0.1)
    assert jobs.claim(job_id, "another", 30)
    return sum(jobs.succeed(job_id, attempt, result_name(job_id, attempt)) for attempt in (1, 2))


@pytest.fixture
def client(restricted_url: str) -> Redis:
    return connect(restricted_url)


def test_one_result_is_accepted(client: Redis) -> None:
    assert results_accepted(JobStore(client)) == 1


def test_without_the_fence_two_results_are_accepted(client: Redis) -> None:
    jobs = JobStore(client)
    jobs._transitions["commit"] = client.register_script(UNFENCED_COMMIT)
    assert results_accepted(jobs) == 2


UNFENCED_COMMIT_OF_A_SHARD = "redis.call('HSET', KEYS[1], ARGV[2] .. ':part', ARGV[4]) return 1"
PASS = "0" * 32


def parts_accepted(jobs: JobStore) -> int:
    """Likewise of claims of one shard."""
    job_id = jobs.submit(
        "lab", IdentificationJob(kind="identification", dataset="ds_abc")
    ).record.id
    assert jobs.claim(job_id, "runner", 30)
    assert jobs.fan_out(job_id, 1, PASS, 1)
    sleeper = jobs.claim_shard(job_id, "sleeper", 0.05)
    time.sleep(0.1)
    another = jobs.claim_shard(job_id, "another", 30)
    assert sleeper is not None
    assert another is not None
    return sum(
        jobs.commit_shard(claim, part_name(PASS, 0, claim.attempt)) for claim in (sleeper, another)
    )


def test_one_part_of_a_shard_is_accepted(client: Redis) -> None:
    assert parts_accepted(JobStore(client)) == 1


def test_without_the_fence_two_parts_are_accepted(client: Redis) -> None:
    jobs = JobStore(client)
    jobs._transitions["commit_shard"] = client.register_script(UNFENCED_COMMIT_OF_A_SHARD)
    assert parts_accepted(jobs) == 2
