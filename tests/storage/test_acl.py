"""The account that the containers' Redis knows."""

import hashlib
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ConnectionError, NoPermissionError
from redis.retry import Retry

from standalone.preflight import free_port
from standalone.valkey import find_server
from storage.redis import acl


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    secrets, access = tmp_path / "secrets", tmp_path / "access"
    secrets.mkdir()
    access.mkdir()
    return secrets, access


def prepared(folders: tuple[Path, Path]) -> tuple[str, str]:
    """URL and users' file, as the command leaves them."""
    secrets, access = folders
    assert acl.main(["--secrets", str(secrets), "--access", str(access)]) == 0
    return (secrets / "itoscope_redis_url").read_text().strip(), (access / "users.acl").read_text()


def knock(port: int, user: str, password: str) -> Redis:
    """A client that takes the first answer for the answer."""
    return Redis(port=port, username=user, password=password, retry=Retry(NoBackoff(), 0))


@contextmanager
def running(users: Path) -> Iterator[int]:
    """The port of a server that knows these users and keeps its log of writes beside them, as the
    one in the container does."""
    port = free_port()
    command = [
        str(find_server()),
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(users.parent),
        "--save",
        "",
    ]
    durable = ["--appendonly", "yes", "--appendfsync", "always", "--aclfile", str(users)]
    process = subprocess.Popen([*command, *durable], stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                knock(port, acl.HEALTH_USER, "any").ping()
                break
            except ConnectionError:
                time.sleep(0.02)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def server(folders: tuple[Path, Path]) -> Iterator[int]:
    prepared(folders)
    with running(folders[1] / "users.acl") as port:
        yield port


def kept_after_a_kill(folders: tuple[Path, Path]) -> list[str]:
    """What a killed and restarted server still knows of a plain write, of one by a script and of
    one in a transaction."""
    password = str(urlsplit((folders[0] / "itoscope_redis_url").read_text().strip()).password)
    with running(folders[1] / "users.acl") as port, knock(port, acl.USER, password) as client:
        client.set("job:plain", 1)
        client.eval(
            "redis.call('SET', KEYS[1], 1) redis.call('SET', KEYS[2], 1)",
            2,
            "job:script",
            "job:script too",
        )
        with client.pipeline(transaction=True) as transaction:
            transaction.set("job:transaction", 1).set("job:transaction too", 1).execute()
    with running(folders[1] / "users.acl") as port, knock(port, acl.USER, password) as client:
        return [kind for kind in ("plain", "script", "transaction") if client.exists(f"job:{kind}")]


def test_a_restarted_server_knows_all_that_was_written(folders: tuple[Path, Path]) -> None:
    prepared(folders)
    assert kept_after_a_kill(folders) == ["plain", "script", "transaction"]


def test_the_default_user_may_do_everything_though_nobody_can_be_it(
    folders: tuple[Path, Path],
) -> None:
    # Redis 8.0.2 reads its log in that name and forgot every job where it had no rights; the
    # bundled Valkey reads it in no name.
    assert prepared(folders)[1].startswith("user default off resetpass ~* &* +@all\n")


def test_service_and_workers_get_in_and_nobody_else(
    folders: tuple[Path, Path], server: int
) -> None:
    url, _ = prepared(folders)
    inside = Redis.from_url(url.replace("redis:6379", f"127.0.0.1:{server}"))
    inside.hset("job:1", "state", "queued")
    for refused in (
        lambda: inside.set("other", 1),
        inside.flushdb,
        inside.keys,
        lambda: inside.config_get("*"),
        inside.acl_list,
    ):
        with pytest.raises(NoPermissionError):
            refused()
    with pytest.raises(AuthenticationError):
        knock(server, "default", "").ping()
    with pytest.raises(AuthenticationError):
        knock(server, acl.USER, "guess").ping()


def test_the_health_check_may_ask_for_a_sign_of_life_only(server: int) -> None:
    health = knock(server, acl.HEALTH_USER, "none")
    assert health.ping()
    for refused in (
        health.info,
        lambda: health.get("job:1"),
        lambda: health.publish("any", "thing"),
        health.dbsize,
    ):
        with pytest.raises(NoPermissionError):
            refused()


def test_the_password_is_kept_and_the_rights_are_this_versions(folders: tuple[Path, Path]) -> None:
    url, users = prepared(folders)
    (folders[1] / "users.acl").chmod(0o644)
    (folders[1] / "users.acl").write_text("user itoscope on nopass +@all")
    assert prepared(folders) == (url, users)
    password = urlsplit(url).password
    assert password is not None
    assert len(password) == 64
    assert hashlib.sha256(password.encode()).hexdigest() in users


def test_every_installation_has_a_password_of_its_own(folders: tuple[Path, Path]) -> None:
    url, _ = prepared(folders)
    (folders[0] / "itoscope_redis_url").unlink()
    assert prepared(folders)[0] != url


def test_the_password_is_readable_by_its_owner_only_and_not_in_the_users_file(
    folders: tuple[Path, Path],
) -> None:
    url, users = prepared(folders)
    assert stat.S_IMODE((folders[0] / "itoscope_redis_url").stat().st_mode) == 0o400
    assert stat.S_IMODE((folders[1] / "users.acl").stat().st_mode) == 0o444
    assert str(urlsplit(url).password) not in users


def test_a_folder_that_is_not_there_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert acl.main(["--secrets", str(tmp_path / "no"), "--access", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_folders_the_rights_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert acl.main([]) == 0
    assert capsys.readouterr().out == acl.RIGHTS + "\n"
