"""Claims about a real worker: its processes are started, killed and stopped."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from contract.results import GeneratorResult
from storage.blobs import ResultStore
from storage.local_blobs import Folder
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from worker.queue.app import main

ROOT = Path(__file__).resolve().parents[3]
Surroundings = Any  # the class of tests/worker/conftest.py, which cannot be imported from here


def result(surroundings: Surroundings, job_id: str) -> GeneratorResult:
    name = surroundings.jobs.result_name("lab", job_id)
    body = ResultStore(Folder(surroundings.data_dir)).get("lab", name)
    assert body is not None
    return GeneratorResult.model_validate_json(body)


def test_the_job_of_a_killed_worker_is_finished_by_another(surroundings: Surroundings) -> None:
    worker = surroundings.start_worker()
    job_id = surroundings.submit(sleep="60")
    surroundings.wait(lambda: surroundings.record(job_id).progress.stage == "sleeping")
    os.killpg(worker.pid, signal.SIGKILL)
    surroundings.start_worker()
    record = surroundings.finished(job_id)
    assert (record.state, record.attempt) == ("succeeded", 2)
    assert result(surroundings, job_id).provenance.parameters["attempt"] == 2


def test_a_worker_keeps_long_jobs_finds_lost_ones_and_stops_when_told(
    surroundings: Surroundings,
) -> None:
    worker = surroundings.start_worker()
    longer_than_the_lease, dying, too_long = (
        surroundings.submit(sleep="3"),
        surroundings.submit(die=""),
        surroundings.submit(sleep="60", timeout_seconds=1),
    )
    surroundings.wait(lambda: surroundings.jobs.workers_alive(5, socket.gethostname()) == 1)

    record = surroundings.finished(longer_than_the_lease)
    assert (record.state, record.attempt) == ("succeeded", 1)
    seen = result(surroundings, longer_than_the_lease).provenance.parameters
    assert (seen["numba_threads"], seen["numpy_imported"], seen["attempt"]) == ("3", False, 1)

    record = surroundings.finished(dying)
    assert (record.state, record.attempt) == ("succeeded", 2)

    record = surroundings.finished(too_long)
    assert record.state == "failed"
    assert record.error is not None
    assert record.error.code == "timed-out"

    # Celery waits out the whole soft shutdown where it still thinks that a job runs; the last
    # message must be acknowledged first.
    surroundings.wait(lambda: not surroundings.client.exists("unacked"))
    worker.terminate()
    assert worker.wait(10) == 0
    assert (
        surroundings.jobs.workers_alive(5) == 0
    )  # it said farewell; its last sign of life would still have counted
    with pytest.raises(ProcessLookupError):  # nobody is left of its process group
        os.killpg(worker.pid, 0)


def only_child(worker: "subprocess.Popen[bytes]") -> int:
    (pid,) = map(int, Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split())
    return pid


@pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")
def test_a_child_that_does_not_take_up_its_message_is_replaced_and_the_message_is_not_lost(
    surroundings: Surroundings,
) -> None:
    worker = surroundings.start_worker(STUB_TAKE_UP_LOOKS="2")
    assert surroundings.finished(surroundings.submit()).state == "succeeded"
    os.kill(only_child(worker), signal.SIGSTOP)
    assert surroundings.finished(surroundings.submit()).state == "succeeded"


def test_a_process_whose_job_was_stopped_ends_and_that_of_others_goes_on(
    surroundings: Surroundings,
) -> None:
    surroundings.start_worker()
    jobs = [surroundings.submit(), surroundings.submit()]
    stopped = surroundings.submit(sleep="60", timeout_seconds=1)
    jobs += [surroundings.submit(), surroundings.submit()]
    one, two, three, four = (
        result(surroundings, job).provenance.parameters["pid"]
        for job in map(ended_well(surroundings), jobs)
    )
    assert surroundings.record(stopped).state == "failed"
    assert one == two != three == four
    assert "WorkerLostError" not in surroundings.log.read_text()


def test_a_job_that_takes_too_much_memory_fails_at_once_and_its_process_goes_on(
    surroundings: Surroundings,
) -> None:
    surroundings.start_worker(ITOSCOPE_JOB_MEMORY_BYTES="6e8")
    modest, greedy, next_one = (
        surroundings.submit(take=str(size)) for size in (300_000_000, 900_000_000, 1000)
    )
    record = surroundings.finished(greedy)
    assert record.error is not None
    assert (record.state, record.error.code, record.attempt) == ("failed", "out-of-memory", 1)
    assert "0.6 GB" in record.error.detail
    before, after = (
        result(surroundings, job).provenance.parameters
        for job in map(ended_well(surroundings), (modest, next_one))
    )
    assert before["taken"] == 300_000_000
    assert before["pid"] == after["pid"]


def test_without_the_limit_the_greedy_job_succeeds(surroundings: Surroundings) -> None:
    surroundings.start_worker(ITOSCOPE_JOB_MEMORY_BYTES="inf")
    greedy = surroundings.submit(take="900000000")
    assert surroundings.finished(greedy).state == "succeeded"
    assert result(surroundings, greedy).provenance.parameters["taken"] == 900_000_000


def ended_well(surroundings: Surroundings) -> Callable[[str], str]:
    """Waits for a job that has to succeed; its id."""

    def wait(job_id: str) -> str:
        assert surroundings.finished(job_id).state == "succeeded"
        return job_id

    return wait


def test_a_worker_waits_for_redis_and_survives_its_loss(
    own_redis: Any, surroundings_of: Any
) -> None:
    surroundings = surroundings_of(own_redis.url)
    worker = surroundings.start_worker()
    surroundings.wait(lambda: "waiting for Redis" in surroundings.log.read_text())
    own_redis.start()
    surroundings.wait(lambda: surroundings.jobs.workers_alive(5) == 1)

    busy = surroundings.submit(sleep="2")
    surroundings.wait(lambda: surroundings.record(busy).state == "running")
    own_redis.away(seconds=3)  # the job ends meanwhile, and its commit must wait
    assert surroundings.finished(busy).state == "succeeded"

    own_redis.away(seconds=2)  # now the worker is idle, and loses its place at the queue
    assert surroundings.finished(surroundings.submit()).state == "succeeded"
    surroundings.wait(lambda: surroundings.jobs.workers_alive(1) == 1)

    with Redis.from_url(own_redis.url) as admin:  # its queue answers READONLY for a while
        admin.execute_command("REPLICAOF", "127.0.0.1", "1")
        time.sleep(1)
        admin.execute_command("REPLICAOF", "NO", "ONE")
    assert surroundings.finished(surroundings.submit()).state == "succeeded"
    assert worker.poll() is None


@pytest.mark.slow
def test_the_main_process_loads_no_numerical_library_and_none_unusable_in_a_forked_child() -> None:
    code = """
