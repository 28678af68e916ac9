"""What a power cut takes with it: what Redis had not forced to the disk. With `appendfsync always`
that is nothing."""

import os
import threading
import time
from pathlib import Path

import pytest
from redis import Redis

from contract.jobs import GeneratorJob
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from tests.own_redis import OwnRedis

JOB = GeneratorJob.model_validate(
    {"kind": "generator", "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}}
)


class Log:
    """The size of the store's log of writes at the last moment when all of it was certainly on the
    disk."""

    def __init__(self, store: OwnRedis, policy: str) -> None:
        self.file = max((store.folder / "appendonlydir").glob("*.incr.aof"))
        self.safe = self.file.stat().st_size
        self._policy, self._over = policy, threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()

    def _look(self) -> None:
        while self._policy == "everysec" and not self._over.wait(1.0):
            self.safe = self.file.stat().st_size

    def cut(self) -> None:
        """Forget what need not have been on the disk. Under `always` every answer came after its
        write was."""
        self._over.set()
        self._watch.join()
        if self._policy == "everysec":
            os.truncate(self.file, self.safe)


def lost_by_a_power_cut(folder: Path, policy: str) -> int:
    """How many accepted jobs are unknown after it."""
    store = OwnRedis(folder)
    store.start()
    try:
        with Redis.from_url(store.url) as admin:
            admin.config_set("appendfsync", policy)
        log, jobs = Log(store, policy), JobStore(connect(store.url))
        accepted, end = [], time.monotonic() + 2.5
        while time.monotonic() < end:
            accepted.append(jobs.submit("lab", JOB).record.id)
            time.sleep(0.005)  # 400 are as good as 4 000, and leave a core to other tests
        store.kill()
        log.cut()
        store.start()
        assert len(accepted) > 20
        return sum(jobs.get("lab", job_id) is None for job_id in accepted)
    finally:
        store.kill()


@pytest.mark.parametrize(("policy", "loses"), [("always", False), ("everysec", True)])
def test_only_a_log_that_is_forced_to_the_disk_with_every_write_keeps_all(
    tmp_path: Path, policy: str, loses: bool
) -> None:
    assert (lost_by_a_power_cut(tmp_path / "valkey", policy) > 0) == loses
