"""Results in a folder, `results/<tenant>/<job>-<attempt>.json`, and `parts/<tenant>/<job>/…`."""

import shutil
from pathlib import Path

from storage.disk import disk_errors, folder_beside, make_folder, sync_folder, write_synced
from storage.names import checked_tenant, is_part_name, is_result_name, parts_place, result_name


class LocalResultStore:
    """`storage.stores.ResultStore` in a local folder.

    A name is returned only when its file is whole and on disk, and no two attempts share one: a
    file that a crash leaves in pieces is never read, and is deleted with the job.
    """

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / "results"
        self._data = data_dir

    def put(self, tenant: str, job_id: str, attempt: int, body: bytes) -> str:
        name = result_name(job_id, attempt)
        home = self._root / checked_tenant(tenant)
        with disk_errors():
            make_folder(home)
            write_synced(home / name, body)
            sync_folder(home)
        return name

    def get(self, tenant: str, name: str) -> bytes | None:
        if not is_result_name(name):
            return None
        try:
            return (self._root / checked_tenant(tenant) / name).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, tenant: str, name: str) -> None:
        if not is_result_name(name):
            raise ValueError(f"no result can be named {name!r}")
        with disk_errors():
            (self._root / checked_tenant(tenant) / name).unlink(missing_ok=True)

    def put_part(self, tenant: str, job_id: str, name: str, body: bytes) -> None:
        place = self._part(tenant, job_id, name)
        with disk_errors(), folder_beside(place.parent) as incoming:
            write_synced(incoming / name, body)
            (incoming / name).rename(place)
            sync_folder(place.parent)

    def get_part(self, tenant: str, job_id: str, name: str) -> bytes | None:
        try:
            return self._part(tenant, job_id, name).read_bytes()
        except FileNotFoundError:
            return None

    def delete_part(self, tenant: str, job_id: str, name: str) -> None:
        with disk_errors():
            self._part(tenant, job_id, name).unlink(missing_ok=True)

    def delete_parts(self, tenant: str, job_id: str) -> None:
        # Another worker may be writing there, or deleting too; what is left is found again.
        shutil.rmtree(self._data / parts_place(tenant, job_id), ignore_errors=True)

    def _part(self, tenant: str, job_id: str, name: str) -> Path:
        if not is_part_name(name):
            raise ValueError(f"no part can be named {name!r}")
        return self._data / parts_place(tenant, job_id) / name
