"""What happens where an object store does not answer, or a process died half-way."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from storage import blobs
from storage.blobs import Bucket, ObjectDatasetStore, s3_bucket
from storage.stores import StoreUnavailable
from tests.storage.test_datasets import TENANT, a_dataset

FILES = ("states.npy", "times.npy", "segments.npy", "original")


@pytest.fixture
def mute(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Of a store that takes connections and says nothing."""
    monkeypatch.setattr(blobs, "SILENCE_SECONDS", 1)
    monkeypatch.setattr(blobs, "RETRY_SECONDS", 0)
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        credentials = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.getsockname()[1]}",
            **credentials,
        }.items():
            monkeypatch.setenv(name, value)
        yield s3_bucket("s3://bucket/prefix")


def test_a_mute_store_is_given_up_and_holds_no_more_threads_than_it_may(
    mute: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "TURN_SECONDS", 0.1)
    begun, took = time.monotonic(), list[float]()

    def read() -> None:
        with pytest.raises(StoreUnavailable):
            mute.get("name")
        took.append(time.monotonic() - begun)

    threads = [threading.Thread(target=read) for _ in range(blobs.READS_AT_ONCE + 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(took) == len(threads)
    assert max(took) < 5
    assert sum(seconds < 0.9 for seconds in took) == 5, "those that had no turn waited for nobody"


@pytest.fixture
def objects() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def datasets(objects: MemoryStore) -> ObjectDatasetStore:
    return ObjectDatasetStore(Bucket(objects, objects))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_bytes(b"0" * 100)
    return tmp_path


def test_what_a_process_left_when_it_died_counts_for_nobody_and_is_deleted_with_its_dataset(
    objects: MemoryStore, datasets: ObjectDatasetStore
) -> None:
    objects.put(f"datasets/{TENANT}/ds_abc/states.npy", b"0" * 1000)
    assert datasets.bytes_stored(TENANT) == 0
    assert not datasets.delete(TENANT, "ds_abc")
    assert [meta for chunk in objects.list() for meta in chunk] == []


def test_a_dataset_that_is_there_counts(datasets: ObjectDatasetStore, folder: Path) -> None:
    datasets.put(TENANT, a_dataset(), folder)
    assert datasets.bytes_stored(TENANT) > 300


def test_a_dataset_that_is_deleted_while_it_is_kept_is_not_there_without_its_files(
    objects: MemoryStore,
    datasets: ObjectDatasetStore,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put = Bucket.put

    def raced(self: Bucket, name: str, body: bytes | Path, mode: str = "overwrite") -> bool:
        if name.endswith("dataset.json"):
            for file in FILES:
                self.delete(f"datasets/{TENANT}/ds_abc/{file}")
        return put(self, name, body, mode)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "put", raced)
        with pytest.raises(StoreUnavailable):
            datasets.put(TENANT, a_dataset(), folder)
    assert datasets.get(TENANT, "ds_abc") is None
    assert datasets.put(TENANT, a_dataset(), folder) == "created"
