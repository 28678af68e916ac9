"""A store, a service and workers, each in a process group of its own that can be stopped, killed
and started again."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from redis import Redis

from standalone.preflight import free_port
from storage.blobs import ResultStore
from storage.local_blobs import Folder
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from tests.own_redis import OwnRedis

ROOT = Path(__file__).resolve().parents[2]
LEASE = 3.0


class Program:
    """A program that is kept running; whoever kills it starts it again."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self.lock = threading.Lock()
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def signal_group(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def children(self) -> list[int]:
        """Process ids of the children, the oldest first."""
        listing = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        try:
            return [int(pid) for pid in listing.read_text().split()]
        except OSError:
            return []

    def kill(self) -> None:
        """SIGKILL to all of it, as a power cut would."""
        self.signal_group(signal.SIGKILL)
        self.process.wait()

    def replace(self, seconds: float) -> None:
        """SIGTERM, as a rolling restart does, and a successor once it is gone, or killed after so
        long."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.kill()
        self.start()


class Installation:
    """Everything, on free ports, in one folder."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 2,
        stub: str | None = "stub.py",
        lease: float = LEASE,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`stub`: the program that stands in for the worker; None: the worker itself. `settings`
        may change any."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.store = OwnRedis(folder / "valkey")
        self.store.start()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith("ITOSCOPE_")
        }
        environment = clean | {
            "PYTHONPATH": str(ROOT),
            "ITOSCOPE_REDIS_URL": self.store.url,
            "ITOSCOPE_DATA_DIR": str(folder / "data"),
            "ITOSCOPE_PORT": str(port),
            "ITOSCOPE_LEASE_SECONDS": str(lease),
            "ITOSCOPE_WORKER_PROCESSES": "2",
            "ITOSCOPE_LARGE_JOB_SECONDS": "10",
            "CHAOS_RUNS": str(folder / "runs"),
            **(settings or {}),
        }
        self.service = Program(
            [sys.executable, "-m", "service"], environment, folder / "service.log"
        )
        command = [
            sys.executable,
            *(["-m", "worker"] if stub is None else [str(Path(__file__).with_name(stub))]),
        ]
        self.workers = [
            Program(command, environment, folder / f"worker{number}.log")
            for number in range(workers)
        ]
        self.jobs = JobStore(connect(self.store.url))
        self.results = ResultStore(Folder(folder / "data"))

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while True:
            with suppress(httpx.HTTPError):
                if (
                    httpx.get(
                        f"{self.url}/readyz", timeout=5, trust_env=False, verify=False
                    ).status_code
                    == 200
                ):
                    return
            assert time.monotonic() < end, "never became ready"
            time.sleep(0.1)

    def admin(self) -> Redis:
        """A connection with every right."""
        return Redis.from_url(self.store.url, socket_timeout=5)

    def heal(self) -> None:
        """Everything that is missing is started again."""
        for program in (self.service, *self.workers):
            with program.lock:
                program.signal_group(signal.SIGCONT)
                if program.process.poll() is not None:
                    program.kill()
                    program.start()
        self.wait_until_ready()

    def stop(self) -> None:
        for program in (self.service, *self.workers):
            program.signal_group(signal.SIGCONT)
            program.kill()
        self.store.kill()


@contextmanager
def installed(folder: Path, **options: Any) -> Iterator[Installation]:
    """An installation, and nothing left of it afterwards."""
    installation = Installation(folder, **options)
    try:
        installation.wait_until_ready()
        yield installation
    finally:
        installation.stop()
