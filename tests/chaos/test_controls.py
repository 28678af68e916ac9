"""The storm can fail: without what the promise rests on, the same faults and the same counting find
jobs lost, or done twice."""

import os
import random
import sys
import time
from pathlib import Path

from tests.chaos.faults import kill_a_worker
from tests.chaos.installation import LEASE, ROOT, Program, installed
from tests.chaos.plain import TASK, application
from tests.chaos.storm import storm
from tests.own_redis import OwnRedis


def test_without_renewal_and_fence_results_are_committed_twice(tmp_path: Path) -> None:
    with installed(tmp_path / "installation", stub="unfenced.py") as installation:
        count = storm(installation, 2, (), seconds=2.5 * LEASE)
    assert count.broken_promises.get("twice"), count


def test_celerys_defaults_lose_jobs_when_a_worker_is_killed(tmp_path: Path) -> None:
    store = OwnRedis(tmp_path / "valkey")
    store.start()
    command = [sys.executable, str(Path(__file__).with_name("plain.py")), store.url]
    worker = Program(command, os.environ | {"PYTHONPATH": str(ROOT)}, tmp_path / "log")
    try:
        app = application(store.url)
        for number in range(12):
            app.send_task(TASK, args=[number, 0.3])
        client = app.connection_for_write().default_channel.client
        while client.scard("done") < 2:
            time.sleep(0.02)
        fleet = type("Fleet", (), {"workers": [worker]})()
        kill_a_worker(fleet, random.Random(0))
        app.send_task(TASK, args=[99, 0])
        while not client.sismember("done", 99):
            time.sleep(0.05)
        time.sleep(2)
        assert client.scard("done") < 13, "nothing was lost: the fault proves nothing"
    finally:
        worker.kill()
        store.kill()
