"""The one way to open Redis or Valkey, and the one name for its failures."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import (
    ConnectionError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TimeoutError,
)
from redis.retry import Retry

from storage.stores import StorageFull, StoreUnavailable

# Beginnings of the answers of a server that cannot keep data: disk, loading, no majority, no
# master.
_PASSING_TROUBLE = (
    "OOM",
    "MISCONF",
    "LOADING",
    "NOREPLICAS",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "READONLY",
    "BUSY",
)


class _Client(Redis):
    """Client that leaves a server that became a replica: the address may lead to the new master."""

    def parse_response(self, connection: Any, command_name: Any, **options: Any) -> Any:
        try:
            return super().parse_response(  # type: ignore[no-untyped-call]
                connection, command_name, **options
            )
        except ReadOnlyError:
            connection.disconnect()
            raise


def connect(url: str, *, timeout: float = 5.0) -> Redis:
    """Return a client that gives up soon, and sends nothing yet.

    The caller knows better whether to answer 503 or to wait. Commands are tried three times within
    about 0.2 s where the connection breaks; every transition may safely be repeated.
    """
    return _Client.from_url(
        url,
        decode_responses=True,
        socket_timeout=timeout,
        socket_connect_timeout=min(timeout, 2.0),
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(ExponentialBackoff(cap=0.2, base=0.05), 2, supported_errors=(ConnectionError,)),
    )


def broker_url(url: str) -> str:
    """Return the URL for Celery, which by default accepts any certificate, unlike redis-py."""
    parts = urlsplit(url)
    if parts.scheme != "rediss" or "ssl_cert_reqs" in parse_qs(parts.query):
        return url
    return parts._replace(query=f"{parts.query}&ssl_cert_reqs=required".lstrip("&")).geturl()


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn missing connection, answer, rights or room into StoreUnavailable or StorageFull."""
    try:
        yield
    except OutOfMemoryError as error:
        raise StorageFull(f"Redis is full: {error}") from error
    except (ConnectionError, TimeoutError, ReadOnlyError, NoPermissionError) as error:
        raise StoreUnavailable(f"Redis is not available: {error}") from error
    except ResponseError as error:
        if "OOM" in str(error)[:200]:  # from inside a script
            raise StorageFull(f"Redis is full: {error}") from error
        if str(error).startswith(_PASSING_TROUBLE):
            raise StoreUnavailable(f"Redis is not available: {error}") from error
        raise
