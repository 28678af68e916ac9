"""Laws of what is deleted and when."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from contract.jobs import IdentificationJob
from storage.blobs import open_blobs
from storage.configuration import Retention
from storage.redis.jobs import JobStore
from storage.retention_sweep import delete_job, sweep
from storage.stores import Forgotten, Stores, StoreUnavailable

TENANT = "lab"
JOB = IdentificationJob(kind="identification", dataset="ds_abc")
FOR_EVER = float("inf")


@pytest.fixture
def stores(jobs: JobStore, tmp_path: Path) -> Stores:
    return Stores(jobs, *open_blobs(tmp_path, None))


@pytest.fixture
def blobs(tmp_path: Path) -> Callable[[], int]:
    return lambda: len(list((tmp_path / "results").rglob("*.json")))


def ended(stores: Stores) -> str:
    """A job whose first attempt was lost after it had written, and whose second one succeeded."""
    job_id = stores.jobs.submit(TENANT, JOB).record.id
    for attempt in (1, 2):
        claim = stores.jobs.claim(job_id, f"worker{attempt}", 0.01 if attempt == 1 else 30)
        assert claim is not None
        name = stores.results.put(TENANT, job_id, attempt, b"{}")
        time.sleep(0.03)
    assert stores.jobs.succeed(job_id, 2, name)
    return job_id


def test_nothing_young_is_deleted(stores: Stores, blobs: Callable[[], int]) -> None:
    job_id = ended(stores)
    assert sweep(stores, Retention(results=60, records=60)) == 0
    assert sweep(stores, Retention(results=FOR_EVER, records=FOR_EVER)) == 0
    assert blobs() == 2
    assert stores.jobs.get(TENANT, job_id)


def test_results_go_first_with_those_that_lost_attempts_left_behind(
    stores: Stores, blobs: Callable[[], int]
) -> None:
    job_id = ended(stores)
    assert sweep(stores, Retention(results=0, records=60)) == 1
    assert blobs() == 0
    assert stores.jobs.get(TENANT, job_id)
    assert sweep(stores, Retention(results=0, records=60)) == 0


def test_records_go_in_their_turn(stores: Stores) -> None:
    job_id = ended(stores)
    time.sleep(0.01)
    assert sweep(stores, Retention(results=0, records=0.001)) == 2
    assert stores.jobs.list(TENANT) == ([], None)
    time.sleep(0.05)
    assert stores.jobs.get(TENANT, job_id) is None


def test_a_record_stays_as_long_as_its_result(stores: Stores) -> None:
    job_id = ended(stores)
    assert sweep(stores, Retention(results=60, records=0)) == 0
    assert stores.jobs.get(TENANT, job_id)


def test_what_a_crash_leaves_is_found_again(
    stores: Stores, blobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(stores)

    def crash(_job_id: str) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(type(stores.jobs), "drop_result", lambda _, job_id: crash(job_id))
        with pytest.raises(StoreUnavailable):
            sweep(stores, Retention(results=0))
    assert blobs() == 0
    assert sweep(stores, Retention(results=0)) == 1


def test_a_deleted_job_leaves_nothing_but_the_memory_of_it(
    stores: Stores, blobs: Callable[[], int]
) -> None:
    job_id = ended(stores)
    assert not delete_job(stores, "stranger", job_id, Retention())
    assert delete_job(stores, TENANT, job_id, Retention())
    assert blobs() == 0
    with pytest.raises(Forgotten):
        delete_job(stores, TENANT, job_id, Retention())


def test_an_open_job_is_not_deleted(stores: Stores) -> None:
    job_id = stores.jobs.submit(TENANT, JOB).record.id
    assert not delete_job(stores, TENANT, job_id, Retention())
    assert stores.jobs.get(TENANT, job_id)


def test_a_crowded_store_loses_the_oldest_jobs_of_whoever_keeps_most(
    stores: Stores, blobs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """145 000 jobs filled it for a year, and nobody got in until somebody deleted by hand."""
    jobs, kept = stores.jobs, Retention(results=FOR_EVER, records=FOR_EVER)
    for _ in range(4):
        ended(stores)
    few = jobs.submit("other", JOB).record.id
    jobs.cancel("other", few)
    used = iter((0.9, 0.9, 0.9, 0.9, 0.6))
    monkeypatch.setattr(JobStore, "memory_used", lambda _: next(used))
    monkeypatch.setattr("storage.redis.upkeep.AT_ONCE", 2)
    assert sweep(stores, kept) == 0, "whoever has just been told of an end may fetch the result"
    monkeypatch.setattr("storage.redis.upkeep.CROWDING_SECONDS", 0.0)
    sizes = []
    while sweep(stores, kept):
        sizes.append(len(jobs.list(TENANT)[0]))
    assert sizes == [2, 0, 0], "then the other's one"
    assert blobs() == 0
    with pytest.raises(Forgotten):
        jobs.get("other", few)


def test_what_a_tenant_keeps_is_counted_until_it_is_deleted(stores: Stores) -> None:
    jobs, delete = stores.jobs, partial(delete_job, stores, retention=Retention())
    assert not jobs.keeps_most(TENANT)
    first, other = (jobs.submit(tenant, JOB).record.id for tenant in (TENANT, "other"))
    second = jobs.submit(TENANT, JOB).record.id
    assert jobs.keeps_most(TENANT)
    for job_id in (first, second):
        jobs.claim(job_id, "worker", 30)
        jobs.succeed(job_id, 1, stores.results.put(TENANT, job_id, 1, b"{}"), 1000)
    assert (jobs.result_bytes(TENANT), jobs.result_bytes("other")) == (2000, 0)
    assert delete(TENANT, first)
    jobs.drop_result(second)
    assert jobs.result_bytes(TENANT) == 0
    assert delete(TENANT, second)
    assert jobs.keeps_most("other")
    jobs.cancel("other", other)
    assert delete("other", other)
    assert not jobs.keeps_most("other")
