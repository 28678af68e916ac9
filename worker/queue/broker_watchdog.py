"""A watchdog in Celery's event loop: whether this worker still receives messages of its queue.

Threads cannot see the event loop fail.
"""

import threading
import time
from typing import Any

from celery import bootsteps
from celery.worker import state

from worker.queue.hung_children import PersistenceCounter, kill, waits_for

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
            consumer.timer.call_repeatedly(PULSE_SECONDS, tick)

        def stop(self, consumer: Any) -> None:
            """Do nothing: Celery drops the timers of a lost connection."""

    return WatchdogStep
