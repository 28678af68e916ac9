"""The calls of an object store that we make, with bounds on how long each may take."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import ObjectStore, S3Store

from storage.stores import StoreUnavailable

MISSING = (FileNotFoundError, NotFoundError)
SILENCE_SECONDS = 10
READ_SECONDS = 3600
"""Longest read, as long as data arrive; a silent one is tried again or given up before."""
UPLOAD_SECONDS = 60
"""Longest time of a request that sends data, five megabytes of them at most."""
RETRY_SECONDS = 20
"""Time after which nothing is tried again: a caller gets 503 and not a broken connection."""
READS_AT_ONCE = 20
"""Half of the service's threads: a silent store would occupy all, those for jobs too."""
TURN_SECONDS = 1.0
"""Longest time that a read waits for one of the READS_AT_ONCE places."""


class Bucket:
    """Prefix in an object store, with all names below it. Every call may raise StoreUnavailable."""

    def __init__(self, writing: ObjectStore, reading: ObjectStore) -> None:
        """Take two clients of one prefix, as writing and reading have different time limits."""
        self._writing, self._reading = writing, reading
        self._turns = threading.BoundedSemaphore(READS_AT_ONCE)

    def put(
        self, name: str, body: bytes | Path, mode: Literal["create", "overwrite"] = "overwrite"
    ) -> bool:
        """Write an object; return False where mode is "create" and the object exists."""
        with _errors():
            try:
                obstore.put(self._writing, name, body, mode=mode)
            except AlreadyExistsError:
                return False
        return True

    def get(self, name: str) -> bytes | None:
        """Return the whole object, or None where there is none."""
        with self._turn(), _errors():
            try:
                return bytes(obstore.get(self._reading, name).bytes())
            except MISSING:
                return None

    def fetch(self, name: str, target: Path) -> bool:
        """Write an object to a file, piece by piece; return False where there is none."""
        with _errors():
            try:
                pieces = obstore.get(self._reading, name)
            except MISSING:
                return False
            with target.open("wb") as file:
                for piece in pieces:
                    file.write(piece)
        return True

    def list(self, prefix: str) -> Sequence[Mapping[str, Any]]:
        """Return path, size, time and tag of each object below the prefix."""
        with self._turn(), _errors():
            return [meta for chunk in obstore.list(self._reading, prefix) for meta in chunk]

    def delete(self, name: str) -> None:
        """Delete the object if there is one."""
        with _errors():
            try:
                obstore.delete(self._writing, name)
            except MISSING:
                return

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise StoreUnavailable(f"The object store is slow: {READS_AT_ONCE} reads wait for it.")
        try:
            yield
        finally:
            self._turns.release()


def s3_bucket(url: str) -> Bucket:
    """Open `s3://bucket/prefix`, with credentials, region and endpoint from `AWS_…` variables."""

    def store(seconds: int, silence: int) -> ObjectStore:
        return S3Store.from_url(
            url,
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
            client_options={
                "connect_timeout": "3s",
                "timeout": f"{seconds}s",
                "read_timeout": f"{silence}s",
                "allow_http": True,
            },
        )

    return Bucket(store(UPLOAD_SECONDS, UPLOAD_SECONDS), store(READ_SECONDS, SILENCE_SECONDS))


@contextmanager
def _errors() -> Iterator[None]:
    """Turn every failure except a missing or already existing object into StoreUnavailable."""
    try:
        yield
    except (*MISSING, AlreadyExistsError):
        raise
    except BaseError as error:
        # The error's own text may hold the address and the headers of the request.
        raise StoreUnavailable(
            f"The object store does not answer as it should: {type(error).__name__}"
        ) from error
