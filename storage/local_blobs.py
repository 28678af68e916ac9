"""Datasets and results in a local folder.

A dataset is a description and three NumPy files in `datasets/<tenant>/<id>/`; a result is
`results/<tenant>/<job>-<attempt>.json`, its parts are `parts/<tenant>/<job>/…`.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from contract.datasets import Dataset
from storage.disk import (
    copy_synced,
    disk_errors,
    folder_beside,
    sync_folder,
    write_synced,
)
from storage.listing import DatasetPages
from storage.names import checked_tenant, dataset_place, is_dataset_id

FILES = ("states.npy", "times.npy", "segments.npy")
DESCRIPTION = "dataset.json"


class LocalDatasetStore:
    """`storage.stores.DatasetStore` in a folder; datasets appear by one rename and never change."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._pages = DatasetPages()

    def put(self, tenant: str, dataset: Dataset, folder: Path) -> Literal["created", "known"]:
        place = self._place(tenant, dataset.id)
        if place is None:
            raise ValueError(f"no dataset can have the id {dataset.id!r}")
        if place.exists():
            return "known"
        with disk_errors(), folder_beside(place.parent) as incoming:
            for name in FILES:
                copy_synced(folder / name, incoming / name)
            write_synced(incoming / DESCRIPTION, dataset.model_dump_json(by_alias=True).encode())
            sync_folder(incoming)
            incoming.chmod(0o755)
            try:
                incoming.rename(place)
            except OSError:
                # Another process was first: a folder that is not empty cannot be renamed over.
                if place.exists():
                    return "known"
                raise
            sync_folder(place.parent)
        return "created"

    def get(self, tenant: str, dataset_id: str) -> Dataset | None:
        place = self._place(tenant, dataset_id)
        return _read(place) if place else None

    def list(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[Sequence[Dataset], str | None]:
        home = self._data_dir / "datasets" / checked_tenant(tenant)
        return self._pages.page(
            tenant, _stamps(home), lambda name: _read(home / name), limit, cursor
        )

    @contextmanager
    def files(self, tenant: str, dataset_id: str) -> Iterator[Path]:
        place = self._place(tenant, dataset_id)
        if place is None or not place.exists():
            raise KeyError(dataset_id)
        try:
            yield place
        except FileNotFoundError:
            if place.exists():
                raise
            raise KeyError(dataset_id) from None

    def delete(self, tenant: str, dataset_id: str) -> bool:
        place = self._place(tenant, dataset_id)
        if place is None or not place.exists():
            return False
        with disk_errors(), folder_beside(place.parent) as doomed:
            try:
                # The folder is moved aside first: readers find the whole dataset or none of it.
                place.rename(doomed / dataset_id)
            except FileNotFoundError:
                return False
            sync_folder(place.parent)
        return True

    def bytes_stored(self, tenant: str) -> int:
        home = self._data_dir / "datasets" / checked_tenant(tenant)
        return sum(_size(place) for place in home.glob("ds_*/*"))

    def _place(self, tenant: str, dataset_id: str) -> Path | None:
        place = dataset_place(tenant, dataset_id)
        return None if place is None else self._data_dir / place


def _stamps(home: Path) -> dict[str, int]:
    """Return the time at which each dataset's folder was made, by the dataset's id."""
    found = {}
    try:
        with os.scandir(home) as entries:
            for entry in entries:
                if is_dataset_id(entry.name):
                    with suppress(FileNotFoundError):  # deleted while we look
                        found[entry.name] = entry.stat().st_mtime_ns
    except FileNotFoundError:
        return {}
    return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # deleted while we look
        return 0


def _read(place: Path) -> Dataset | None:
    try:
        return Dataset.model_validate_json((place / DESCRIPTION).read_bytes())
    except FileNotFoundError:
        return None


class Folder:
    """Local folder with all names below it; a name appears by one rename, whole and on disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, name: str, body: bytes) -> None:
        """Write a file."""
        place = self._root / name
        with disk_errors(), folder_beside(place.parent) as incoming:
            write_synced(incoming / place.name, body)
            (incoming / place.name).rename(place)
            sync_folder(place.parent)

    def get(self, name: str) -> bytes | None:
        """Return the whole file, or None where there is none."""
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        """Delete the file if there is one."""
        with disk_errors():
            (self._root / name).unlink(missing_ok=True)

    def delete_below(self, prefix: str) -> None:
        """Delete all files below the prefix."""
        # Another worker may be writing there, or deleting too; what is left is found again.
        shutil.rmtree(self._root / prefix, ignore_errors=True)
