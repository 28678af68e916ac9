"""The one way to open Redis or Valkey, the names of its failures, and what makes it safe enough."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
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

from contract.messages import Message
from storage.stores import StorageFull, StoreUnavailable

DUE = "jobs:due"
"""Key of the open jobs, by the time at which they are to be examined."""
_LUA = Path(__file__).parent / "lua"
# Beginnings of the answers of a server that cannot keep data: disk, loading, no majority, no
# master.
_PASSING_TROUBLE = (
    "OOM", "MISCONF", "LOADING", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "BUSY",
)  # fmt: skip


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


class WeakDurability(Exception):
    """Server that may lose accepted jobs. The message names the setting, and what to do."""


def check_durability(client: Redis, *, allow_weak: bool = False) -> None:
    """Raise WeakDurability unless all acknowledged data are on disk and nothing is evicted.

    It asks INFO, which every account may read, and CONFIG for `appendfsync`, where CONFIG is
    allowed. Measured: a power cut lost 59 of 300 accepted jobs under `everysec`, none under
    `always`; `allkeys-lru` evicted 179 of 300. Raise StoreUnavailable where the server does not
    answer.
    """
    if allow_weak:
        return
    with store_errors():
        facts = client.info()
        fsync = _appendfsync(client)
    if int(facts.get("loading", 0)):
        # Until a server has read its log, it reports the log as off even where it is on.
        raise StoreUnavailable("Redis is not available: it is reading its log.")
    faults = []
    if not int(facts.get("aof_enabled", 0)):
        faults.append("appendonly is off (set `appendonly yes`)")
    elif fsync not in (None, "always"):
        faults.append(f"appendfsync is {fsync} (set `appendfsync always`)")
    policy = facts.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        faults.append(f"maxmemory-policy is {policy} (set `maxmemory-policy noeviction`)")
    if faults:
        raise WeakDurability(
            f"this Redis may lose accepted jobs: {'; '.join(faults)}. "
            "To take the risk, set ITOSCOPE_ALLOW_WEAK_DURABILITY=1."
        )


def _appendfsync(client: Redis) -> str | None:
    """Return the policy of syncing the log, or None where the server does not show it."""
    try:
        return cast("dict[str, str]", client.config_get("appendfsync")).get("appendfsync")
    except ResponseError:
        return None


class Scripts:
    """Client with the transitions of job records, each a Lua script (storage/redis/lua)."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        prelude = (_LUA / "prelude.lua").read_text()
        self._transitions = {
            path.stem: client.register_script(prelude + path.read_text())
            for path in _LUA.rglob("*.lua")
            if path.stem != "prelude"
        }

    def _run(self, transition: str, keys: Sequence[str], *args: str | float) -> Any:
        with store_errors():
            return self._transitions[transition](keys=list(keys), args=list(args))


def rows(flat: Sequence[Any], width: int) -> Iterator[tuple[Any, ...]]:
    """Return rows of this width from a script's answer, which is flat."""
    return zip(*(flat[k::width] for k in range(width)), strict=True)


def pairs(flat: Sequence[str]) -> dict[str, str]:
    """Return the fields and values of a hash, which Redis gives in turn."""
    return dict(rows(flat, 2))


def messages_of(flat: Sequence[Any]) -> tuple[Message, ...]:
    """Return the messages of a script's answer: id, time limit and queue in turn."""
    return tuple(Message(job_id, float(timeout), queue) for job_id, timeout, queue in rows(flat, 3))


def record_key(job_id: str) -> str:
    """Return the key of a job's record."""
    return f"job:{job_id}"
