"""The real thing: `standalone serve` as a process, and what becomes of its family."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
SERVE = (sys.executable, "-P", "-m", "standalone", "serve")
TERMINAL = ("succeeded", "failed", "cancelled")


class Served:
    """A running `standalone serve`. What it says is kept in `said`."""

    def __init__(
        self,
        data_dir: Path,
        port: int,
        settings: Mapping[str, str] | None = None,
        command: Sequence[str] = SERVE,
    ) -> None:
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith("ITOSCOPE_")
        }
        environment = {
            **clean,
            **(settings or {}),
            "ITOSCOPE_DATA_DIR": str(data_dir),
            "ITOSCOPE_PORT": str(port),
            "PYTHONPATH": str(ROOT),
        }
        self.data_dir = data_dir
        self.url = f"http://127.0.0.1:{port}"
        self.said: list[str] = []
        self.process = subprocess.Popen(
            command,
            cwd=data_dir.parent,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._ready = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if self.url in line:
                self._ready.set()
        self._ready.set()

    def wait_until_ready(self, seconds: float = 60.0) -> "Served":
        """Blocks until the one line that says so."""
        assert self._ready.wait(seconds), "never said that it is ready"
        assert self.process.poll() is None, "\n".join(self.said)
        return self

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=70.0, trust_env=False)

    def stop(self, number: int = signal.SIGTERM, seconds: float = 30.0) -> int:
        """Send the signal and wait for the end; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._listener.join(10)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status


def descendants(pid: int) -> dict[int, str]:
    """The running children of a process, their children, and so on: command by process id. Zombies
    do not run."""
    listing = subprocess.run(
        ["ps", "-ww", "-A", "-o", "pid=,ppid=,stat=,command="],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split(None, 3) for line in listing.splitlines()]
    found: dict[int, str] = {}
    parents = {pid}
    while parents:
        below = {
            int(row[0]): row[3]
            for row in rows
            if int(row[1]) in parents and not row[2].startswith("Z") and len(row) == 4
        }
        found |= below
        parents = set(below)
    return found


def running(pids: Iterable[int]) -> set[int]:
    """Those of the processes that still run."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    alive = {
        int(row.split()[0]) for row in listing.splitlines() if not row.split()[1].startswith("Z")
    }
    return alive & set(pids)


def gone_within(seconds: float, pids: Iterable[int]) -> bool:
    """Whether all of them end in time."""
    pids, deadline = set(pids), time.monotonic() + seconds
    while running(pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def finished(client: httpx.Client, job: str, seconds: float = 60.0) -> dict[str, object]:
    """The job's record once it is over."""
    deadline = time.monotonic() + seconds
    while True:
        response = client.get(f"/v1/jobs/{job}", headers={"Prefer": "wait=10"})
        response.raise_for_status()
        record: dict[str, object] = response.json()
        if record["state"] in TERMINAL:
            return record
        assert time.monotonic() < deadline, f"{job} is still {record['state']} after {seconds} s"
