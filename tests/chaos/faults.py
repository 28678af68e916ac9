"""What can go wrong, one function each: it happens, and after a while it is over."""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from redis.exceptions import RedisError

from tests.chaos.installation import LEASE, Installation, Program

Fault = Callable[[Installation, random.Random], None]


def kill_a_child(installation: Installation, chance: random.Random) -> None:
    """A process of a worker's pool dies, as for want of memory."""
    worker = _worker(installation, chance)
    with worker.lock, suppress(ProcessLookupError):
        children = worker.children()
        if children:
            os.kill(chance.choice(children), signal.SIGKILL)


def kill_a_worker(installation: Installation, chance: random.Random) -> None:
    """A worker's host loses power, and comes back."""
    worker = _worker(installation, chance)
    with worker.lock:
        worker.kill()
        time.sleep(chance.uniform(0, 1))
        worker.start()


def kill_a_main_process(installation: Installation, chance: random.Random) -> None:
    """Only the worker's main process dies: who renews its leases now?"""
    worker = _worker(installation, chance)
    with worker.lock:
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        time.sleep(chance.uniform(0, 1))
        worker.signal_group(signal.SIGKILL)
        worker.start()


def stop_a_worker_past_its_lease(installation: Installation, chance: random.Random) -> None:
    """A worker's host sleeps, and wakes when its jobs are another's."""
    worker = _worker(installation, chance)
    with worker.lock:
        worker.signal_group(signal.SIGSTOP)
        time.sleep(1.5 * LEASE)
        worker.signal_group(signal.SIGCONT)


def replace_a_worker(installation: Installation, chance: random.Random) -> None:
    """A rolling restart's next step."""
    worker = _worker(installation, chance)
    with worker.lock:
        worker.replace(30)


def replace_the_service(installation: Installation, chance: random.Random) -> None:
    """Likewise of the service."""
    with installation.service.lock:
        installation.service.replace(20)


def kill_the_service(installation: Installation, chance: random.Random) -> None:
    """The service dies in the middle of whatever it does."""
    with installation.service.lock:
        installation.service.kill()
        installation.service.start()


def kill_the_store(installation: Installation, chance: random.Random) -> None:
    """Redis dies, and comes back with what its log holds."""
    installation.store.away(chance.uniform(0, 1))


def stop_the_store(installation: Installation, chance: random.Random) -> None:
    """Redis answers nobody for a while."""
    assert installation.store.process is not None
    installation.store.process.send_signal(signal.SIGSTOP)
    time.sleep(chance.uniform(1, LEASE))
    installation.store.process.send_signal(signal.SIGCONT)


def fill_the_store(installation: Installation, chance: random.Random) -> None:
    """Redis has no room for anything for a while."""
    with suppress(RedisError), installation.admin() as admin:
        admin.config_set("maxmemory", 1)
        time.sleep(chance.uniform(0.5, 2))
    for _ in range(50):
        with suppress(RedisError), installation.admin() as admin:
            admin.config_set("maxmemory", "1gb")
            return
        time.sleep(0.1)


def cut_the_connections(installation: Installation, chance: random.Random) -> None:
    """Every connection to Redis is cut, again and again."""
    for _ in range(10):
        with suppress(RedisError), installation.admin() as admin:
            admin.client_kill_filter(_type="normal", skipme=True)
            admin.client_kill_filter(_type="pubsub", skipme=True)
        time.sleep(0.15)


FAULTS: tuple[Fault, ...] = (
    kill_a_child,
    kill_a_worker,
    kill_a_main_process,
    stop_a_worker_past_its_lease,
    replace_a_worker,
    replace_the_service,
    kill_the_service,
    kill_the_store,
    stop_the_store,
    fill_the_store,
    cut_the_connections,
)


def _worker(installation: Installation, chance: random.Random) -> Program:
    return chance.choice(installation.workers)
