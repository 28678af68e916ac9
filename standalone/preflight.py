"""Checks before anything is started: each raises CannotStart with one line that says what to do."""

import contextlib
import errno
import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from standalone.errors import CannotStart


def free_port() -> int:
    """Return a loopback port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require_port(host: str, port: int) -> None:
    """Check that the service will be able to listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # As uvicorn does: connections in TIME_WAIT are no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(
                f"port {port} is taken; stop what uses it, or set ITOSCOPE_PORT to another"
            ) from error
        raise CannotStart(
            f"cannot listen on {host}, port {port}: {error.strerror}; "
            "see ITOSCOPE_HOST and ITOSCOPE_PORT"
        ) from error


def require_folder(folder: Path) -> None:
    """Check that the folder exists, or can be made, and that files can be written into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A permission bit is no evidence for root, or on a read-only disk.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CannotStart(
            f"cannot write to the data folder {folder}: {error.strerror}; "
            "set ITOSCOPE_DATA_DIR to another"
        ) from error


@contextlib.contextmanager
def sole_user(folder: Path, *, patience: float = 1.0) -> Iterator[int]:
    """Lock the folder for this process; yield the lock's descriptor, which children may inherit.

    The lock lasts until the last process that holds the descriptor has ended. The children of a
    supervisor that was killed need a moment to end, so the lock is tried again for `patience`
    seconds.
    """
    path = folder / "lock"
    with path.open("a+") as lock:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    lock.seek(0)
                    owner = lock.read().strip() or "unknown"
                    raise CannotStart(
                        f"the data folder {folder} is in use by another Itoscope "
                        f"(process {owner}); stop it, or set ITOSCOPE_DATA_DIR to another"
                    ) from error
                time.sleep(0.05)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield lock.fileno()
