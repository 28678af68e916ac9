"""Datasets and results in an object store (S3 and compatible), named as in a local folder."""

import tempfile
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import ObjectStore, S3Store

from contract.datasets import Dataset
from storage.disk import own_folder, sweep_folders
from storage.local_blobs import (
    BESIDE,
    DESCRIPTION,
    FILES,
    NAMES,
    ORIGINAL,
    DatasetStore,
    Folder,
    LocalDatasetStore,
    kept_in,
    names_in,
)
from storage.names import (
    checked_tenant,
    dataset_place,
    is_dataset_id,
    is_result_name,
    part_place,
    parts_place,
    result_name,
    result_place,
)
from storage.stores import StoreUnavailable

MISSING = (FileNotFoundError, NotFoundError)
SILENCE_SECONDS = 10
READ_SECONDS = 3600
"""Longest read, as long as data arrive; a silent one is tried again or given up before."""
UPLOAD_SECONDS = 60
"""Longest time of a request that sends data, five megabytes of them at most."""
RETRY_SECONDS = 20
"""Time after which nothing is tried again: a caller gets 503 and not a broken connection."""
READS_AT_ONCE = 20
"""Half of the service's threads: a silent store would occupy all, those for jobs too."""
TURN_SECONDS = 1.0
"""Longest time that a read waits for one of the READS_AT_ONCE places."""
COPY = "itoscope-dataset-"


class Bucket:
    """Prefix in an object store, with all names below it. Every call may raise StoreUnavailable."""

    def __init__(self, writing: ObjectStore, reading: ObjectStore) -> None:
        """Take two clients of one prefix, as writing and reading have different time limits."""
        self._writing, self._reading = writing, reading
        self._turns = threading.BoundedSemaphore(READS_AT_ONCE)

    def put(
        self, name: str, body: bytes | Path, mode: Literal["create", "overwrite"] = "overwrite"
    ) -> bool:
        """Write an object; return False where mode is "create" and the object exists."""
        with _errors():
            try:
                obstore.put(self._writing, name, body, mode=mode)
            except AlreadyExistsError:
                return False
        return True

    def get(self, name: str) -> bytes | None:
        """Return the whole object, or None where there is none."""
        with self._turn(), _errors():
            try:
                return bytes(obstore.get(self._reading, name).bytes())
            except MISSING:
                return None

    def fetch(self, name: str, target: Path) -> bool:
        """Write an object to a file, piece by piece; return False where there is none."""
        with _errors():
            try:
                pieces = obstore.get(self._reading, name)
            except MISSING:
                return False
            with target.open("wb") as file:
                for piece in pieces:
                    file.write(piece)
        return True

    def list(self, prefix: str) -> Sequence[Mapping[str, Any]]:
        """Return path, size, time and tag of each object below the prefix."""
        with self._turn(), _errors():
            return [meta for chunk in obstore.list(self._reading, prefix) for meta in chunk]

    def delete(self, name: str) -> None:
        """Delete the object if there is one."""
        with _errors():
            try:
                obstore.delete(self._writing, name)
            except MISSING:
                return

    def delete_below(self, prefix: str) -> None:
        """Delete all objects below the prefix."""
        for meta in self.list(prefix):
            self.delete(meta["path"])

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise StoreUnavailable(f"The object store is slow: {READS_AT_ONCE} reads wait for it.")
        try:
            yield
        finally:
            self._turns.release()


def s3_bucket(url: str) -> Bucket:
    """Open `s3://bucket/prefix`, with credentials, region and endpoint from `AWS_…` variables."""

    def store(seconds: int, silence: int) -> ObjectStore:
        return S3Store.from_url(
            url,
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
            client_options={
                "connect_timeout": "3s",
                "timeout": f"{seconds}s",
                "read_timeout": f"{silence}s",
                "allow_http": True,
            },
        )

    return Bucket(store(UPLOAD_SECONDS, UPLOAD_SECONDS), store(READ_SECONDS, SILENCE_SECONDS))


@contextmanager
def _errors() -> Iterator[None]:
    """Turn every failure except a missing or already existing object into StoreUnavailable."""
    try:
        yield
    except (*MISSING, AlreadyExistsError):
        raise
    except BaseError as error:
        # The error's own text may hold the address and the headers of the request.
        raise StoreUnavailable(
            f"The object store does not answer as it should: {type(error).__name__}"
        ) from error


