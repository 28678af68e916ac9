"""Datasets and results in a local folder.

A dataset is a description, the files that were read and the uploaded file in
`datasets/<tenant>/<id>/`; a result is `results/<tenant>/<job>-<attempt>.json`, its parts are
`parts/<tenant>/<job>/…`.
"""

import json
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from pathlib import Path
from typing import Literal

from contract.datasets import Dataset
from storage.disk import disk_errors, folder_beside, link_synced, sync_folder, write_synced
from storage.names import checked_tenant, dataset_place, is_dataset_id
from storage.stores import InvalidCursor

FILES = ("states.npy", "times.npy", "segments.npy")
NAMES = "trajectories.json"
BESIDE = ("inputs.npy", "errors.npy", NAMES)
"""Files that only some datasets have."""
ORIGINAL = "original"
"""Name of the uploaded file, byte for byte; datasets of earlier builds have none."""
KEPT = (*FILES, ORIGINAL)
DESCRIPTION = "dataset.json"
_CURSOR = re.compile(r"([0-9]{1,18})-(ds_[a-z0-9]{1,64})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Age = tuple[int, str]


class DatasetStore(ABC):
    """Uploaded trajectories as files beside their description and the uploaded file.

    states.npy    (n_samples, d) float64          [state]
    times.npy     (n_samples,)   float64, increasing inside a segment   [time]
    segments.npy  (n_segments, 3) int64           first sample, one past the last, trajectory number

    Where the upload has them:

    inputs.npy    (n_samples, m) float64          signals that drive the states
    errors.npy    (n_samples, d) float64          standard errors of the states   [state]
    trajectories.json                             names and groups of the trajectories
    """

    def __init__(self) -> None:
        self._known: dict[str, dict[str, tuple[Hashable, _Age]]] = {}

    def put(self, tenant: str, dataset: Dataset, folder: Path) -> Literal["created", "known"]:
        """Keep the files found in `folder` under `dataset.id`, all or nothing.

        They are those named above and `original`, the uploaded file.

        The files must not change afterwards: they may be kept under a second name.
        """
        place = dataset_place(tenant, dataset.id)
        if place is None:
            raise ValueError(f"no dataset can have the id {dataset.id!r}")
        if self._described(place) is not None or not self._keep(place, dataset, folder):
            return "known"
        return "created"

    def get(self, tenant: str, dataset_id: str) -> Dataset | None:
        """Return the description, or None where this tenant has no such dataset."""
        place = dataset_place(tenant, dataset_id)
        return None if place is None else self._described(place)

    def list(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[Sequence[Dataset], str | None]:
        """Return a page of datasets, newest first, and the next cursor. Raise InvalidCursor.

        A cursor names the last dataset shown, so later changes do not shift pages. Descriptions
        never change, and upload times are remembered: with 10 000 datasets in a folder, the first
        page of a process takes 1.2 s of CPU, each further one 0.1 s.
        """
        before = None if cursor is None else _parsed(cursor)
        home = f"datasets/{checked_tenant(tenant)}"
        known, ages = self._known.get(tenant, {}), {}
        for dataset_id, stamp in self._stamps(home).items():
            seen, age = known.get(dataset_id, (None, None))
            if age is None or seen != stamp:
                dataset = self._described(f"{home}/{dataset_id}")
                age = None if dataset is None else _age(dataset)
            if age is not None:
                ages[dataset_id] = stamp, age
        self._known[tenant] = ages
        newest = nlargest(
            limit + 1, (age for _, age in ages.values() if before is None or age < before)
        )
        shown = newest[:limit]
        found = (self._described(f"{home}/{dataset_id}") for _, dataset_id in shown)
        following = "{}-{}".format(*shown[-1]) if len(newest) > limit and shown else None
        return [dataset for dataset in found if dataset is not None], following

    @abstractmethod
    def files(self, tenant: str, dataset_id: str) -> AbstractContextManager[Path]:
        """Return a local folder with the files, valid inside the `with`.

        Raise KeyError where there is no such dataset, also where it is deleted while its files are
        opened.
        """

    @abstractmethod
    def trajectory_names(self, tenant: str, dataset_id: str) -> Sequence[str]:
        """Return the name of each trajectory; empty where the upload names none."""

    @abstractmethod
    def fetch_original(self, tenant: str, dataset_id: str, target: Path) -> bool:
        """Bring the uploaded file to the new path `target`; return False where it is not kept.

        What is at `target` must not be changed: it may be the kept file under a second name.
        """

    @abstractmethod
    def delete(self, tenant: str, dataset_id: str) -> bool:
        """Delete the dataset; return False where there is none."""

    @abstractmethod
    def bytes_stored(self, tenant: str) -> int:
        """Return the bytes that the tenant's datasets take."""

    @abstractmethod
    def _described(self, place: str) -> Dataset | None:
        """Return the description kept at the place, or None where there is none."""

    @abstractmethod
    def _keep(self, place: str, dataset: Dataset, folder: Path) -> bool:
        """Keep the files; return whether this made the dataset, and no other process did."""

    @abstractmethod
    def _stamps(self, home: str) -> Mapping[str, Hashable]:
        """Return by dataset id a value that changes when the dataset is deleted and made again."""


def kept_in(folder: Path) -> tuple[str, ...]:
    """Return the names of the files of a dataset that are in a folder."""
    return (*KEPT, *(name for name in BESIDE if (folder / name).exists()))


def names_in(words: bytes | None) -> Sequence[str]:
    """Return the trajectories' names in the file of their names and groups."""
    return () if words is None else tuple(json.loads(words).get("names", ()))


class LocalDatasetStore(DatasetStore):
    """Datasets in a folder, which appear by one rename and never change."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__()
        self._data_dir = data_dir

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

    def trajectory_names(self, tenant: str, dataset_id: str) -> Sequence[str]:
        place = self._place(tenant, dataset_id)
        try:
            return names_in(None if place is None else (place / NAMES).read_bytes())
        except FileNotFoundError:
            return ()

    def fetch_original(self, tenant: str, dataset_id: str, target: Path) -> bool:
        place = self._place(tenant, dataset_id)
        if place is None:
            return False
        try:
            link_synced(place / ORIGINAL, target)
        except FileNotFoundError:
            return False
        return True

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
        return sum(_size(path) for path in home.glob("ds_*/*"))

    def _described(self, place: str) -> Dataset | None:
        try:
            return Dataset.model_validate_json((self._data_dir / place / DESCRIPTION).read_bytes())
        except FileNotFoundError:
            return None

    def _keep(self, place: str, dataset: Dataset, folder: Path) -> bool:
        final = self._data_dir / place
        with disk_errors(), folder_beside(final.parent) as incoming:
            for name in kept_in(folder):
                link_synced(folder / name, incoming / name)
            write_synced(incoming / DESCRIPTION, dataset.model_dump_json(by_alias=True).encode())
            sync_folder(incoming)
            try:
                incoming.rename(final)
            except OSError:
                # Another process was first: a folder that is not empty cannot be renamed over.
                if final.exists():
                    return False
                raise
            sync_folder(final.parent)
        return True

    def _stamps(self, home: str) -> Mapping[str, Hashable]:
        found = {}
        with suppress(FileNotFoundError), os.scandir(self._data_dir / home) as entries:
            for entry in entries:
                if is_dataset_id(entry.name):
                    with suppress(FileNotFoundError):  # deleted while we look
                        found[entry.name] = entry.stat().st_mtime_ns
        return found

    def _place(self, tenant: str, dataset_id: str) -> Path | None:
        place = dataset_place(tenant, dataset_id)
        return None if place is None else self._data_dir / place


def _age(dataset: Dataset) -> _Age:
    """Return the microseconds from the epoch to the upload, and the id, which settles ties."""
    return (dataset.created_at - _EPOCH) // timedelta(microseconds=1), dataset.id


def _parsed(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidCursor("no page of datasets gave this cursor")
    return int(match[1]), match[2]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # deleted while we look
        return 0


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
