"""Datasets and results in an object store (S3 and what speaks like it), under the same names as in a local folder."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import ObjectStore

from contract.datasets import Dataset
from storage.datasets import FILES
from storage.names import checked_tenant, is_dataset_id, is_part_name, is_result_name, parts_place, result_name
from storage.paging import DatasetPages
from storage.stores import StoreUnavailable

_DESCRIPTION = "dataset.json"
_MISSING = (FileNotFoundError, NotFoundError)


@contextmanager
def object_errors() -> Iterator[None]:
    """Turns all troubles but that an object is not there, or is there already, into StoreUnavailable."""
    try:
        yield
    except (*_MISSING, AlreadyExistsError):
        raise
    except BaseError as error:
        # Its words may hold the address and the headers of the request.
        raise StoreUnavailable(f"The object store does not answer as it should: {type(error).__name__}") from error


class ObjectDatasetStore:
    """A `storage.stores.DatasetStore`. The description is written last and deleted first: with it a dataset is there, whole."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._pages = DatasetPages()

    def put(self, tenant: str, dataset: Dataset, folder: Path) -> Literal["created", "known"]:
        place = self._place(tenant, dataset.id)
        if place is None:
            raise ValueError(f"no dataset can have the id {dataset.id!r}")
        if self.get(tenant, dataset.id) is not None:
            return "known"
        with object_errors():
            for name in FILES:
                obstore.put(self._store, f"{place}/{name}", folder / name)
            # Of two that put the same dataset at once both write the same files; the first description stays.
            try:
                obstore.put(
                    self._store, f"{place}/{_DESCRIPTION}", dataset.model_dump_json(by_alias=True).encode(), mode="create"
                )
            except AlreadyExistsError:
                return "known"
        return "created"

    def get(self, tenant: str, dataset_id: str) -> Dataset | None:
        place = self._place(tenant, dataset_id)
        return None if place is None else self._described(place)

    def list(self, tenant: str, *, limit: int = 50, cursor: str | None = None) -> tuple[Sequence[Dataset], str | None]:
        home = f"datasets/{checked_tenant(tenant)}"
        with object_errors():
            listed = [meta for chunk in obstore.list(self._store, f"{home}/") for meta in chunk]
        stamps = {}
        for meta in listed:
            dataset_id, _, name = meta["path"].removeprefix(f"{home}/").partition("/")
            if name == _DESCRIPTION and is_dataset_id(dataset_id):
                stamps[dataset_id] = meta["e_tag"] or meta["last_modified"]
        return self._pages.page(tenant, stamps, lambda dataset_id: self._described(f"{home}/{dataset_id}"), limit, cursor)

    @contextmanager
    def files(self, tenant: str, dataset_id: str) -> Iterator[Path]:
        place = self._place(tenant, dataset_id)
        if place is None or self._described(place) is None:
            raise KeyError(dataset_id)
        folder = Path(tempfile.mkdtemp(prefix="dataset-"))
        try:
            try:
                for name in FILES:
                    self._fetch(f"{place}/{name}", folder / name)
            except _MISSING:
                raise KeyError(dataset_id) from None
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def delete(self, tenant: str, dataset_id: str) -> bool:
        place = self._place(tenant, dataset_id)
        if place is None or self._described(place) is None:
            return False
        with object_errors():
            for name in (_DESCRIPTION, *FILES):
                obstore.delete(self._store, f"{place}/{name}")
        return True

    def bytes_stored(self, tenant: str) -> int:
        with object_errors():
            listed = obstore.list(self._store, f"datasets/{checked_tenant(tenant)}/")
            return sum(meta["size"] for chunk in listed for meta in chunk)

    def _place(self, tenant: str, dataset_id: str) -> str | None:
        return f"datasets/{checked_tenant(tenant)}/{dataset_id}" if is_dataset_id(dataset_id) else None

    def _described(self, place: str) -> Dataset | None:
        body = _read(self._store, f"{place}/{_DESCRIPTION}")
        return None if body is None else Dataset.model_validate_json(body)

    def _fetch(self, name: str, target: Path) -> None:
        """An object as a file, piece by piece."""
        with object_errors(), target.open("wb") as file:
            for piece in obstore.get(self._store, name):
                file.write(piece)


class ObjectResultStore:
    """A `storage.stores.ResultStore`."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def put(self, tenant: str, job_id: str, attempt: int, body: bytes) -> str:
        name = result_name(job_id, attempt)
        with object_errors():
            obstore.put(self._store, f"results/{checked_tenant(tenant)}/{name}", body)
        return name

    def get(self, tenant: str, name: str) -> bytes | None:
        return _read(self._store, f"results/{checked_tenant(tenant)}/{name}") if is_result_name(name) else None

    def delete(self, tenant: str, name: str) -> None:
        if not is_result_name(name):
            raise ValueError(f"no result can be named {name!r}")
        _delete(self._store, f"results/{checked_tenant(tenant)}/{name}")

    def put_part(self, tenant: str, job_id: str, name: str, body: bytes) -> None:
        with object_errors():
            obstore.put(self._store, _part(tenant, job_id, name), body)

    def get_part(self, tenant: str, job_id: str, name: str) -> bytes | None:
        return _read(self._store, _part(tenant, job_id, name))

    def delete_part(self, tenant: str, job_id: str, name: str) -> None:
        _delete(self._store, _part(tenant, job_id, name))

    def delete_parts(self, tenant: str, job_id: str) -> None:
        with object_errors():
            for chunk in obstore.list(self._store, f"{parts_place(tenant, job_id)}/"):
                for meta in chunk:
                    _delete(self._store, meta["path"])


def _part(tenant: str, job_id: str, name: str) -> str:
    if not is_part_name(name):
        raise ValueError(f"no part can be named {name!r}")
    return f"{parts_place(tenant, job_id)}/{name}"


def _delete(store: ObjectStore, name: str) -> None:
    with object_errors():
        try:
            obstore.delete(store, name)
        except _MISSING:
            return


def _read(store: ObjectStore, name: str) -> bytes | None:
    with object_errors():
        try:
            return bytes(obstore.get(store, name).bytes())
        except _MISSING:
            return None
