"""One real server, and one installation, for every test that needs one.

They listen on free loopback ports and keep everything in temporary folders.
"""

import gc
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from obstore.store import MemoryStore
from redis import Redis
from redis.exceptions import RedisError
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from standalone.preflight import free_port
from standalone.valkey import Store, embedded, find_server
from storage.blobs import Bucket, ObjectDatasetStore, ResultStore
from storage.redis.acl import RIGHTS
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from storage.stores import Stores
from tests.acceptance.served import Served
from tests.tools_of_node import installed

# As in a worker, several threads on small matrices wait for each other, and more so in parallel
# test processes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Objects from the collection of tests stay in memory; garbage collection through them would take a
# third of the time.
gc.disable()

SHARING = {
    "tests/acceptance/refusals/test_bad_input.py",
    "tests/acceptance/test_batches.py",
    "tests/acceptance/test_cases.py",
    "tests/acceptance/clients/test_examples.py",
    "tests/acceptance/clients/test_generated_clients.py",
    "tests/acceptance/test_generator_table.py",
    "tests/acceptance/refusals/test_hints.py",
    "tests/acceptance/clients/test_one_curl.py",
    "tests/acceptance/test_plan.py",
    "tests/acceptance/test_population.py",
    "tests/acceptance/test_real_data.py",
    "tests/acceptance/test_real_data_several.py",
    "tests/acceptance/test_recovery.py",
    "tests/acceptance/test_rolling_and_sweep.py",
    "tests/acceptance/test_webhook.py",
    "tests/client/test_batches.py",
    "tests/client/test_cli.py",
    "tests/client/test_cli_words.py",
    "tests/client/test_client.py",
}
"""Files whose tests use `served`; of several test processes, one starts it and runs them all."""


class ByInstallation(LoadFileScheduling):  # type: ignore[misc]
    """Scheduling by file; files that share an installation, whose start takes 7 s of CPU, join."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return (
            "served"
            if file in SHARING
            else "browser"
            if file.startswith("tests/browser/")
            else file
        )


WHOLE_INSTALLATION = {"acceptance", "browser", "chaos", "hostile"}
"""Folders whose tests need everything at once."""

STARTING = {"served", "s3", "own_redis", "surroundings_of"}
"""Fixtures that start more than one Valkey, which is there in 60 ms."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        action="store_true",
        help="leave out what starts servers, and what is marked `slow`",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return (collection_path.name in WHOLE_INSTALLATION and config.getoption("fast")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("fast"):
        slow = [
            item
            for item in items
            if item.get_closest_marker("slow") or STARTING.intersection(item.fixturenames)
        ]  # type: ignore[attr-defined]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in set(slow)]


def pytest_collection_finish() -> None:
    """From here on garbage is made."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return ByInstallation(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One installation (store, worker, service) for many tests, which may call local webhooks."""
    webhooks = {"ITOSCOPE_WEBHOOK_HOSTS": "127.0.0.1", "ITOSCOPE_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    running = Served(tmp_path_factory.mktemp("served") / "data with spaces", free_port(), webhooks)
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """URL of a durable server that runs meanwhile."""
    for _ in range(5):  # the free port may be taken before the server has it
        store = embedded(find_server(), folder, None, os.environ)
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                store.program.command,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert process.stdin is not None
        process.stdin.write(store.program.stdin)
        process.stdin.close()
        try:
            if _answers(store, process):
                yield store.url
                return
        finally:
            process.kill()
            process.wait()
    pytest.fail(f"no server came up: {(folder / 'log').read_text()[-2000:]}")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a durable server of this session. Tests share it: flush only a database of yours."""
    with _server(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture(scope="session")
def _forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Redis, Redis]]:
    """Clients of an administrator and a restricted account, on a server that never writes to disk.

    A claim of a job takes 0.3 ms there, and 4 ms where every write waits for the disk.
    """
    with _server(tmp_path_factory.mktemp("forgetful")) as url, Redis.from_url(url) as admin:
        admin.config_set("appendonly", "no")
        with connect(_restricted(admin, url)) as client:
            yield admin, client


@pytest.fixture
def job_client(_forgetful: tuple[Redis, Redis]) -> Redis:
    """A client of an empty database, with only the rights that operators are told to give."""
    admin, client = _forgetful
    admin.flushdb()
    return client


@pytest.fixture
def open_jobs(job_client: Redis) -> Callable[..., JobStore]:
    """The job store, empty at first, opened with settings such as `queued_grace`."""
    return partial(JobStore, job_client)


@pytest.fixture
def jobs(open_jobs: Callable[..., JobStore]) -> JobStore:
    """The job store, empty."""
    return open_jobs()


@pytest.fixture
def stores(jobs: JobStore) -> Stores:
    """Empty stores: jobs in a server, datasets and results as objects in memory."""
    objects = MemoryStore()
    bucket = Bucket(objects, objects)
    return Stores(jobs=jobs, datasets=ObjectDatasetStore(bucket), results=ResultStore(bucket))


@pytest.fixture
def empty_redis_url(redis_url: str) -> str:
    """URL of an empty database on that server, with the rights of an administrator."""
    url = redis_url.removesuffix("/0") + "/9"
    with Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture
def restricted_url(empty_redis_url: str) -> str:
    """URL of the empty database, for an account with only the rights that operators must give."""
    with Redis.from_url(empty_redis_url) as admin:
        return _restricted(admin, empty_redis_url)


def _restricted(admin: Redis, url: str) -> str:
    """The URL for an account with only the rights that operators are told to give."""
    admin.execute_command("ACL", "SETUSER", "itoscope", "reset", "on", ">secret", *RIGHTS.split())
    parts = urlsplit(url)
    return parts._replace(netloc=f"itoscope:secret@{parts.hostname}:{parts.port}").geturl()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Address of an S3-speaking server of this session's own."""
    from moto.server import ThreadedMotoServer  # 0.25 s, for the one file or two that need it

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of an empty place in a bucket, whose access is set in environment variables."""
    credentials = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    for name, value in {"AWS_ENDPOINT_URL": s3, **credentials}.items():
        monkeypatch.setenv(name, value)
    httpx.put(f"{s3}/itoscope").raise_for_status()
    return f"s3://itoscope/{secrets.token_hex(8)}"


def _answers(store: Store, process: "subprocess.Popen[bytes]") -> bool:
    with Redis.from_url(store.url, socket_timeout=2) as client:
        for _ in range(200):
            if process.poll() is not None:
                return False
            try:
                return bool(client.info("server")["process_id"] == process.pid)
            except RedisError:
                time.sleep(0.05)
    return False


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tools of `tests/node/package.json`."""
    return installed(tmp_path_factory.mktemp("node"))
