"""What a caller sees of a server in trouble."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from redis import Redis

from contract.jobs import IdentificationJob
from storage.redis.connection import connect, store_errors
from storage.redis.jobs import JobStore
from storage.stores import StorageFull, StoreUnavailable

JOB = IdentificationJob(kind="identification", dataset="ds_abc")


@pytest.fixture
def mute_url() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def test_opening_a_store_asks_for_no_server() -> None:
    JobStore(connect("redis://127.0.0.1:1/0"))


def test_no_server_is_unavailable_soon() -> None:
    jobs = JobStore(connect("redis://127.0.0.1:1/0"))
    start = time.monotonic()
    with pytest.raises(StoreUnavailable):
        jobs.submit("lab", JOB)
    with pytest.raises(StoreUnavailable):
        jobs.list("lab")
    assert time.monotonic() - start < 5


def test_a_mute_server_is_unavailable_after_the_timeout(mute_url: str) -> None:
    with pytest.raises(StoreUnavailable):
        JobStore(connect(mute_url, timeout=0.2)).beat("worker")


def test_a_full_server_says_so_and_takes_jobs_again_later(empty_redis_url: str) -> None:
    jobs = JobStore(connect(empty_redis_url))
    with Redis.from_url(empty_redis_url) as admin:
        admin.config_set("maxmemory", 1)
        try:
            with pytest.raises(StorageFull):
                jobs.submit("lab", JOB)
        finally:
            admin.config_set("maxmemory", "1gb")
    assert jobs.list("lab") == ([], None)
    assert jobs.submit("lab", JOB).created


def test_a_server_that_grants_too_little_is_the_operators_to_mend(empty_redis_url: str) -> None:
    with Redis.from_url(empty_redis_url) as admin:
        admin.execute_command(
            "ACL", "SETUSER", "poor", "reset", "on", ">secret", "-@all", "+@connection"
        )
    parts = urlsplit(empty_redis_url)
    url = parts._replace(netloc=f"poor:secret@{parts.hostname}:{parts.port}").geturl()
    with pytest.raises(StoreUnavailable):
        JobStore(connect(url)).list("lab")


def test_a_server_that_became_a_replica_is_left_for_the_one_its_address_leads_to_now() -> None:
    greetings = {
        b"HELLO": b"%1\r\n$5\r\nproto\r\n:3\r\n",
        b"CLIENT": b"+OK\r\n",
        b"PING": b"+PONG\r\n",
    }

    def serve(connection: socket.socket, answer: bytes) -> None:
        with connection:
            while received := connection.recv(10_000):
                for command in re.split(rb"\*[0-9]+\r\n", received)[1:]:
                    connection.sendall(
                        next((said for name, said in greetings.items() if name in command), answer)
                    )

    def accept() -> None:
        for answer in (b"-READONLY a replica now\r\n", b":7\r\n"):
            threading.Thread(target=serve, args=(server.accept()[0], answer), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        client = connect(f"redis://127.0.0.1:{server.getsockname()[1]}/0")
        with pytest.raises(StoreUnavailable), store_errors():
            client.incr("key")
        assert client.incr("key") == 7


def test_a_store_survives_the_loss_of_its_connections_and_of_its_scripts(
    empty_redis_url: str,
) -> None:
    jobs = JobStore(connect(empty_redis_url))
    job_id = jobs.submit("lab", JOB).record.id
    with Redis.from_url(empty_redis_url) as admin:
        admin.script_flush()
        admin.client_kill_filter(_type="normal", skipme=True)
    assert jobs.claim(job_id, "worker", 30)
