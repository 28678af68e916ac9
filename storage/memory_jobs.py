"""The job store's twin in memory. It passes the very tests of the real one."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from contract.jobs import DataJob, Job
from contract.messages import QUEUES, Message, QueueName
from contract.problems import Problem
from contract.records import JobEvent, JobRecord, Progress, State
from storage.listing import EVERY_JOB, JobFilter
from storage.memory_shards import MemoryShards, Open
from storage.names import checked_event, checked_tenant, is_result_name, new_job_id, new_webhook_secret
from storage.paging import job_number
from storage.redis.jobs import (
    ATTEMPT_CAP,
    IDEMPOTENCY_SECONDS,
    LONGEST_WAIT_SECONDS,
    QUEUED_GRACE_SECONDS,
)
from storage.redis.shards import MOST_EXCUSED
from storage.stores import (
    WEBHOOK_WAITS,
    WEBHOOKS_AT_ONCE,
    Claim,
    Delivery,
    Ended,
    Forgotten,
    IdempotencyMismatch,
    LeftParts,
    QueueFull,
    ShardClaim,
    Submission,
    Tally,
    TooManyJobs,
)
from storage.terminal_problems import timed_out, worker_lost


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A job as stored. Times are seconds since the epoch."""

    tenant: str
    sequence: int
    record: JobRecord
    due: float | None
    published: float
    publications: int = 1
    owner: str | None = None
    lease_until: float = 0.0
    started: float = 0.0
    seen: float = 0.0
    committed: int | None = None
    excused: int = 0
    result: str | None = None
    queue: QueueName = "small"
    blobs_kept: bool = True
    webhook_attempts: int = 0
    webhook_due: float | None = None
    since: float = field(default_factory=time.time)
    """Its present stage."""


