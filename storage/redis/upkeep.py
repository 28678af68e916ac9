"""Upkeep of the job records: counts, lost jobs, old ones, and the workers that are alive."""

from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any, Literal, cast

from contract.messages import QUEUES, Message, QueueName
from storage.names import checked_tenant, is_job_id
from storage.redis.connection import DUE, messages_of, pairs, record_key, rows, store_errors
from storage.redis.shards import AT_ONCE, BROKER_QUEUES, Shards
from storage.stores import Ended, Tally, timed_out

LONGEST_MEMORY_SECONDS = 100 * 365.25 * 86_400
LONGEST_WAIT_SECONDS = 600.0
"""Longest time before a job is examined, even while the queue holds messages of other jobs."""

CROWDING_SECONDS = 3600.0
"""Time after its end for which a job is kept even where the store is short of memory."""

_RECORD_BYTES, _RESULT_BYTES = "jobs:record-bytes", "jobs:result-bytes"
_ENDED = "jobs:ended"
_KEPT = "jobs:kept"
_WORKERS = "jobs:workers"


class Upkeep(Shards):
    """Transitions of many jobs at once, a part of `JobStore`."""

    def open_jobs(self, tenant: str | None = None) -> int:
        """Return how many jobs wait or run, of a tenant or of all."""
        with store_errors():
            if tenant is None:
                return self._client.zcard(DUE)
            return self._client.scard(f"tenant:{checked_tenant(tenant)}:open")

    def tally(self) -> Tally:
        """Return the numbers for the operator."""
        queued, unfinished, waited, happened, stages = self._run("tally", [DUE])
        counts: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for name, value in pairs(stages).items():
            stage, _, what = name.rpartition(":")
            (counts if what == "count" else seconds)[stage] = float(value)
        return Tally(
            queued=queued,
            running=unfinished - queued,
            oldest_queued_seconds=float(waited),
            happened={name: int(value) for name, value in pairs(happened).items()},
            stages={
                stage: (int(number), seconds.get(stage, 0.0)) for stage, number in counts.items()
            },
        )

    def memory_used(self) -> float:
        """Return the used share of the store's memory, 0 to 1; 0 where it knows no bound."""
        with store_errors():
            memory = cast("Mapping[str, Any]", self._client.info("memory"))
        bound = int(memory.get("maxmemory", 0))
        return int(memory["used_memory"]) / bound if bound else 0.0

    def outdated(
        self, older_than_seconds: float, what: Literal["result", "record"]
    ) -> Sequence[Ended]:
        """Return some jobs that ended earlier and keep a result (or record), oldest first."""
        if isinf(older_than_seconds):
            return []
        found = self._run(
            "outdated", [_ENDED if what == "result" else _KEPT], older_than_seconds, AT_ONCE
        )
        return [Ended(tenant, job_id, int(attempts)) for job_id, tenant, attempts in rows(found, 3)]

    def crowding(self) -> Sequence[Ended]:
        """Return some ended jobs, oldest first, of the tenant whose records take most.

        Jobs that ended within CROWDING_SECONDS are left out.
        """
        found = self._run("crowding", [], CROWDING_SECONDS, AT_ONCE)
        return [Ended(tenant, job_id, int(attempts)) for job_id, tenant, attempts in rows(found, 3)]

    def keeps_most(self, tenant: str) -> bool:
        """Return whether no tenant's records take more than this one's."""
        with store_errors():
            found = cast("list[str]", self._client.zrevrange(_RECORD_BYTES, 0, 0))
        return found == [tenant]

    def result_bytes(self, tenant: str) -> int:
        """Return the size of the tenant's results that are kept [byte]."""
        with store_errors():
            return int(self._client.zscore(_RESULT_BYTES, tenant) or 0)

    def drop_result(self, job_id: str) -> None:
        """Record that the job's result is deleted, after its blobs: it is not `outdated` again."""
        self._run("drop_result", [record_key(job_id), _ENDED, _KEPT], job_id)

    def forget(self, tenant: str, job_id: str, remember_seconds: float) -> bool:
        """Delete the record of an ended job whose results are deleted.

        For `remember_seconds`, asking for the job raises Forgotten. Return False where there is no
        such job, or it has not ended.
        """
        if not is_job_id(job_id):
            return False
        record = record_key(job_id)
        keys = [record, f"{record}:events", _ENDED, _KEPT]
        remember = int(1000 * min(remember_seconds, LONGEST_MEMORY_SECONDS))
        return bool(self._run("forget", keys, job_id, checked_tenant(tenant), remember))

    def reap(self) -> Sequence[Message]:
        """Queue again the jobs whose message or worker seems lost; return messages to publish.

        The waits between publications double. Jobs with shards that nobody works on get one message
        for each such shard. A job that outlived its own time limit without reporting so is failed
        with `timed-out`.
        """
        again: list[Message] = []
        waits = self._queued_grace, LONGEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS
        over, until = timed_out().model_dump_json(by_alias=True), ""
        while True:
            looked_at, until, *found = self._run(
                "reap", [DUE], AT_ONCE, *waits, over, until, *BROKER_QUEUES
            )
            again += messages_of(found)
            # Jobs whose worker was lost must not wait behind jobs that stand in line. So all that
            # was due at the beginning is examined, and no more: a store slower than the line would
            # never finish.
            if looked_at < AT_ONCE or len(again) >= AT_ONCE:
                return again + self._reap_shards()

    def beat(self, worker: str, queues: Sequence[QueueName] = QUEUES) -> None:
        """Record that this worker lives, and which queues it serves."""
        self._run("beat", [_WORKERS, *map(_workers_of, queues)], worker)

    def farewell(self, worker: str) -> None:
        """Record that this worker takes no more jobs: it is not `alive` until its next beat."""
        with store_errors():
            for workers in (_WORKERS, *map(_workers_of, QUEUES)):
                self._client.zrem(workers, worker)

    def workers_alive(self, within_seconds: float, host: str | None = None) -> int:
        """Return how many workers, all or those of one host (`name@host`), gave a recent beat."""
        return int(
            self._run("alive", [_WORKERS], within_seconds, "" if host is None else f"@{host}")
        )

    def workers_of(self, queue: QueueName, within_seconds: float) -> int:
        """Return how many workers that serve this queue gave a recent beat."""
        return int(self._run("alive", [_workers_of(queue)], within_seconds, ""))


def _workers_of(queue: QueueName) -> str:
    return f"{_WORKERS}:{queue}"
