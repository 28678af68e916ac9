"""The embedded job store."""

import importlib.util
import os
from pathlib import Path

import pytest
import redis
from kombu.connection import Connection

from standalone import valkey
from standalone.errors import CannotStart
from standalone.supervisor import Child, Supervisor
from storage.redis.connection import check_durability


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Put servers on PATH, by name and by what they answer to --version; nothing else is on it."""
    folder.mkdir(exist_ok=True)
    for name, says in versions.items():
        server = folder / name.replace("_", "-")
        server.write_text(f"#!/bin/sh\necho '{says}'\n")
        server.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_a_server_on_path_comes_before_the_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(
        tmp_path,
        monkeypatch,
        redis_server="Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64",
    )
    assert valkey.find_server() == tmp_path / "redis-server"


def test_valkey_on_path_comes_before_redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(
        tmp_path,
        monkeypatch,
        redis_server="Redis server v=8.0.0",
        valkey_server="Valkey server v=8.1.1",
    )
    assert valkey.find_server() == tmp_path / "valkey-server"


@pytest.mark.parametrize("says", ["Redis server v=6.2.14 sha=0", "no version", ""])
def test_a_server_too_old_or_without_a_version_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    on_path(tmp_path, monkeypatch, redis_server=says)
    assert valkey.find_server().parent != tmp_path


def test_where_there_is_no_server_the_ways_out_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(tmp_path, monkeypatch)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CannotStart, match="ITOSCOPE_REDIS_URL"):
        valkey.find_server()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Longer than a Unix socket's path may be, and with spaces and quotes."""
    folder = tmp_path / ('it\'s a "long" name ' * 6)
    folder.mkdir()
    return folder


def started(supervisor: Supervisor, folder: Path) -> tuple[str, Child]:
    """URL and process of a store that has read its log."""
    store = valkey.embedded(valkey.find_server(), folder, folder / "valkey.log", os.environ)
    child = supervisor.start(store.program)
    assert supervisor.watch(lambda: valkey.answers(store.url), seconds=20)
    return store.url, child


def test_one_url_serves_redis_and_celery_and_a_password_keeps_others_out(folder: Path) -> None:
    with Supervisor(print) as supervisor:
        url, _ = started(supervisor, folder)
        with redis.Redis.from_url(url) as client:
            check_durability(client)
        with Connection(url) as connection:  # type: ignore[no-untyped-call]
            connection.ensure_connection(max_retries=1, timeout=5)
        with (
            pytest.raises(redis.AuthenticationError),
            redis.Redis.from_url(valkey.without_password(url)) as stranger,
        ):
            stranger.ping()


def test_what_was_written_is_there_after_the_server_was_killed(folder: Path) -> None:
    with Supervisor(print) as supervisor:
        url, child = started(supervisor, folder)
        with redis.Redis.from_url(url) as client:
            client.set("kept", "yes")
        child.process.kill()
        child.process.wait()
        assert not valkey.answers(url)
        assert supervisor.watch(lambda: valkey.answers(url), seconds=20), "it starts again"
        with redis.Redis.from_url(url) as client:
            assert client.get("kept") == b"yes"
    with (
        Supervisor(print) as supervisor,
        redis.Redis.from_url(started(supervisor, folder)[0]) as client,
    ):
        assert client.get("kept") == b"yes"


def test_a_server_that_is_not_there_does_not_answer() -> None:
    assert valkey.answers("redis://127.0.0.1:1/0") is False


def test_what_is_no_redis_url_is_said_to_be_none() -> None:
    with pytest.raises(CannotStart, match="not a Redis URL"):
        valkey.answers("http://127.0.0.1:6379")


def test_a_shown_url_holds_no_password() -> None:
    assert valkey.without_password("redis://user:secret@host:6379/0") == "redis://host:6379/0"
