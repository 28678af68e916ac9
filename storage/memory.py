"""The stores' twins in memory: for one process, for tests, for trying things out. They pass the very tests of the real ones."""

import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from contract.datasets import Dataset
from storage.datasets import FILES
from storage.memory_jobs import MemoryJobStore
from storage.names import checked_tenant, is_dataset_id, is_part_name, parts_place, result_name
from storage.paging import page
from storage.stores import Stores


class MemoryDatasetStore:
    """A `storage.stores.DatasetStore`; the NumPy files are kept as bytes."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[Dataset, dict[str, bytes]]] = {}
        self._lock = threading.Lock()

    def put(self, tenant: str, dataset: Dataset, folder: Path) -> Literal["created", "known"]:
        if not is_dataset_id(dataset.id):
            raise ValueError(f"no dataset can have the id {dataset.id!r}")
        files = {name: (folder / name).read_bytes() for name in FILES}
        with self._lock:
            if (checked_tenant(tenant), dataset.id) in self._kept:
                return "known"
            self._kept[tenant, dataset.id] = dataset, files
            return "created"

    def get(self, tenant: str, dataset_id: str) -> Dataset | None:
        kept = self._kept.get((tenant, dataset_id))
        return kept[0] if kept else None

    def list(self, tenant: str, *, limit: int = 50, cursor: str | None = None) -> tuple[Sequence[Dataset], str | None]:
        with self._lock:
            datasets = [dataset for (owner, _), (dataset, _) in self._kept.items() if owner == tenant]
        return page(datasets, limit, cursor)

    @contextmanager
    def files(self, tenant: str, dataset_id: str) -> Iterator[Path]:
        _, files = self._kept[tenant, dataset_id]
        folder = Path(tempfile.mkdtemp())
        try:
            for name, body in files.items():
                (folder / name).write_bytes(body)
            yield folder
        finally:
            shutil.rmtree(folder)

    def delete(self, tenant: str, dataset_id: str) -> bool:
        with self._lock:
            return self._kept.pop((tenant, dataset_id), None) is not None

    def bytes_stored(self, tenant: str) -> int:
        with self._lock:
            return sum(sum(map(len, files.values())) for (owner, _), (_, files) in self._kept.items() if owner == tenant)


class MemoryResultStore:
    """A `storage.stores.ResultStore`."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[str, str], bytes] = {}

    def put(self, tenant: str, job_id: str, attempt: int, body: bytes) -> str:
        name = result_name(job_id, attempt)
        self._bodies[checked_tenant(tenant), name] = body
        return name

    def get(self, tenant: str, name: str) -> bytes | None:
        return self._bodies.get((tenant, name))

    def delete(self, tenant: str, name: str) -> None:
        self._bodies.pop((tenant, name), None)

    def put_part(self, tenant: str, job_id: str, name: str, body: bytes) -> None:
        self._bodies[parts_place(tenant, job_id), _checked_part(name)] = body

    def get_part(self, tenant: str, job_id: str, name: str) -> bytes | None:
        return self._bodies.get((parts_place(tenant, job_id), _checked_part(name)))

    def delete_part(self, tenant: str, job_id: str, name: str) -> None:
        self._bodies.pop((parts_place(tenant, job_id), _checked_part(name)), None)

    def delete_parts(self, tenant: str, job_id: str) -> None:
        place = parts_place(tenant, job_id)
        for key in [key for key in list(self._bodies) if key[0] == place]:
            self._bodies.pop(key, None)


def _checked_part(name: str) -> str:
    if not is_part_name(name):
        raise ValueError(f"no part can be named {name!r}")
    return name


def memory_stores() -> Stores:
    """A fresh, empty set of stores."""
    return Stores(jobs=MemoryJobStore(), datasets=MemoryDatasetStore(), results=MemoryResultStore())
