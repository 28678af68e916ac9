"""A connection may break after the server acted and before it answered; redis-py then sends the
command again."""

from typing import Any

import pytest
from redis import Redis
from redis.commands.core import Script

from contract.jobs import IdentificationJob
from contract.records import Progress
from storage.names import part_name, result_name
from storage.redis.connection import connect
from storage.redis.jobs import JobStore

PASS = "0" * 32
JOB = IdentificationJob(kind="identification", dataset="ds_abc")


class Twice:
    """A transition whose first answer is always lost."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def __call__(self, keys: list[str], args: list[Any]) -> Any:
        self._script(keys=keys, args=args)
        return self._script(keys=keys, args=args)


@pytest.fixture
def jobs(restricted_url: str) -> JobStore:
    client: Redis = connect(restricted_url)
    store = JobStore(client)
    store._transitions.update({name: Twice(script) for name, script in store._transitions.items()})  # type: ignore[misc]
    return store


def test_a_job_runs_once_though_every_first_answer_is_lost(jobs: JobStore) -> None:
    submission = jobs.submit("lab", JOB, idempotency_key="key", fingerprint="f")
    job_id = submission.record.id
    assert submission.created
    assert len(jobs.list("lab")[0]) == 1
    assert not jobs.submit("lab", JOB, idempotency_key="key", fingerprint="f").created

    claim = jobs.claim(job_id, "worker", 30)
    assert claim is not None
    assert claim.attempt == 1
    assert jobs.renew(job_id, "worker", 30)
    assert jobs.report(job_id, 1, Progress(fraction=0.5))
    assert jobs.succeed(job_id, 1, result_name(job_id, 1))


def test_a_shard_is_claimed_and_committed_once_though_every_first_answer_is_lost(
    jobs: JobStore,
) -> None:
    job_id = jobs.submit("lab", JOB).record.id
    assert jobs.claim(job_id, "worker", 30)
    assert jobs.fan_out(job_id, 1, PASS, 2)
    claim = jobs.claim_shard(job_id, "worker", 30)
    assert claim is not None
    assert (claim.number, claim.attempt) == (0, 1)
    assert jobs.commit_shard(claim, part_name(PASS, 0, 1))
    assert jobs.parts(job_id, 1, PASS) == [part_name(PASS, 0, 1), None]


def test_a_job_is_cancelled_once_though_the_first_answer_is_lost(jobs: JobStore) -> None:
    job_id = jobs.submit("lab", JOB).record.id
    record = jobs.cancel("lab", job_id)
    assert record is not None
    assert record.state == "cancelled"
    assert jobs.get("lab", job_id) == record
