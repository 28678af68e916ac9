"""When a worker counts as one that would take a job."""

import time
from collections.abc import Callable

from storage.redis.jobs import JobStore
from worker.queue.broker_watchdog import Pulse
from worker.queue.heartbeat import Heartbeat


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
