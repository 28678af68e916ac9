"""Every store twice: the real one and its twin in memory."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from contract.messages import broker_queue
from storage.blobs import Blobs, open_blobs
from storage.memory import MemoryDatasetStore, MemoryResultStore
from storage.memory_jobs import MemoryJobStore
from storage.redis.connection import connect
from storage.redis.jobs import RedisJobStore
from storage.stores import DatasetStore, JobStore, ResultStore

Backend = tuple[Callable[..., JobStore], Callable[[bool], None]]


@pytest.fixture(params=["redis", "memory"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """How to open the job store with other settings, and a hand on the broker's queue."""
    if request.param == "memory":
        store = MemoryJobStore()

        def configured(**settings: float) -> JobStore:
            for name, value in settings.items():
                setattr(store, name, value)
            return store

        def set_waiting(value: bool) -> None:
            store.messages_waiting = lambda: value

        yield configured, set_waiting
        return

    client = connect(request.getfixturevalue("restricted_url"))

    def set_queue(value: bool) -> None:
        client.lpush(broker_queue("small"), "message") if value else client.delete(broker_queue("small"))

    yield partial(RedisJobStore, client), set_queue
    client.close()


@pytest.fixture
def open_jobs(backend: Backend) -> Callable[..., JobStore]:
    """The job store, opened with the given `queued_grace` and `attempt_cap`."""
    return backend[0]


@pytest.fixture
def set_messages_waiting(backend: Backend) -> Callable[[bool], None]:
    """Make the broker's queue hold a message, or none."""
    return backend[1]


@pytest.fixture
def jobs(open_jobs: Callable[..., JobStore]) -> JobStore:
    return open_jobs()


@pytest.fixture(params=["local", "memory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    match request.param:
        case "memory":
            return MemoryDatasetStore(), MemoryResultStore()
        case "local":
            return open_blobs(tmp_path / "data", None)
        case _:
            return open_blobs(tmp_path, request.getfixturevalue("bucket"))


@pytest.fixture
def datasets(blobs: Blobs) -> DatasetStore:
    return blobs[0]


@pytest.fixture
def results(blobs: Blobs) -> ResultStore:
    return blobs[1]
