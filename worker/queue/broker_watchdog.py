"""Whether this worker still hears its queue: taken in Celery's event loop, where threads cannot see it fail."""

import threading
import time
from typing import Any

from celery import bootsteps
from celery.worker import state

from worker.queue.hung_children import PersistenceCounter, kill, waits_for

PULSE_SECONDS = 1.0
STALE_SECONDS = 10.0
"""A worker whose event loop has not turned for this long is not alive, whatever its threads say."""
TAKE_UP_LOOKS = 30
"""A child that has not taken up its message in so many looks of one second hangs; a healthy one takes milliseconds."""


class Pulse:
    """When the event loop last turned."""

    def __init__(self) -> None:
        self._last = -STALE_SECONDS
        self.started = threading.Event()
        """Whether it ever turned."""

    def tick(self) -> None:
        """Called by the event loop, which turns only while the broker is connected."""
        self._last = time.monotonic()
        self.started.set()

    def fresh(self) -> bool:
        """Whether the worker still looks at its queue."""
        return time.monotonic() - self._last < STALE_SECONDS


def holds_more_than_it_runs(qos: Any) -> bool:
    """Whether the channel counts a message as unacknowledged that no child works on and none is about to.

    When Redis goes away at the wrong moment, Celery logs that it could not acknowledge and kombu keeps the message's place in
    the prefetch limit for ever. With one process that is the only place: the worker never asks for a message again, and so
    never notices that its connection is gone. Measured: killing Redis while a job ends left the worker deaf.
    """
    return bool(qos.prefetch_count - qos.can_consume_max_estimate() > len(state.reserved_requests))


def pulse_taker(pulse: Pulse) -> type[bootsteps.StartStopStep]:
    """The step to add to Celery's consumer. It is started anew with each connection to the broker."""

    class PulseTaker(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
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
                    # An error of the connection makes Celery drop it and connect again, with all places free.
                    raise ConnectionResetError("the acknowledgement of a message was lost")

            pulse.tick()
            consumer.timer.call_repeatedly(PULSE_SECONDS, tick)

        def stop(self, consumer: Any) -> None:
            """Nothing: Celery drops the timers of a connection that is gone."""

    return PulseTaker
