"""The stores, and a hand on the broker's queue."""

from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis

from contract.messages import broker_queue
from storage.blobs import Blobs, ResultStore, open_blobs
from storage.local_blobs import DatasetStore


@pytest.fixture
def set_messages_waiting(job_client: Redis) -> Callable[[bool], None]:
    """Make the broker's queue hold a message, or none."""

    def set_queue(value: bool) -> None:
        job_client.lpush(broker_queue("small"), "message") if value else job_client.delete(
            broker_queue("small")
        )

    return set_queue


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.slow)])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "local":
        return open_blobs(tmp_path / "data", None)
    return open_blobs(tmp_path, request.getfixturevalue("bucket"))


@pytest.fixture
def datasets(blobs: Blobs) -> DatasetStore:
    return blobs[0]


@pytest.fixture
def results(blobs: Blobs) -> ResultStore:
    return blobs[1]
