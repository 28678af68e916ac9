"""Writing that survives a power cut, folders deleted with the process that made them, free space.

A file is written aside, synced and renamed, so that no reader sees half of it. A lock, which no
process keeps beyond its death, shows whether a folder's process still lives.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from storage.disk_errors import is_full
from storage.stores import StorageFull, StoreUnavailable

INCOMING = ".incoming-"
"""Prefix of folders that do not have their final name yet, or no longer."""
PRIVATE = 0o700
"""Rights of every folder with data: API keys protect the port, and not the files behind it."""
ABANDONED_SECONDS = 6 * 3600.0
"""Age after which an untouched folder counts as abandoned where the file system knows no locks."""


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn a full disk into StorageFull, a read-only or broken one into StoreUnavailable."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise StorageFull(f"The data folder is full: {error.strerror}") from error
        raise StoreUnavailable(
            f"The data folder cannot be written: {error.strerror or error}"
        ) from error


@contextmanager
def folder_beside(home: Path) -> Iterator[Path]:
    """Make a hidden folder in `home`, on its file system; delete it unless it was renamed."""
    make_folder(home)
    with own_folder(home, INCOMING) as folder:
        yield folder


def make_folder(folder: Path) -> None:
    """Make a folder that still exists after a power cut."""
    if not folder.exists():
        make_folder(folder.parent)
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        sync_folder(folder.parent)


def write_synced(path: Path, body: bytes) -> None:
    """Write a file and wait until it is on disk."""
    with path.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def link_synced(source: Path, target: Path) -> None:
    """Give a file that no longer changes a second name, and wait until it is on disk.

    Where a second name is not possible, as on another file system, the file is copied.
    """
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    with target.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the folder's names are on disk: a rename is not durable before."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def own_folder(home: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in `home` with this prefix; delete it afterwards unless it was renamed."""
    folder, lock = _made(home, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep_folders(home: Path, prefix: str) -> None:
    """Delete the folders of processes that are gone."""
    for folder in home.glob(f"{prefix}*"):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.getuid() and _is_abandoned(lock):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _made(home: Path, prefix: str) -> tuple[Path, int]:
    """Return the folder, and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=home))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)  # Another process swept between the two steps.


def _is_abandoned(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return time.time() - os.fstat(lock).st_mtime > ABANDONED_SECONDS
    return True


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk that holds a folder, or will hold it [bytes]."""
    if not folder.exists():
        return free_bytes(folder.absolute().parent)
    return shutil.disk_usage(folder).free
