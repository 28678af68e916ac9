"""Heartbeats tell whether a worker is alive, and hung children are found."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from storage.redis.jobs import JobStore
from worker.queue.liveness import Heartbeat, PersistenceCounter, Pulse, waits_for


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not until():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_worker_gives_no_sign_of_life_before_its_queue_is_connected_and_then_at_once(
    jobs: JobStore,
) -> None:
    pulse = Pulse()
    heartbeat = Heartbeat(jobs, pulse, 60)
    heartbeat.start("worker")
    time.sleep(0.05)
    assert jobs.workers_alive(60) == 0
    pulse.tick()
    wait(lambda: jobs.workers_alive(60) == 1)
    heartbeat.end()


def test_a_worker_that_stops_says_farewell_and_does_not_come_back(jobs: JobStore) -> None:
    pulse = Pulse()
    heartbeat = Heartbeat(jobs, pulse, 0.01)
    pulse.tick()
    heartbeat.start("worker")
    wait(lambda: jobs.workers_alive(60) == 1)
    heartbeat.leave()
    wait(lambda: jobs.workers_alive(60) == 0)
    time.sleep(0.05)
    assert jobs.workers_alive(60) == 0


def test_a_worker_that_never_heard_its_queue_ends_without_waiting(jobs: JobStore) -> None:
    heartbeat = Heartbeat(jobs, Pulse(), 0.01)
    heartbeat.start("worker")
    begun = time.monotonic()
    heartbeat.end()
    assert time.monotonic() - begun < 1


def test_what_was_seen_in_every_look_lasts_and_what_was_away_once_begins_anew() -> None:
    lasting: PersistenceCounter[str] = PersistenceCounter(3)
    assert [list(lasting.look(seen)) for seen in ({"a", "b"}, {"a"}, {"a", "b"}, {"b"}, {"b"})] == [
        [],
        [],
        ["a"],
        [],
        ["b"],
    ]


def message(*, accepted: bool = False, ready: bool = False, sent_to: int | None = 7) -> Any:
    process = None if sent_to is None else SimpleNamespace(pid=sent_to)
    result = SimpleNamespace(_accepted=accepted, ready=lambda: ready, _write_to=process)
    return SimpleNamespace(_apply_result=lambda: result)


@pytest.mark.parametrize(
    ("request_", "pid"),
    [
        (message(), 7),
        (message(accepted=True), None),
        (message(ready=True), None),
        (message(sent_to=None), None),
        (SimpleNamespace(_apply_result=None), None),
        (SimpleNamespace(_apply_result=lambda: None), None),
    ],
)
def test_a_child_waits_for_a_message_that_it_was_sent_and_did_not_take_up(
    request_: Any, pid: int | None
) -> None:
    assert waits_for(request_) == pid


STAYING = """
import subprocess, sys, threading, time
from worker.queue.liveness import end_late
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
asked = threading.Event()
threading.Thread(target=end_late, args=(asked, 0.1, lambda: [child.pid]), daemon=True).start()
sys.stdin.read(1)
asked.set()
time.sleep(60)
"""


def test_a_worker_that_stays_though_it_was_asked_to_end_is_killed_with_its_children() -> None:
    """Of some 57 workers one was still there 120 s after SIGTERM."""
    worker = subprocess.Popen(
        [sys.executable, "-c", STAYING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    child = Path(f"/proc/{int(worker.stdout.readline())}")
    time.sleep(0.3)
    assert worker.poll() is None, "nobody has asked it"
    begun = time.monotonic()
    worker.stdin.write("x")
    worker.stdin.close()
    assert worker.wait(10) == 1
    assert time.monotonic() - begun < 10
    wait(lambda: not child.exists() or "Z" in (child / "stat").read_text().split()[2])
    worker.stdout.close()
