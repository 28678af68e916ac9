"""Results in a local folder: `results/<tenant>/<job>-<attempt>.json`."""

from pathlib import Path

from storage.disk import disk_errors, make_folder, sync_folder, write_synced
from storage.names import checked_tenant, is_result_name, result_name


class LocalResultStore:
    """A `storage.stores.ResultStore`. Nobody is told a name before its file is whole and on disk, and no two attempts share one:
    a file that a crash leaves in pieces is never read, and is deleted with the job.
    """

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / "results"

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