class ObjectDatasetStore(DatasetStore):
    """Datasets in an object store.

    The description is written last and deleted first: while it exists, the dataset is complete.
    """

    def __init__(self, bucket: Bucket) -> None:
        super().__init__()
        self._bucket = bucket

    @contextmanager
    def files(self, tenant: str, dataset_id: str) -> Iterator[Path]:
        place = dataset_place(tenant, dataset_id)
        if place is None or self._described(place) is None:
            raise KeyError(dataset_id)
        home = Path(tempfile.gettempdir())
        # A process that was killed over a job left its copy of the data, which may fill the disk,
        # or the memory.
        sweep_folders(home, COPY)
        with own_folder(home, COPY) as folder:
            for name in (*FILES, *BESIDE):
                found = self._bucket.fetch(f"{place}/{name}", folder / name)
                if not found and name in FILES:
                    raise KeyError(dataset_id)
            yield folder

    def trajectory_names(self, tenant: str, dataset_id: str) -> Sequence[str]:
        place = dataset_place(tenant, dataset_id)
        return names_in(None if place is None else self._bucket.get(f"{place}/{NAMES}"))

    def fetch_original(self, tenant: str, dataset_id: str, target: Path) -> bool:
        place = dataset_place(tenant, dataset_id)
        return place is not None and self._bucket.fetch(f"{place}/{ORIGINAL}", target)

    def delete(self, tenant: str, dataset_id: str) -> bool:
        place = dataset_place(tenant, dataset_id)
        if place is None:
            return False
        # Files without a description were left by a process that died while it wrote or deleted
        # them.
        left = {meta["path"] for meta in self._bucket.list(f"{place}/")}
        there = f"{place}/{DESCRIPTION}" in left
        for name in sorted(left, key=lambda path: not path.endswith(DESCRIPTION)):
            self._bucket.delete(name)
        return there

    def bytes_stored(self, tenant: str) -> int:
        sizes: dict[str, int] = {}
        described = set()
        for meta in self._bucket.list(f"datasets/{checked_tenant(tenant)}/"):
            place, _, name = meta["path"].rpartition("/")
            sizes[place] = sizes.get(place, 0) + meta["size"]
            if name == DESCRIPTION:
                described.add(place)
        # Files without a description can be neither seen nor deleted by their tenant.
        return sum(sizes[place] for place in described)

    def _described(self, place: str) -> Dataset | None:
        body = self._bucket.get(f"{place}/{DESCRIPTION}")
        return None if body is None else Dataset.model_validate_json(body)

    def _keep(self, place: str, dataset: Dataset, folder: Path) -> bool:
        kept = kept_in(folder)
        for name in kept:
            self._bucket.put(f"{place}/{name}", folder / name)
        # Two that put the same dataset at once write the same files; the first description stays.
        body = dataset.model_dump_json(by_alias=True).encode()
        made = self._bucket.put(f"{place}/{DESCRIPTION}", body, mode="create")
        there = {meta["path"] for meta in self._bucket.list(f"{place}/")}
        if not {f"{place}/{name}" for name in kept} <= there:
            # It was deleted at the same time, and the description would outlive what it describes.
            self._bucket.delete(f"{place}/{DESCRIPTION}")
            raise StoreUnavailable("The dataset was deleted while it was kept.")
        return made

    def _stamps(self, home: str) -> Mapping[str, Hashable]:
        stamps = {}
        for meta in self._bucket.list(f"{home}/"):
            dataset_id, _, name = meta["path"].removeprefix(f"{home}/").partition("/")
            if name == DESCRIPTION and is_dataset_id(dataset_id):
                stamps[dataset_id] = meta["e_tag"] or meta["last_modified"]
        return stamps


class ResultStore:
    """Store of result documents: immutable bytes under a name that no other attempt uses.

    Until a job ends, it also keeps the parts of which the result is made, under the same rule.
    """

    def __init__(self, blobs: Bucket | Folder) -> None:
        self._blobs = blobs

    def put(self, tenant: str, job_id: str, attempt: int, body: bytes) -> str:
        """Write durably, return the blob's name."""
        name = result_name(job_id, attempt)
        self._blobs.put(result_place(tenant, name), body)
        return name

    def get(self, tenant: str, name: str) -> bytes | None:
        """Return the blob, or None where there is none."""
        return self._blobs.get(result_place(tenant, name)) if is_result_name(name) else None

    def delete(self, tenant: str, name: str) -> None:
        """Delete the blob if there is one."""
        self._blobs.delete(result_place(tenant, name))

    def put_part(self, tenant: str, job_id: str, name: str, body: bytes) -> None:
        """Write a part durably."""
        self._blobs.put(part_place(tenant, job_id, name), body)

    def get_part(self, tenant: str, job_id: str, name: str) -> bytes | None:
        """Return the part, or None where there is none."""
        return self._blobs.get(part_place(tenant, job_id, name))

    def delete_part(self, tenant: str, job_id: str, name: str) -> None:
        """Delete the part if there is one."""
        self._blobs.delete(part_place(tenant, job_id, name))

    def delete_parts(self, tenant: str, job_id: str) -> None:
        """Delete all parts of a job."""
        self._blobs.delete_below(f"{parts_place(tenant, job_id)}/")


Blobs = tuple[DatasetStore, ResultStore]


def open_blobs(data_dir: Path, url: str | None) -> Blobs:
    """Open the stores of datasets and of results.

    url   `s3://bucket/prefix`, with credentials, region and endpoint from the usual `AWS_…`
          variables; None: the data folder

    Raise ValueError for any other URL.
    """
    if url is None:
        return LocalDatasetStore(data_dir), ResultStore(Folder(data_dir))
    if not url.startswith("s3://"):
        raise ValueError("the blob store's URL must begin with s3://")
    bucket = s3_bucket(url)
    return ObjectDatasetStore(bucket), ResultStore(bucket)
