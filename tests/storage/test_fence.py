"""The negative control: without the fence, the tests' way of looking does see a result written twice."""

import time

import pytest
from redis import Redis

from contract.jobs import IdentificationJob
from storage.connection import connect
from storage.jobs import RedisJobStore
from storage.names import result_name

UNFENCED_COMMIT = "redis.call('HSET', KEYS[1], 'state', ARGV[3], ARGV[4], ARGV[5]) return 1"


def results_accepted(jobs: RedisJobStore) -> int:
    """How many attempts at one job are told that theirs is the result, when the first one sleeps through its lease."""
    job_id = jobs.submit("lab", IdentificationJob(kind="identification", dataset="ds_abc")).record.id
    assert jobs.claim(job_id, "sleeper", 0.05)
    time.sleep(0.1)
    assert jobs.claim(job_id, "another", 30)
    return sum(jobs.succeed(job_id, attempt, result_name(job_id, attempt)) for attempt in (1, 2))


@pytest.fixture
def client(restricted_url: str) -> Redis:
    return connect(restricted_url)


def test_one_result_is_accepted(client: Redis) -> None:
    assert results_accepted(RedisJobStore(client)) == 1


def test_without_the_fence_two_results_are_accepted(client: Redis) -> None:
    jobs = RedisJobStore(client)
    jobs._transitions["commit"] = client.register_script(UNFENCED_COMMIT)
    assert results_accepted(jobs) == 2