import sys
from worker.queue.app import computation_of, create_app
from worker.queue.settings import WorkerSettings

settings = WorkerSettings(blob_url="s3://bucket")
create_app(settings, computation_of(settings))
sys.exit(bool({"numpy", "scipy", "sklearn", "numba", "pyarrow", "obstore"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    ("environment", "arguments", "said"),
    [
        ({"ITOSCOPE_LEASE_SECONDS": "soon"}, [], "ITOSCOPE_LEASE_SECONDS"),
        ({}, ["--help"], "unknown argument"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(
    environment: dict[str, str],
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "environ", os.environ | environment)
    assert main(arguments) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1


@pytest.mark.slow
def test_alive_says_no_without_redis() -> None:
    """As the health check of a worker's container asks."""
    environment = os.environ | {"ITOSCOPE_REDIS_URL": "redis://127.0.0.1:1/0"}
    assert (
        subprocess.run(
            [sys.executable, "-m", "worker", "alive"], env=environment, cwd=ROOT, timeout=20
        ).returncode
        == 1
    )


def test_alive_asks_for_a_worker_of_this_host(
    empty_redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a container that is this very one: a neighbour's life must not hide its own death.
    jobs = JobStore(connect(empty_redis_url))
    monkeypatch.setenv("ITOSCOPE_REDIS_URL", empty_redis_url)
    jobs.beat("itoscope-1@elsewhere")
    assert main(["alive"]) == 1
    jobs.beat(f"itoscope-1@{socket.gethostname()}")
    assert main(["alive"]) == 0
