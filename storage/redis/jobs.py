"""Job records in Redis or Valkey.

Each transition is one Lua script (storage/redis/lua), so it happens wholly or not at all. The keys:

- `job:<id>`, hash: the record; for a while after its deletion, the tenant alone
- `job:<id>:events`, stream: the record's state after each change, until an hour after the last
- `job:<id>:shards`, hash: the pass over the data that is shared out, and for each shard its holder
  and the end of the lease, or the name of its part
- `jobs:shared`, sorted set: jobs with shards, by the time at which they are to be examined
- `jobs:parts`, sorted set: `<tenant>/<id>` of jobs that may have parts in the blob store
- `jobs:due`, sorted set: open jobs, by the time at which they are to be examined
- `jobs:ended`, `jobs:kept`, sorted sets: ended jobs by that time, with and without a result kept
- `jobs:webhooks`, sorted set: tenants with webhooks to be sent, by the time at which to try next;
  `tenant:<tenant>:webhooks`, sorted set: the tenant's ended jobs with one, by theirs
- `jobs:queued`, sorted set: jobs that wait for a worker, by the time since when
- `jobs:clock`: time of the last look for lost jobs, from which a clock that was set back is noticed
- `jobs:counts`, `jobs:stages`, hashes: counts of events, and durations of stages
- `jobs:record-bytes`, `jobs:result-bytes`, sorted sets: tenants, by what they keep
- `jobs:workers`, `jobs:workers:<queue>`, sorted sets: all workers, and a queue's, by last beat
- `tenant:<tenant>:secrets`, hash: the secret that signs the tenant's webhooks
- `tenant:<tenant>:open`, set: the tenant's jobs that have not ended
- `tenant:<tenant>:line:<queue>`, sorted set, and `tenant:<tenant>:sent:<queue>`, set: the tenant's
  queued jobs that wait for their first message, and those whose first message is under way
- `tenant:<tenant>:jobs`, sorted set: the tenant's jobs by order of arrival, which
  `tenant:<tenant>:sequence` counts
- `tenant:<tenant>:jobs:<facet>`, sorted sets: the tenant's jobs of a state, kind, dataset or label
  by order of arrival (`storage.listing`)
- `idem:<tenant>:<sha256 of key>`, hash: job and body fingerprint of an idempotency key, kept a day
- `tenant:<tenant>:batches`, `tenant:<tenant>:batch:<id>…`: batches (`storage.redis.batches`)
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from redis import Redis

from contract.jobs import DataJob, Job
from contract.kinds import recorded_job
from contract.messages import QUEUES, QueueName
from contract.problems import Problem
from contract.records import JobEvent, JobRecord, Progress
from storage.listing import EVERY_JOB, MOST_LOOKED_AT, JobFilter, facets, job_number
from storage.names import (
    checked_event,
    checked_tenant,
    is_job_id,
    is_result_name,
    new_job_id,
    new_webhook_secret,
)
from storage.redis.batches import IDEMPOTENCY_SECONDS, Batches, idempotency_entry
from storage.redis.connection import DUE, messages_of, pairs, record_key, rows, store_errors
from storage.redis.shards import MOST_EXCUSED, shards_key
from storage.redis.upkeep import LONGEST_WAIT_SECONDS
from storage.stores import (
    WEBHOOK_WAITS,
    WEBHOOKS_AT_ONCE,
    Claim,
    Delivery,
    Forgotten,
    IdempotencyMismatch,
    QueueFull,
    Submission,
    TooManyJobs,
)

ATTEMPT_CAP = 5
QUEUED_GRACE_SECONDS = 10.0
"""Time after which a published message is taken for lost, doubled with every further publication.

