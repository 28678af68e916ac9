"""The calls of an object store that we make, and how long each may take where nothing answers."""

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
"""A read that hears nothing for so long is tried again, or given up; as long as something comes, it may take an hour."""
UPLOAD_SECONDS = 60
"""A request that sends data, five megabytes of them at most, is over after so long."""
RETRY_SECONDS = 20
"""Nothing is tried again after so long: a caller gets 503 and not a broken connection."""
READS_AT_ONCE = 20
"""Half of the service's threads. A store that takes connections and says nothing would hold all of them, those for jobs too."""
TURN_SECONDS = 1.0
"""A read that has not got its turn after so long is given up."""


class Bucket:
    """A place in an object store: names are below it. Whatever is asked of it raises StoreUnavailable."""

    def __init__(self, writing: ObjectStore, reading: ObjectStore) -> None:
        """The same place twice, as what is sent and what is read may take different times."""
        self._writing, self._reading = writing, reading
        self._turns = threading.BoundedSemaphore(READS_AT_ONCE)

    def put(
        self, name: str, body: bytes | Path, mode: Literal["create", "overwrite"] = "overwrite"
    ) -> bool:
        """Write an object; False where it is to be made and is there already."""
        with _errors():
            try:
                obstore.put(self._writing, name, body, mode=mode)
            except AlreadyExistsError:
                return False
        return True

    def get(self, name: str) -> bytes | None:
        """The whole object, or None where there is none."""
        with self._turn(), _errors():
            try:
                return bytes(obstore.get(self._reading, name).bytes())
            except MISSING:
                return None

    def fetch(self, name: str, target: Path) -> bool:
        """Write an object to a file, piece by piece; False where there is none."""
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
        """Path, size, time and tag of each object below."""
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
    """The bucket and prefix of `s3://bucket/prefix`; credentials, region and endpoint are taken from the usual variables."""

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
    """Turns all troubles but that an object is not there, or is there already, into StoreUnavailable."""
    try:
        yield
    except (*MISSING, AlreadyExistsError):
        raise
    except BaseError as error:
        # Its words may hold the address and the headers of the request.
        raise StoreUnavailable(
            f"The object store does not answer as it should: {type(error).__name__}"
        ) from error
