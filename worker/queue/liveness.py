"""Signs of life: children that hang, the event loop that stops, and the heartbeat of a worker.

A child that hangs is killed, so that its work goes to others: nothing else would notice it.

- A child does not accept its message: it hung, or something stopped it. The message keeps its place
  in the worker's prefetch limit, which with one process has no other.
- A child works on a job that is no longer its own: it hung before its claim, or computes, for hours
  perhaps, for a job that was cancelled or given to another worker.

A watchdog in Celery's event loop notices where a worker no longer receives messages of its queue;
threads cannot see the event loop fail. A worker that ends says farewell. Without the farewell it
would be counted as alive for the seconds for which its last heartbeat is valid.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import structlog
from celery import bootsteps, signals
from celery.worker import state

from contract.messages import QUEUES, QueueName
from storage.periodic import every
from storage.redis.jobs import JobStore

_log = structlog.get_logger(__name__)
_Seen = TypeVar("_Seen", bound=Hashable)


class PersistenceCounter(Generic[_Seen]):
    """A counter of the consecutive checks in which each thing was seen.

    Checks are counted, not seconds: while a process is stopped with its children, no check is made.
    """

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self._counts: dict[_Seen, int] = {}

    def look(self, seen: Iterable[_Seen]) -> Sequence[_Seen]:
        """Return what has now been seen in enough consecutive checks; its count begins anew."""
        self._counts = {each: self._counts.get(each, 0) + 1 for each in seen}
        lasting = [each for each, looks in self._counts.items() if looks >= self._looks]
        for each in lasting:
            del self._counts[each]
        return lasting


def waits_for(request: Any) -> int | None:
    """Return the id of the process that was sent this message and has not accepted it, or None."""
    result = request._apply_result() if request._apply_result is not None else None
    if result is None or result._accepted or result.ready() or result._write_to is None:
        return None
    return int(result._write_to.pid)


def kill(pid: int, why: str) -> None:
    """Kill a child that will not end by itself; Celery starts another and hands its message on."""
    _log.error("a child hangs and is killed", pid=pid, why=why)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


PULSE_SECONDS = 1.0
STALE_SECONDS = 10.0
"""A worker whose event loop has not turned for this long is not alive, whatever its threads do."""
TAKE_UP_LOOKS = 30
"""A child that has not accepted its message in this many checks, one a second, hangs.

A healthy child needs milliseconds.
"""


class Pulse:
    """The time when the event loop last turned."""

    def __init__(self) -> None:
        self._last = -STALE_SECONDS
        self.started = threading.Event()
        """Event of the loop's first turn."""

    def tick(self) -> None:
        """Record a turn of the event loop, which turns only while the broker is connected."""
        self._last = time.monotonic()
        self.started.set()

    def fresh(self) -> bool:
        """Return whether the worker still polls its queue."""
        return time.monotonic() - self._last < STALE_SECONDS


def holds_more_than_it_runs(qos: Any) -> bool:
    """Return whether the channel counts an unacknowledged message that no child has or will have.

    When Redis goes away at the wrong moment, Celery logs that it could not acknowledge and kombu
    keeps the message's place in the prefetch limit for ever. With one process that is the only
    place: the worker never asks for a message again, and so never notices that its connection is
    gone. Measured: killing Redis while a job ends left a worker that received nothing any more.
    """
    return bool(qos.prefetch_count - qos.can_consume_max_estimate() > len(state.reserved_requests))


def watchdog_step(pulse: Pulse) -> type[bootsteps.StartStopStep]:
    """Return the step for Celery's consumer, which is started anew with each broker connection."""

    class WatchdogStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
        requires = ("celery.worker.consumer.tasks:Tasks",)

        def start(self, consumer: Any) -> None:
            waiting: PersistenceCounter[tuple[str, int]] = PersistenceCounter(TAKE_UP_LOOKS)

            def tick() -> None:
                pulse.tick()
                sent = [(request.id, waits_for(request)) for request in state.reserved_requests]
                for _, pid in waiting.look(
                    (message, pid) for message, pid in sent if pid is not None
                ):
                    kill(pid, "it does not take up its message")
                if holds_more_than_it_runs(consumer.task_consumer.channel.qos):
                    # A connection error makes Celery connect again, with all places free.
                    raise ConnectionResetError("the acknowledgement of a message was lost")

            pulse.tick()
            # Celery drops the timers of a lost connection.
            consumer.timer.call_repeatedly(PULSE_SECONDS, tick)

    return WatchdogStep


BEAT_SECONDS = 5.0
FAREWELL_SECONDS = 2.0
"""The end of a worker waits at most this long for its farewell."""


class Heartbeat:
    """A thread that sends heartbeats until this worker takes no more jobs, then the farewell."""

    def __init__(
        self,
        jobs: JobStore,
        pulse: Pulse,
        seconds: float = BEAT_SECONDS,
        queues: Sequence[QueueName] = QUEUES,
    ) -> None:
        self._jobs, self._pulse, self._seconds, self._queues = jobs, pulse, seconds, queues
        self._leaving = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, worker: str) -> None:
        """Start the thread in this worker's name."""

        def act() -> None:
            alive = self._pulse.fresh()
            if self._leaving.is_set():
                self._jobs.farewell(worker)
            elif alive:
                self._jobs.beat(worker, self._queues)

        begun, name = self._pulse.started, "giving a sign of life"
        self._thread = every(self._seconds, name, act, since=begun, until=self._leaving)

    def leave(self, **_: Any) -> None:
        """Set a flag, no more: Celery calls this in a signal handler, before running jobs end."""
        self._leaving.set()

    def end(self) -> None:
        """Wait for the farewell for at most FAREWELL_SECONDS.

        A worker that never reached its queue has sent no heartbeat and needs no farewell.
        """
        self._leaving.set()
        if self._thread is not None and self._pulse.started.is_set():
            self._thread.join(FAREWELL_SECONDS)


def end_late(asked: threading.Event, patience: float, children: Callable[[], list[int]]) -> None:
    """Wait until the worker is asked to end, and kill it with its children if it then stays.

    It seldom does: of some 57 workers that were asked to end, one, whose connection to the broker
    was just being made anew, was still there after 120 s. Their jobs are others' after the lease.
    """
    asked.wait()
    time.sleep(patience)
    for pid in children():
        kill(pid, "its worker did not end when it was asked to")
    os._exit(1)


def heartbeat_step(heartbeat: Heartbeat, patience: float) -> type[bootsteps.StartStopStep]:
    """Return the step for Celery's worker that runs the heartbeat.

    patience   time from the signal to end after which the worker is killed [s]
    """
    asked = threading.Event()
    signals.worker_shutting_down.connect(heartbeat.leave, weak=False)
    signals.worker_shutting_down.connect(lambda **_: asked.set(), weak=False)

    class HeartbeatStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
        requires = ("celery.worker.components:Timer",)

        def start(self, worker: Any) -> None:
            heartbeat.start(worker.hostname)

            def children() -> list[int]:
                return [int(process.pid) for process in worker.pool._pool._pool]

            threading.Thread(target=end_late, args=(asked, patience, children), daemon=True).start()

        def close(self, worker: Any) -> None:
            """Say farewell; Celery calls this however the worker stops, unless it is killed."""
            heartbeat.end()

    return HeartbeatStep
