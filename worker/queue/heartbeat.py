"""A worker's heartbeat, and its farewell, after which it is no longer counted as alive.

Without the farewell it would be counted for the seconds for which its last heartbeat is valid.
"""

import threading
from collections.abc import Sequence
from typing import Any

from celery import bootsteps, signals

from contract.messages import QUEUES, QueueName
from storage.periodic import every
from storage.redis.jobs import JobStore
from worker.queue.broker_watchdog import Pulse

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

        self._thread = every(
            self._seconds,
            "giving a sign of life",
            act,
            since=self._pulse.started,
            until=self._leaving,
        )

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


def heartbeat_step(heartbeat: Heartbeat) -> type[bootsteps.StartStopStep]:
    """Return the step for Celery's worker that runs the heartbeat."""
    signals.worker_shutting_down.connect(heartbeat.leave, weak=False)

    class HeartbeatStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
        requires = ("celery.worker.components:Timer",)

        def start(self, worker: Any) -> None:
            heartbeat.start(worker.hostname)

        def close(self, worker: Any) -> None:
            """Say farewell; Celery calls this however the worker stops, unless it is killed."""
            heartbeat.end()

        def stop(self, worker: Any) -> None:
            """Do nothing: the farewell was sent when the worker began to stop."""

    return HeartbeatStep
