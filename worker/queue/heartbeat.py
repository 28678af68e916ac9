"""A worker's sign of life, and its farewell: whoever stops in order is not counted any more, not even for the seconds that its
last sign would have been good for."""

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


class Beating:
    """A thread that gives a sign of life every few seconds, until this worker takes no more jobs; then it says farewell."""

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
        """Begin, in this worker's name."""

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
        """Only raises a flag: Celery calls this in a signal handler, before it waits for the jobs that still run."""
        self._leaving.set()

    def end(self) -> None:
        """Wait until farewell is said, but not for ever: nobody knows of a worker that never heard its queue."""
        self._leaving.set()
        if self._thread is not None and self._pulse.started.is_set():
            self._thread.join(FAREWELL_SECONDS)


def beat_giver(beating: Beating) -> type[bootsteps.StartStopStep]:
    """The step to add to Celery's worker."""
    signals.worker_shutting_down.connect(beating.leave, weak=False)

    class BeatGiver(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
        requires = ("celery.worker.components:Timer",)

        def start(self, worker: Any) -> None:
            beating.start(worker.hostname)

        def close(self, worker: Any) -> None:
            """Called however the worker stops, unless it is killed."""
            beating.end()

        def stop(self, worker: Any) -> None:
            """Nothing: farewell was said when the worker began to stop."""

    return BeatGiver
