"""Job records in Redis or Valkey.

Each transition is one Lua script (storage/redis/lua), so it happens wholly or not at all. The keys:

- `job:<id>`, hash: the record; for a while after its deletion, the tenant alone
- `job:<id>:events`, stream: the record's state after each change
- `job:<id>:shards`, hash: the pass over the data that is shared out, and for each shard its holder
  and the end of the lease, or the name of its part
- `jobs:shared`, sorted set: jobs with shards, by the time at which they are to be examined
- `jobs:parts`, sorted set: `<tenant>/<id>` of jobs that may have parts in the blob store
- `jobs:due`, sorted set: open jobs, by the time at which they are to be examined
- `jobs:ended`, `jobs:kept`, sorted sets: ended jobs by that time, with and without a result kept
- `jobs:webhooks`, sorted set: ended jobs whose webhook is to be sent, by the time at which to try
- `jobs:queued`, sorted set: jobs that wait for a worker, by the time since when
- `jobs:counts`, `jobs:stages`, hashes: counts of events, and durations of stages
- `jobs:workers`, `jobs:workers:<queue>`, sorted sets: all workers, and a queue's, by last beat
- `tenant:<tenant>:secrets`, hash: the secret that signs the tenant's webhooks
- `tenant:<tenant>:open`, set: the tenant's jobs that have not ended
- `tenant:<tenant>:jobs`, sorted set: the tenant's jobs by order of arrival, which
  `tenant:<tenant>:sequence` counts
- `tenant:<tenant>:jobs:<facet>`, sorted sets: the tenant's jobs of a state, kind, dataset or label
  by order of arrival (`storage.listing`)
- `idem:<tenant>:<sha256 of key>`, hash: job and body fingerprint of an idempotency key, kept a day
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isinf
from pathlib import Path
from typing import Any, Literal, cast

from redis import Redis

from contract.jobs import DataJob, Job
from contract.kinds import JOB_REQUEST
from contract.messages import QUEUES, Message, QueueName, broker_queue
from contract.problems import Problem
from contract.records import JobEvent, JobRecord, Progress
from storage.listing import EVERY_JOB, MOST_LOOKED_AT, JobFilter, facets
from storage.names import (
    checked_event,
    checked_tenant,
    is_job_id,
    is_result_name,
    new_job_id,
    new_webhook_secret,
)
from storage.paging import job_number
from storage.redis.connection import store_errors
from storage.redis.shards import AT_ONCE, MOST_EXCUSED, RedisShards
from storage.stores import (
    WEBHOOK_WAITS,
    WEBHOOKS_AT_ONCE,
    Claim,
    Delivery,
    Ended,
    Forgotten,
    IdempotencyMismatch,
    QueueFull,
    Submission,
    Tally,
    TooManyJobs,
)
from storage.terminal_problems import timed_out

ATTEMPT_CAP = 5
IDEMPOTENCY_SECONDS = 24 * 3600
LONGEST_MEMORY_SECONDS = 100 * 365.25 * 86_400
QUEUED_GRACE_SECONDS = 10.0
"""Time after which a published message is taken for lost, doubled with every further publication.

