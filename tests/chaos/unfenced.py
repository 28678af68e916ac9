"""The stub worker without what the promise rests on: leases are not renewed, nobody is told of
being overtaken, all may commit.

A negative control: with it, the storm's way of counting must find results committed twice.
"""

import sys
from typing import Any

from contract.records import Progress
from storage.redis.jobs import JobStore
from tests.chaos.stub import COMPUTATION
from worker.queue.app import run
from worker.queue.settings import WorkerSettings

COMMIT_ANYWAY = """
local id, attempt, outcome, field, value = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
redis.call('HSET', KEYS[1], field, value, 'committed', attempt)
finish(KEYS[1], KEYS[2], id, outcome)
return 1
"""


class Unfenced(JobStore):
    def __init__(self, client: Any, **settings: Any) -> None:
        super().__init__(client, **settings)
        prelude = self._transitions["commit"].script.split("-- running → succeeded or failed")[0]
        self._transitions["commit"] = client.register_script(prelude + COMMIT_ANYWAY)

    def renew(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        return True

    def report(self, job_id: str, attempt: int, progress: Progress) -> bool:
        return True


if __name__ == "__main__":
    import worker.queue.app

    worker.queue.app.JobStore = Unfenced  # type: ignore[misc]
    sys.exit(run(WorkerSettings(), COMPUTATION))
