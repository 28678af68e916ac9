"""Folders that are deleted with the process that made them.

A lock, which no process keeps beyond its death, shows whether a folder's process still lives.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ABANDONED_SECONDS = 6 * 3600.0
"""Age after which an untouched folder counts as abandoned where the file system knows no locks."""


@contextmanager
def own_folder(home: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in `home` with this prefix; delete it afterwards unless it was renamed."""
    folder, lock = _made(home, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep(home: Path, prefix: str) -> None:
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
