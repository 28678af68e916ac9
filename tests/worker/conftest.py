"""Real workers in processes of their own, and a way to give them work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from celery import Celery

from contract.jobs import GeneratorJob
from contract.messages import RUN_JOB, Message
from contract.records import JobRecord
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from tests.own_redis import OwnRedis

ROOT = Path(__file__).resolve().parents[2]
TENANT = "lab"
LEASE = 1.0
MODEL = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}


@dataclass
class Surroundings:
    """One Redis, one data folder, and the workers that share them."""

    url: str
    data_dir: Path
    stack: ExitStack

    def __post_init__(self) -> None:
        self.client = connect(self.url)
        self.jobs = JobStore(self.client)
        self.celery = Celery(broker=self.url, set_as_current=False)
        self.stack.callback(self.client.close)
        self.stack.callback(self.celery.close)

    def start_worker(self, **settings: str) -> "subprocess.Popen[bytes]":
        """A worker in a process group of its own, which is killed at the end of the test."""
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "ITOSCOPE_REDIS_URL": self.url,
            "ITOSCOPE_DATA_DIR": str(self.data_dir),
            "ITOSCOPE_LEASE_SECONDS": str(LEASE),
            "ITOSCOPE_THREADS": "3",
            **settings,
        }
        self.data_dir.mkdir(exist_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("stub_worker.py"))],
                env=environment,
                stderr=log,
                stdout=log,
                start_new_session=True,
            )
        self.stack.callback(kill_group, process)
        return process

    @property
    def log(self) -> Path:
        return self.data_dir / "worker.log"

    def submit(self, timeout_seconds: float = 60, *, publish: bool = True, **labels: str) -> str:
        """Record a job and send its message; its id."""
        request = GeneratorJob.model_validate(
            {
                "kind": "generator",
                "model": MODEL,
                "labels": labels,
                "timeout_seconds": timeout_seconds,
            }
        )
        job_id = self.jobs.submit(TENANT, request).record.id
        if publish:
            self.celery.send_task(RUN_JOB, **Message(job_id, timeout_seconds).options)
        return job_id

    def record(self, job_id: str) -> JobRecord:
        record = self.jobs.get(TENANT, job_id)
        assert record is not None
        return record

    def wait(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        """Wait until the condition holds; fail with the workers' log when it does not in time."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                pytest.fail(
                    f"not in {seconds} s; the workers' log:\n{self.log.read_text()[-6000:]}"
                )
            time.sleep(0.02)

    def finished(self, job_id: str) -> JobRecord:
        self.wait(lambda: self.record(job_id).terminal)
        return self.record(job_id)


def kill_group(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL to a worker and its children, as a power cut would."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def surroundings_of(tmp_path: Path) -> Iterator[Callable[[str], Surroundings]]:
    with ExitStack() as stack:
        yield lambda url: Surroundings(url, tmp_path / "data", stack)


@pytest.fixture
def surroundings(
    restricted_url: str, surroundings_of: Callable[[str], Surroundings]
) -> Surroundings:
    """On an account with only the documented rights: Celery needs no more, either."""
    return surroundings_of(restricted_url)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[OwnRedis]:
    folder = tmp_path / "valkey"
    server = OwnRedis(folder)
    yield server
    server.kill()