@dataclass(slots=True)
class MemoryJobStore:
    """A `storage.stores.JobStore` behind one lock. Its transitions are those of storage/lua, in Python."""

    queued_grace: float = QUEUED_GRACE_SECONDS
    attempt_cap: int = ATTEMPT_CAP
    webhook_waits: Sequence[float] = WEBHOOK_WAITS
    messages_waiting: Callable[[], bool] = lambda: False
    """Whether the broker's queue holds messages."""
    _entries: dict[str, _Entry] = field(default_factory=dict)
    _idempotency: dict[tuple[str, str], tuple[str, str, float]] = field(default_factory=dict)
    _events: dict[str, list[JobEvent]] = field(default_factory=dict)
    _forgotten: dict[str, tuple[str, float]] = field(default_factory=dict)
    _beats: dict[str, float] = field(default_factory=dict)
    _serves: dict[str, Sequence[QueueName]] = field(default_factory=dict)
    _happened: Counter[str] = field(default_factory=Counter)
    _stages: dict[str, tuple[int, float]] = field(default_factory=dict)
    _secrets: dict[str, str] = field(default_factory=dict)
    _submitted: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _shards: MemoryShards = field(init=False)

    def __post_init__(self) -> None:
        self._shards = MemoryShards(self)

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
        checked_tenant(tenant)
        with self._lock:
            at = time.time()
            if idempotency_key is not None:
                known_id, known_fingerprint, until = self._idempotency.get((tenant, idempotency_key), ("", "", 0.0))
                if until > at and known_id in self._entries:
                    if known_fingerprint != (fingerprint or ""):
                        raise IdempotencyMismatch("this idempotency key was used with another request body")
                    return Submission(self._entries[known_id].record, created=False)
            if most_open is not None and self.open_jobs() >= most_open:
                raise QueueFull(f"{most_open} jobs wait or run")
            if most_open_of_tenant is not None and self.open_jobs(tenant) >= most_open_of_tenant:
                raise TooManyJobs(f"{most_open_of_tenant} jobs of this tenant wait or run")
            record = JobRecord(
                id=new_job_id(),
                kind=job.kind,
                state="queued",
                created_at=datetime.fromtimestamp(at, UTC),
                dataset=job.dataset if isinstance(job, DataJob) else None,
                labels=job.labels,
                request=job,
            )
            if idempotency_key is not None:
                self._idempotency[tenant, idempotency_key] = record.id, fingerprint or "", at + IDEMPOTENCY_SECONDS
            self._submitted += 1
            self._happened["submitted"] += 1
            self._announce(
                _Entry(
                    tenant=tenant,
                    sequence=self._submitted,
                    record=record,
                    due=at + self.queued_grace,
                    published=at,
                    queue=queue,
                )
            )
            return Submission(record, created=True)

    def open_jobs(self, tenant: str | None = None) -> int:
        with self._lock:
            entries = list(self._entries.values())
        return sum(not entry.record.terminal and tenant in (None, entry.tenant) for entry in entries)

    def ended(self, job_ids: Sequence[str]) -> frozenset[str]:
        with self._lock:
            return frozenset(name for name in job_ids if name not in self._entries or self._entries[name].record.terminal)

    def tally(self) -> Tally:
        with self._lock:
            at, records = time.time(), [entry.record for entry in self._entries.values()]
            happened, stages = dict(self._happened), dict(self._stages)
        waiting = [record.created_at.timestamp() for record in records if record.state == "queued"]
        return Tally(
            queued=len(waiting),
            running=sum(record.state == "running" for record in records),
            oldest_queued_seconds=max(0.0, at - min(waiting)) if waiting else 0.0,
            happened=happened,
            stages=stages,
        )

    def memory_used(self) -> float:
        return 0.0

    def get(self, tenant: str, job_id: str) -> JobRecord | None:
        entry = self._of(tenant, job_id)
        return entry.record if entry else None

    def list(
        self, tenant: str, wanted: JobFilter = EVERY_JOB, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[Sequence[JobRecord], str | None]:
        before = None if cursor is None else job_number(cursor)
        with self._lock:
            found = [
                entry
                for entry in self._entries.values()
                if entry.tenant == tenant and (before is None or entry.sequence < before) and wanted.admits(entry.record)
            ]
        found.sort(key=lambda entry: entry.sequence, reverse=True)
        shown = found[:limit]
        more = len(found) > limit and bool(shown)
        return [entry.record for entry in shown], str(shown[-1].sequence) if more else None

    def cancel(self, tenant: str, job_id: str) -> JobRecord | None:
        with self._lock:
            entry = self._of(tenant, job_id)
            if entry is not None and not entry.record.terminal:
                entry = self._finish(entry, "cancelled")
            return entry.record if entry else None

    def claim(self, job_id: str, owner: str, lease_seconds: float) -> Claim | None:
        with self._lock:
            entry, at = self._entries.get(job_id), time.time()
            if entry is None or entry.record.terminal or (entry.record.state == "running" and entry.lease_until > at):
                return None
            if entry.record.attempt - entry.excused >= self.attempt_cap:
                self._finish(entry, "failed", error=worker_lost(self.attempt_cap))
                return None
            record = entry.record.model_copy(
                update={
                    "state": "running",
                    "attempt": entry.record.attempt + 1,
                    "started_at": datetime.fromtimestamp(at, UTC),
                    "progress": Progress(stage="starting"),
                }
            )
            until = at + lease_seconds
            self._happened["started"] += 1
            self._announce(
                replace(entry, record=record, owner=owner, started=at, seen=at, lease_until=until, due=until, publications=1)
            )
            return Claim(job_id=job_id, tenant=entry.tenant, attempt=record.attempt, job=record.request)

    def renew(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        with self._lock:
            entry, at = self._entries.get(job_id), time.time()
            held = self._shards.renew(job_id, owner, lease_seconds)
            if entry is None or entry.record.terminal or entry.owner != owner:
                return held
            kept = replace(entry, seen=at, lease_until=at + lease_seconds, due=at + lease_seconds)
            if entry.record.state == "queued":
                progress = Progress(fraction=0.0, stage="starting", message="")
                record = entry.record.model_copy(update={"state": "running", "progress": progress})
                self._announce(replace(kept, record=record, publications=1))
            else:
                self._entries[job_id] = kept
            return True

    def report(self, job_id: str, attempt: int, progress: Progress) -> bool:
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None or entry.record.terminal or entry.record.attempt != attempt:
                return False
            if entry.record.state == "running":
                self._announce(replace(entry, record=entry.record.model_copy(update={"progress": progress})))
            return True

    def succeed(self, job_id: str, attempt: int, result: str) -> bool:
        if not is_result_name(result):
            raise ValueError(f"no result store gave the name {result!r}")
        return self._commit(job_id, attempt, "succeeded", result=result)

    def fail(self, job_id: str, attempt: int, problem: Problem) -> bool:
        return self._commit(job_id, attempt, "failed", error=problem)

    def give_back(self, job_id: str, attempt: int) -> bool:
        with self._lock:
            entry, at = self._entries.get(job_id), time.time()
            if entry is None or entry.record.terminal or entry.record.attempt != attempt:
                return False
            if entry.owner is None:
                return True
            self._happened["given_back"] += 1
            progress = Progress(message="What the job needs is away; it is tried again later.")
            record = entry.record.model_copy(update={"state": "queued", "progress": progress})
            due = at + min(self.queued_grace * 2**entry.excused, LONGEST_WAIT_SECONDS)
            excused = min(entry.excused + 1, MOST_EXCUSED)
            self._announce(replace(entry, record=record, owner=None, excused=excused, publications=1, due=due))
            return True

    def give_back_shard(self, claim: ShardClaim) -> None:
        with self._lock:
            self._shards.give_back_shard(claim)

    def result_name(self, tenant: str, job_id: str) -> str | None:
        entry = self._of(tenant, job_id)
        return entry.result if entry else None

    def events(self, tenant: str, job_id: str, after: str | None = None) -> Sequence[JobEvent] | None:
        number = -1 if after is None else int(checked_event(after).split("-")[1])
        with self._lock:
            found = self._events.get(job_id, []) if self._of(tenant, job_id) else None
            return None if found is None else found[number + 1 :]

    def newest_events(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        with self._lock:
            return {job_id: self._events[job_id][-1].id for job_id in job_ids if self._events.get(job_id)}

    def outdated(self, older_than_seconds: float, what: Literal["result", "record"]) -> Sequence[Ended]:
        with self._lock:
            before = time.time() - older_than_seconds
            return [
                Ended(entry.tenant, job_id, entry.record.attempt)
                for job_id, entry in self._entries.items()
                if entry.record.finished_at is not None
                and entry.record.finished_at.timestamp() <= before
                and entry.blobs_kept == (what == "result")
            ]

    def drop_result(self, job_id: str) -> None:
        with self._lock:
            if job_id in self._entries:
                self._entries[job_id] = replace(self._entries[job_id], result=None, blobs_kept=False)

    def forget(self, tenant: str, job_id: str, remember_seconds: float) -> bool:
        with self._lock:
            try:
                entry = self._of(tenant, job_id)
            except Forgotten:
                return True
            if entry is None or not entry.record.terminal:
                return False
            del self._entries[job_id], self._events[job_id]
            self._forgotten[job_id] = tenant, time.time() + remember_seconds
            return True

    def reap(self) -> Sequence[Message]:
        with self._lock:
            at, waiting, again = time.time(), self.messages_waiting(), []
            for job_id, entry in list(self._entries.items()):
                timeout = entry.record.request.timeout_seconds
                if entry.due is None or entry.due > at:
                    continue
                if entry.record.state == "running" and entry.seen - entry.started >= timeout:
                    self._finish(entry, "failed", error=timed_out())
                elif entry.record.state == "queued" and waiting and at - entry.published < LONGEST_WAIT_SECONDS:
                    self._entries[job_id] = replace(entry, due=at + self.queued_grace)
                else:
                    again_queued = self._requeued(entry, at)
                    self._happened["republished"] += 1
                    if entry.record.state == "running":
                        self._happened["lease_lost"] += 1
                        self._announce(again_queued)
                    self._entries[job_id] = again_queued
                    again.append(Message(job_id, timeout, entry.queue))
            return [*again, *self._shards.reap()]

    def fan_out(self, job_id: str, attempt: int, pass_name: str, shards: int) -> QueueName | None:
        with self._lock:
            return self._shards.fan_out(job_id, attempt, pass_name, shards)

    def claim_shard(self, job_id: str, owner: str, lease_seconds: float, *, last: bool = False) -> ShardClaim | None:
        with self._lock:
            return self._shards.claim_shard(job_id, owner, lease_seconds, last=last)

    def commit_shard(self, claim: ShardClaim, part: str) -> bool:
        with self._lock:
            return self._shards.commit_shard(claim, part)

    def parts(self, job_id: str, attempt: int, pass_name: str) -> Sequence[str | None] | None:
        with self._lock:
            return self._shards.parts(job_id, attempt, pass_name)

    def left_parts(self, older_than_seconds: float) -> Sequence[LeftParts]:
        with self._lock:
            return self._shards.left_parts(older_than_seconds)

    def drop_parts(self, left: LeftParts) -> None:
        with self._lock:
            self._shards.drop_parts(left)

    def open_job(self, job_id: str) -> Open | None:
        """For shards: a job that has not ended."""
        entry = self._entries.get(job_id)
        if entry is None or entry.record.terminal:
            return None
        job = entry.record.request
        return Open(
            Claim(job_id=job_id, tenant=entry.tenant, attempt=entry.record.attempt, job=job),
            Message(job_id, job.timeout_seconds, entry.queue),
        )

    def count(self, what: str) -> None:
        """For the operator: this happened once more."""
        self._happened[what] += 1

    def fail_lost(self, job_id: str) -> None:
        """For shards: one of them was lost as often as may be."""
        self._finish(self._entries[job_id], "failed", error=worker_lost(self.attempt_cap))

    def ended_before(self, job_id: str, seconds: float) -> bool:
        """For shards: whether the job ended so long ago, or is unknown."""
        entry = self._entries.get(job_id)
        ended = None if entry is None else entry.record.finished_at
        return entry is None or (ended is not None and ended.timestamp() <= time.time() - seconds)

    def webhooks_due(self) -> Sequence[Delivery]:
        with self._lock:
            at, found = time.time(), list[Delivery]()
            for job_id, entry in self._entries.items():
                if entry.webhook_due is not None and entry.webhook_due <= at and len(found) < WEBHOOKS_AT_ONCE:
                    attempt, last = entry.webhook_attempts + 1, entry.webhook_attempts >= len(self.webhook_waits)
                    due = None if last else at + self.webhook_waits[attempt - 1]
                    self._entries[job_id] = replace(entry, webhook_attempts=attempt, webhook_due=due)
                    found.append(Delivery(entry.tenant, entry.record, attempt, last))
            return found

    def webhook_ended(self, job_id: str, delivered: bool) -> None:
        with self._lock:
            self._happened["webhook_delivered" if delivered else "webhook_given_up"] += 1
            if job_id in self._entries:
                self._entries[job_id] = replace(self._entries[job_id], webhook_due=None)

    def webhook_secret(self, tenant: str) -> str:
        with self._lock:
            return self._secrets.setdefault(checked_tenant(tenant), new_webhook_secret())

    def beat(self, worker: str, queues: Sequence[QueueName] = QUEUES) -> None:
        with self._lock:
            self._beats[worker] = time.time()
            self._serves[worker] = tuple(queues)

    def farewell(self, worker: str) -> None:
        with self._lock:
            self._beats.pop(worker, None)

    def workers_alive(self, within_seconds: float, host: str | None = None) -> int:
        ending = "" if host is None else f"@{host}"
        with self._lock:
            return sum(at >= time.time() - within_seconds for name, at in self._beats.items() if name.endswith(ending))

    def workers_of(self, queue: QueueName, within_seconds: float) -> int:
        with self._lock:
            return sum(at >= time.time() - within_seconds and queue in self._serves[name] for name, at in self._beats.items())

    def _of(self, tenant: str, job_id: str) -> _Entry | None:
        with self._lock:
            entry = self._entries.get(job_id)
            owner, until = self._forgotten.get(job_id, ("", 0.0))
        if owner == tenant and until > time.time():
            raise Forgotten("this job's record is no longer kept")
        return entry if entry and entry.tenant == tenant else None

    def _commit(
        self,
        job_id: str,
        attempt: int,
        outcome: Literal["succeeded", "failed"],
        *,
        result: str | None = None,
        error: Problem | None = None,
    ) -> bool:
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None or entry.record.attempt != attempt:
                return False
            if entry.record.terminal:
                return entry.record.state == outcome and entry.committed == attempt
            self._finish(replace(entry, committed=attempt, result=result), outcome, error=error)
            return True

    def _requeued(self, entry: _Entry, at: float) -> _Entry:
        record = entry.record
        if record.state == "running":
            progress = Progress(message="The worker fell silent; the job waits for another.")
            record = record.model_copy(update={"state": "queued", "progress": progress})
        wait = min(self.queued_grace * 2 ** (entry.publications - 1), LONGEST_WAIT_SECONDS)
        return replace(entry, record=record, publications=entry.publications + 1, published=at, due=at + wait)

    def _finish(self, entry: _Entry, state: State, *, error: Problem | None = None) -> _Entry:
        update: dict[str, object] = {"state": state, "finished_at": datetime.fromtimestamp(time.time(), UTC), "error": error}
        if state == "succeeded":
            update["progress"] = Progress(fraction=1.0, stage="succeeded")
        tell = time.time() if entry.record.request.webhook is not None else None
        finished = replace(entry, record=entry.record.model_copy(update=update), due=None, owner=None, webhook_due=tell)
        self._happened[state] += 1
        self._shards.drop(entry.record.id)
        self._announce(finished)
        return finished

    def _announce(self, entry: _Entry) -> None:
        """Keep the entry, and tell whoever follows the job what its record says now."""
        record, at = entry.record, time.time()
        known = self._entries.get(record.id)
        if known is not None and (known.record.progress.stage != record.progress.stage or record.terminal):
            left = known.record.progress.stage
            number, seconds = self._stages.get(left, (0, 0.0))
            self._stages[left] = number + 1, seconds + at - entry.since
            entry = replace(entry, since=at)
        self._entries[record.id] = entry
        told = self._events.setdefault(record.id, [])
        told.append(
            JobEvent(
                id=f"{int(1000 * at)}-{len(told)}",
                at=datetime.fromtimestamp(at, UTC),
                state=record.state,
                attempt=record.attempt,
                progress=record.progress,
            )
        )
