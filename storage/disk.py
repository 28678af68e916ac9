"""Writing that survives a power cut and never shows half a file: write aside, sync, rename."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.disk_errors import is_full
from storage.stores import StorageFull, StoreUnavailable
from storage.temporary import own_folder

INCOMING = ".incoming-"
"""Prefix of folders that do not have their final name yet, or no longer."""


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
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def write_synced(path: Path, body: bytes) -> None:
    """Write a file and wait until it is on disk."""
    with path.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def copy_synced(source: Path, target: Path) -> None:
    """Copy a file and wait until it is on disk."""
    with source.open("rb") as read, target.open("wb") as written:
        shutil.copyfileobj(read, written, 1 << 20)
        written.flush()
        os.fsync(written.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the folder's names are on disk: a rename is not durable before."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