The doubling ends when a worker claims the job. A message that is lost in a crash costs this long;
one that is sent twice costs nothing.
"""
LONGEST_WAIT_SECONDS = 600.0
"""Longest time before a job is examined, even while the queue holds messages of other jobs."""

_DUE = "jobs:due"
_ENDED = "jobs:ended"
_KEPT = "jobs:kept"
_WEBHOOKS = "jobs:webhooks"
_WORKERS = "jobs:workers"
_LUA = Path(__file__).parent / "lua"


class RedisJobStore(RedisShards):
    """`storage.stores.JobStore` on a server that passes `storage.redis.durability`."""

    def __init__(
        self,
        client: Redis,
        *,
        queued_grace: float = QUEUED_GRACE_SECONDS,
        attempt_cap: int = ATTEMPT_CAP,
        webhook_waits: Sequence[float] = WEBHOOK_WAITS,
    ) -> None:
        self._client = client
        self._queued_grace = queued_grace
        self._attempt_cap = attempt_cap
        self._webhook_waits = webhook_waits
        prelude = (_LUA / "prelude.lua").read_text()
        self._transitions = {
            path.stem: client.register_script(prelude + path.read_text())
            for path in _LUA.rglob("*.lua")
            if path.stem != "prelude"
        }

    def _run(self, transition: str, keys: Sequence[str], *args: str | float) -> Any:
        with store_errors():
            return self._transitions[transition](keys=list(keys), args=list(args))

    def submit(
        self,
        tenant: str,
        job: Job,
        *,
        idempotency_key: str | None = None,
        fingerprint: str | None = None,
        queue: QueueName = "small",
        most_open: int | None = None,
        most_open_of_tenant: int | None = None,
    ) -> Submission:
        job_id = new_job_id()
        home = f"tenant:{checked_tenant(tenant)}"
        keys = [_record_key(job_id), _DUE, f"{home}:sequence"]
        if idempotency_key is not None:
            # The key is the caller's free text, of any length; hence the hash.
            digest = hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()
            keys.append(f"idem:{tenant}:{digest}")
        outcome, record = self._run(
            "submit",
            keys,
            job_id,
            tenant,
            job.model_dump_json(by_alias=True),
            job.timeout_seconds,
            self._queued_grace,
            fingerprint or "",
            IDEMPOTENCY_SECONDS,
            "" if most_open is None else most_open,
            "" if most_open_of_tenant is None else most_open_of_tenant,
            queue,
            int(job.webhook is not None),
            *facets(job),
        )
        match outcome:
            case "mismatch":
                raise IdempotencyMismatch("this idempotency key was used with another request body")
            case "full":
                raise QueueFull(f"{most_open} jobs wait or run")
            case "too many":
                raise TooManyJobs(f"{most_open_of_tenant} jobs of this tenant wait or run")
        return Submission(_record(_pairs(record)), created=outcome == "created")

    def open_jobs(self, tenant: str | None = None) -> int:
        with store_errors():
            if tenant is None:
                return self._client.zcard(_DUE)
            return self._client.scard(f"tenant:{checked_tenant(tenant)}:open")

    def ended(self, job_ids: Sequence[str]) -> frozenset[str]:
        return frozenset(self._run("ended", [_DUE], *job_ids)) if job_ids else frozenset()

    def tally(self) -> Tally:
        queued, unfinished, waited, happened, stages = self._run("tally", [_DUE])
        counts: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for name, value in _pairs(stages).items():
            stage, _, what = name.rpartition(":")
            (counts if what == "count" else seconds)[stage] = float(value)
        return Tally(
            queued=queued,
            running=unfinished - queued,
            oldest_queued_seconds=float(waited),
            happened={name: int(value) for name, value in _pairs(happened).items()},
            stages={
                stage: (int(number), seconds.get(stage, 0.0)) for stage, number in counts.items()
            },
        )

    def memory_used(self) -> float:
        with store_errors():
            memory = cast("Mapping[str, Any]", self._client.info("memory"))
        bound = int(memory.get("maxmemory", 0))
        return int(memory["used_memory"]) / bound if bound else 0.0

    def get(self, tenant: str, job_id: str) -> JobRecord | None:
        fields = self._fields(tenant, job_id)
        return _record(fields) if fields else None

    def list(
        self,
        tenant: str,
        wanted: JobFilter = EVERY_JOB,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[Sequence[JobRecord], str | None]:
        before = "" if cursor is None else job_number(cursor)
        following, *records = self._run(
            "page", [], checked_tenant(tenant), before, limit, MOST_LOOKED_AT, *wanted.facets
        )
        return [_record(_pairs(record)) for record in records], following or None

    def cancel(self, tenant: str, job_id: str) -> JobRecord | None:
        if not is_job_id(job_id):
            return None
        record = self._run("cancel", [_record_key(job_id), _DUE], job_id, tenant)
        return _record(_present(_pairs(record))) if record else None

    def claim(self, job_id: str, owner: str, lease_seconds: float) -> Claim | None:
        if not is_job_id(job_id):
            return None
        keys = [_record_key(job_id), _DUE]
        answer = self._run("claim", keys, *self._claimant(job_id, owner, lease_seconds))
        if not answer:
            return None
        attempt, tenant, request = answer
        return Claim(
            job_id=job_id,
            tenant=tenant,
            attempt=int(attempt),
            job=JOB_REQUEST.validate_json(request),
        )

    def renew(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        record = _record_key(job_id)
        return bool(
            self._run("renew", [record, _DUE, f"{record}:shards"], job_id, owner, lease_seconds)
        )

    def report(self, job_id: str, attempt: int, progress: Progress) -> bool:
        return bool(
            self._run(
                "report",
                [_record_key(job_id)],
                attempt,
                progress.fraction,
                progress.stage,
                progress.message,
            )
        )

    def succeed(self, job_id: str, attempt: int, result: str) -> bool:
        if not is_result_name(result):
            raise ValueError(f"no result store gave the name {result!r}")
        return bool(
            self._run(
                "commit",
                [_record_key(job_id), _DUE],
                job_id,
                attempt,
                "succeeded",
                "result",
                result,
            )
        )

    def fail(self, job_id: str, attempt: int, problem: Problem) -> bool:
        error = problem.model_dump_json(by_alias=True)
        return bool(
            self._run(
                "commit", [_record_key(job_id), _DUE], job_id, attempt, "failed", "error", error
            )
        )

    def give_back(self, job_id: str, attempt: int) -> bool:
        keys = [_record_key(job_id), _DUE]
        return bool(
            self._run(
                "give_back",
                keys,
                job_id,
                attempt,
                self._queued_grace,
                LONGEST_WAIT_SECONDS,
                MOST_EXCUSED,
            )
        )

    def result_name(self, tenant: str, job_id: str) -> str | None:
        fields = self._fields(tenant, job_id)
        return fields.get("result") if fields else None

    def events(
        self, tenant: str, job_id: str, after: str | None = None
    ) -> Sequence[JobEvent] | None:
        start = "-" if after is None else f"({checked_event(after)}"
        if self._fields(tenant, job_id) is None:
            return None
        with store_errors():
            found = cast(
                "Sequence[tuple[str, dict[str, str]]]",
                self._client.xrange(f"{_record_key(job_id)}:events", min=start),
            )
        return [_event(name, fields) for name, fields in found]

    def newest_events(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        if not job_ids:
            return {}
        found = self._run("newest", [f"{_record_key(job_id)}:events" for job_id in job_ids])
        return {job_id: newest for job_id, newest in zip(job_ids, found, strict=True) if newest}

    def outdated(
        self, older_than_seconds: float, what: Literal["result", "record"]
    ) -> Sequence[Ended]:
        if isinf(older_than_seconds):
            return []
        found = self._run(
            "outdated", [_ENDED if what == "result" else _KEPT], older_than_seconds, AT_ONCE
        )
        return [
            Ended(tenant, job_id, int(attempts))
            for job_id, tenant, attempts in zip(found[::3], found[1::3], found[2::3], strict=True)
        ]

    def drop_result(self, job_id: str) -> None:
        self._run("drop_result", [_record_key(job_id), _ENDED, _KEPT], job_id)

    def forget(self, tenant: str, job_id: str, remember_seconds: float) -> bool:
        if not is_job_id(job_id):
            return False
        record = _record_key(job_id)
        keys = [record, f"{record}:events", _ENDED, _KEPT]
        remember = int(1000 * min(remember_seconds, LONGEST_MEMORY_SECONDS))
        return bool(self._run("forget", keys, job_id, checked_tenant(tenant), remember))

    def reap(self) -> Sequence[Message]:
        again: list[Message] = []
        until = ""
        while True:
            looked_at, until, *found = self._run(
                "reap",
                [_DUE],
                AT_ONCE,
                self._queued_grace,
                LONGEST_WAIT_SECONDS,
                LONGEST_WAIT_SECONDS,
                timed_out().model_dump_json(by_alias=True),
                until,
                *(name for queue in QUEUES for name in (queue, broker_queue(queue))),
            )
            again += [
                Message(job_id, float(timeout), queue)
                for job_id, timeout, queue in zip(found[::3], found[1::3], found[2::3], strict=True)
            ]
            # Jobs whose worker was lost must not wait behind jobs that stand in line. So all that
            # was due at the beginning is examined, and no more: a store slower than the line would
            # never finish.
            if looked_at < AT_ONCE or len(again) >= AT_ONCE:
                return again + self._reap_shards()

    def webhooks_due(self) -> Sequence[Delivery]:
        found = self._run("webhooks", [_WEBHOOKS], WEBHOOKS_AT_ONCE, *self._webhook_waits)
        deliveries = []
        for attempt, flat in zip(found[::2], found[1::2], strict=True):
            fields = _pairs(flat)
            last = attempt > len(self._webhook_waits)
            deliveries.append(Delivery(fields["tenant"], _record(fields), attempt, last))
        return deliveries

    def webhook_ended(self, job_id: str, delivered: bool) -> None:
        self._run(
            "told", [_WEBHOOKS], job_id, "webhook_delivered" if delivered else "webhook_given_up"
        )

    def webhook_secret(self, tenant: str) -> str:
        return str(
            self._run("secret", [f"tenant:{checked_tenant(tenant)}:secrets"], new_webhook_secret())
        )

    def beat(self, worker: str, queues: Sequence[QueueName] = QUEUES) -> None:
        self._run("beat", [_WORKERS, *map(_workers_of, queues)], worker)

    def farewell(self, worker: str) -> None:
        with store_errors():
            for workers in (_WORKERS, *map(_workers_of, QUEUES)):
                self._client.zrem(workers, worker)

    def workers_alive(self, within_seconds: float, host: str | None = None) -> int:
        return int(
            self._run("alive", [_WORKERS], within_seconds, "" if host is None else f"@{host}")
        )

    def workers_of(self, queue: QueueName, within_seconds: float) -> int:
        return int(self._run("alive", [_workers_of(queue)], within_seconds, ""))

    def _fields(self, tenant: str, job_id: str) -> Mapping[str, str] | None:
        """Return the stored record, or None where this tenant has no such job."""
        if not is_job_id(job_id):
            return None
        fields = _pairs(self._run("fetch", [_record_key(job_id)], tenant))
        return _present(fields) if fields else None


def _workers_of(queue: QueueName) -> str:
    return f"{_WORKERS}:{queue}"


def _record_key(job_id: str) -> str:
    return f"job:{job_id}"


def _present(fields: Mapping[str, str]) -> Mapping[str, str]:
    """Return the record. Raise Forgotten where only its tenant is left."""
    if "state" not in fields:
        raise Forgotten("this job's record is no longer kept")
    return fields


def _event(name: str, fields: Mapping[str, str]) -> JobEvent:
    at = _time(fields["at"])
    assert at is not None
    progress = Progress(
        fraction=float(fields["fraction"]), stage=fields["stage"], message=fields["message"]
    )
    return JobEvent.model_validate(
        {
            "id": name,
            "at": at,
            "state": fields["state"],
            "attempt": int(fields["attempt"]),
            "progress": progress,
        }
    )


def _pairs(flat: Sequence[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _record(fields: Mapping[str, str]) -> JobRecord:
    """Return the public job record of a stored one."""
    job = JOB_REQUEST.validate_json(fields["request"])
    return JobRecord.model_validate(
        {
            "id": fields["id"],
            "kind": job.kind,
            "state": fields["state"],
            "created_at": _time(fields["created"]),
            "started_at": _time(fields.get("started")),
            "finished_at": _time(fields.get("finished")),
            "progress": Progress(
                fraction=float(fields["fraction"]), stage=fields["stage"], message=fields["message"]
            ),
            "attempt": int(fields["attempt"]),
            "dataset": job.dataset if isinstance(job, DataJob) else None,
            "labels": job.labels,
            "request": job,
            "error": Problem.model_validate_json(fields["error"]) if "error" in fields else None,
        }
    )


def _time(seconds: str | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(float(seconds), UTC)