The doubling ends when a worker claims the job. A message that is lost in a crash costs this long;
one that is sent twice costs nothing.
"""


class JobStore(Batches):
    """Store of job records, which are the only truth, on a server that keeps what it acknowledged.

    Every transition is atomic; time is the store's own, never the host's. A method that asks for a
    tenant's job raises Forgotten where the job is known to have been forgotten.
    """

    def __init__(
        self,
        client: Redis,
        *,
        queued_grace: float = QUEUED_GRACE_SECONDS,
        attempt_cap: int = ATTEMPT_CAP,
        webhook_waits: Sequence[float] = WEBHOOK_WAITS,
        queues: Sequence[QueueName] = QUEUES,
    ) -> None:
        super().__init__(client)
        self._queued_grace = queued_grace
        self._attempt_cap = attempt_cap
        self._webhook_waits = webhook_waits
        self._queues = queues

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
        """Record a job as queued and due, in its tenant's line.

        For a known idempotency key and the same fingerprint, return the job recorded then. The
        caller publishes the messages of the answer.

        queue                queue of its messages
        most_open            most jobs of all tenants that may wait or run, this one included; a
                             hundredth of them is for every tenant, whoever has taken the others
        most_open_of_tenant  most jobs of this tenant that may wait or run, this one included

        Raise IdempotencyMismatch, QueueFull, TooManyJobs, StoreUnavailable.
        """
        job_id = new_job_id()
        home = f"tenant:{checked_tenant(tenant)}"
        keys = [record_key(job_id), DUE, f"{home}:sequence"]
        if idempotency_key is not None:
            keys.append(idempotency_entry(tenant, idempotency_key))
        asked = job.model_dump_json(by_alias=True), job.timeout_seconds, self._queued_grace
        known = fingerprint or "", IDEMPOTENCY_SECONDS
        bounds = ("" if most is None else most for most in (most_open, most_open_of_tenant))
        place = queue, int(job.webhook is not None), *facets(job)
        outcome, record, messages = self._run(
            "submit", keys, job_id, tenant, *asked, *known, *bounds, *place
        )
        match outcome:
            case "mismatch":
                raise IdempotencyMismatch("this idempotency key was used with another request body")
            case "full":
                raise QueueFull(f"{most_open} jobs wait or run")
            case "too many":
                raise TooManyJobs(f"{most_open_of_tenant} jobs of this tenant wait or run")
        return Submission(
            _record(pairs(record)), created=outcome == "created", messages=messages_of(messages)
        )

    def remembers(self, tenant: str, idempotency_key: str) -> bool:
        """Return whether a job was recorded under this key, and is still there."""
        with store_errors():
            job_id = self._client.hget(idempotency_entry(tenant, idempotency_key), "job")
            return job_id is not None and self._client.hexists(record_key(str(job_id)), "state")

    def ended(self, job_ids: Sequence[str]) -> frozenset[str]:
        """Return those of the jobs that have ended or are unknown, of any tenant, in one call."""
        return frozenset(self._run("ended", [DUE], *job_ids)) if job_ids else frozenset()

    def get(self, tenant: str, job_id: str) -> JobRecord | None:
        """Return the record, or None where this tenant has no such job."""
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
        """Return a page of the tenant's matching jobs, newest first, and the next page's cursor.

        It costs the same however many jobs there are. Where jobs must match several facets, a page
        may hold fewer than `limit` jobs, even none, and yet have a next page. Raise InvalidCursor.
        """
        before = "" if cursor is None else job_number(cursor)
        following, *records = self._run(
            "page", [], checked_tenant(tenant), before, limit, MOST_LOOKED_AT, *wanted.facets
        )
        return [_record(pairs(record)) for record in records], following or None

    def cancel(self, tenant: str, job_id: str) -> JobRecord | None:
        """Cancel the job unless it is terminal; return its record, or None where there is none."""
        if not is_job_id(job_id):
            return None
        record = self._run("cancel", [record_key(job_id), DUE], job_id, tenant)
        return _record(_present(pairs(record))) if record else None

    def claim(self, job_id: str, owner: str, lease_seconds: float) -> Claim | None:
        """Take the job; None if unknown, terminal, leased, or failed here for lack of attempts.

        It is also None where the job was moved to a queue that the store's owner does not serve.

        The claimant publishes the messages of the claim: the tenant's next jobs.
        """
        if not is_job_id(job_id):
            return None
        keys = [record_key(job_id), DUE]
        claimant = self._claimant(job_id, owner, lease_seconds)
        served = " ".join(self._queues)
        answer = self._run("claim", keys, *claimant, self._queued_grace, served)
        if not answer:
            return None
        attempt, tenant, request, messages = answer
        job = recorded_job(request)
        return Claim(job_id, tenant, int(attempt), job, messages_of(messages))

    def renew(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """Extend this owner's leases of the job and of its shards; return whether there are any."""
        keys = [record_key(job_id), DUE, shards_key(job_id)]
        return bool(self._run("renew", keys, job_id, owner, lease_seconds))

    def report(self, job_id: str, attempt: int, progress: Progress) -> bool:
        """Record progress; return False where the attempt lost the job or the job was cancelled."""
        shown = progress.fraction, progress.stage, progress.message
        return bool(self._run("report", [record_key(job_id)], attempt, *shown))

    def succeed(
        self, job_id: str, attempt: int, result: str, size: int = 0, values: str = ""
    ) -> bool:
        """Commit a result blob's name and size; return False where this attempt no longer counts.

        values   what the table of the job's batch shows, as JSON; kept for a job of a batch alone

        Repeating a commit that succeeded returns True.
        """
        if not is_result_name(result):
            raise ValueError(f"no result store gave the name {result!r}")
        return self._commit(job_id, attempt, "succeeded", "result", result, size, values)

    def fail(self, job_id: str, attempt: int, problem: Problem) -> bool:
        """Commit a failure; the answer is that of `succeed`."""
        error = problem.model_dump_json(by_alias=True)
        return self._commit(job_id, attempt, "failed", "error", error, 0, "")

    def give_back(self, job_id: str, attempt: int) -> bool:
        """Queue a running job again, because a store is away, with a wait that doubles each time.

        This attempt does not count against the cap. Return False where it no longer counts anyway.
        """
        waits = self._queued_grace, LONGEST_WAIT_SECONDS, MOST_EXCUSED
        return bool(self._run("give_back", [record_key(job_id), DUE], job_id, attempt, *waits))

    def move(self, job_id: str, owner: str, longest_seconds: float) -> bool:
        """Queue again, as `large`, a small job that has run for so long; this attempt is excused.

        Return False where it is not, or is not this owner's.
        """
        keys = [record_key(job_id), DUE]
        return bool(self._run("move", keys, job_id, owner, longest_seconds))

    def result_name(self, tenant: str, job_id: str) -> str | None:
        """Return the name of the committed result blob."""
        fields = self._fields(tenant, job_id)
        return fields.get("result") if fields else None

    def events(
        self, tenant: str, job_id: str, after: str | None = None
    ) -> Sequence[JobEvent] | None:
        """Return the job's changes after the event of this id, or since it was submitted.

        At least the last thousand changes are kept until an hour after the job's end, then the
        last one. Return None where there is no such job. Raise ValueError for an id that no event
        has.
        """
        start = "-" if after is None else f"({checked_event(after)}"
        record = self._fields(tenant, job_id)
        if record is None:
            return None
        with store_errors():
            found = cast(
                "Sequence[tuple[str, dict[str, str]]]",
                self._client.xrange(f"{record_key(job_id)}:events", min=start),
            )
            last = record.get("last_event")
            if not found and last and not self._client.exists(f"{record_key(job_id)}:events"):
                found = [(last, {**record, "at": record["finished"]})] if after != last else []
        return [_event(name, fields) for name, fields in found]

    def newest_events(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        """Return the ids of the jobs' newest events, of any tenant; jobs without are left out."""
        if not job_ids:
            return {}
        found = self._run("newest", [f"{record_key(job_id)}:events" for job_id in job_ids])
        return {job_id: newest for job_id, newest in zip(job_ids, found, strict=True) if newest}

    def webhooks_due(self) -> Sequence[Delivery]:
        """Return some webhooks to be sent now; each comes again later until `webhook_ended`.

        Of each tenant there are as many: in one line for all, 300 of one tenant whose receivers did
        not answer held up another's for 40 s.
        """
        found = self._run("webhooks", [], WEBHOOKS_AT_ONCE, *self._webhook_waits)
        deliveries = []
        for attempt, flat in rows(found, 2):
            fields = pairs(flat)
            last = attempt > len(self._webhook_waits)
            deliveries.append(Delivery(fields["tenant"], _record(fields), attempt, last))
        return deliveries

    def webhook_ended(self, job_id: str, delivered: bool) -> None:
        """Record that the job's webhook was delivered, or never will be."""
        self._run("told", [], job_id, "webhook_delivered" if delivered else "webhook_given_up")

    def webhook_secret(self, tenant: str) -> str:
        """Return the secret that signs the tenant's webhooks, `whsec_…`, made at first use."""
        return str(
            self._run("secret", [f"tenant:{checked_tenant(tenant)}:secrets"], new_webhook_secret())
        )

    def _commit(self, job_id: str, attempt: int, *end: str | int) -> bool:
        return bool(self._run("commit", [record_key(job_id), DUE], job_id, attempt, *end))

    def _fields(self, tenant: str, job_id: str) -> Mapping[str, str] | None:
        """Return the stored record, or None where this tenant has no such job."""
        if not is_job_id(job_id):
            return None
        fields = pairs(self._run("fetch", [record_key(job_id)], tenant))
        return _present(fields) if fields else None


def _present(fields: Mapping[str, str]) -> Mapping[str, str]:
    """Return the record. Raise Forgotten where only its tenant is left."""
    if "state" not in fields:
        raise Forgotten("this job's record is no longer kept")
    return fields


def _event(name: str, fields: Mapping[str, str]) -> JobEvent:
    return JobEvent.model_validate({"id": name, "at": _time(fields["at"]), **_state(fields)})


def _record(fields: Mapping[str, str]) -> JobRecord:
    """Return the public job record of a stored one."""
    job = recorded_job(fields["request"])
    return JobRecord.model_validate(
        {
            **_state(fields),
            "id": fields["id"],
            "kind": job.kind,
            "created_at": _time(fields["created"]),
            "started_at": _time(fields.get("started")),
            "finished_at": _time(fields.get("finished")),
            "dataset": job.dataset if isinstance(job, DataJob) else None,
            "labels": job.labels,
            "request": job,
            "error": Problem.model_validate_json(fields["error"]) if "error" in fields else None,
        }
    )


def _state(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return what a record and an event share."""
    progress = Progress(
        fraction=float(fields["fraction"]), stage=fields["stage"], message=fields["message"]
    )
    return {"state": fields["state"], "attempt": int(fields["attempt"]), "progress": progress}


def _time(seconds: str | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(float(seconds), UTC)
