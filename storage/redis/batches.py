"""Batches of jobs in Redis or Valkey: many jobs recorded by one transition, and their table.

- `tenant:<tenant>:batches`, sorted set: the tenant's batches by order of arrival
- `tenant:<tenant>:batch:<id>`, hash: what was asked, and the number of jobs in each state
- `tenant:<tenant>:batch:<id>:records`, `…:jobs`, lists: of each row, what it is about, and its job

A job's record names its batch, whose counts change with the job's state. A batch is kept as long as
one of its jobs.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from contract.batches import Batch, BatchCounts, BatchRow
from contract.jobs import Job
from contract.messages import Message
from contract.problems import Problem
from storage.listing import facets, job_number
from storage.names import checked_tenant, is_batch_id, new_batch_id, new_job_id
from storage.redis.connection import DUE, messages_of, pairs, store_errors
from storage.redis.upkeep import Upkeep
from storage.stores import (
    BatchedJob,
    BatchSubmission,
    IdempotencyMismatch,
    QueueFull,
    TooManyJobs,
)

IDEMPOTENCY_SECONDS = 24 * 3600


class Batches(Upkeep):
    """Transitions of batches, a part of `JobStore`."""

    def submit_batch(
        self,
        tenant: str,
        jobs: Sequence[BatchedJob],
        *,
        batch_id: str | None = None,
        label: str | None = None,
        dataset: str | None = None,
        labels: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        fingerprint: str = "",
        most_open: int | None = None,
        most_open_of_tenant: int | None = None,
    ) -> BatchSubmission:
        """Record a batch with all its jobs, or none of them, in one transition.

        For a known idempotency key and the same fingerprint, return the batch recorded then. The
        caller publishes the messages of the answer. Bounds are those of `submit`.

        batch_id   id from `new_batch_id`, where the jobs' labels hold it
        dataset    id of the dataset whose trajectories are the records, for the batch's document
        labels     labels of the template, for the batch's document

        Raise IdempotencyMismatch; QueueFull and TooManyJobs, with the number of jobs that would be
        accepted; StoreUnavailable.
        """
        batch_id = batch_id or new_batch_id()
        home = f"tenant:{checked_tenant(tenant)}"
        keys = [DUE, f"{home}:sequence", f"{home}:batches"]
        if idempotency_key is not None:
            keys.append(idempotency_entry(tenant, idempotency_key, OF_BATCH))
        described = {
            "label": label,
            "kind": jobs[0].job.kind,
            "dataset": dataset,
            "labels": dict(labels or {}),
        }
        bounds = ("" if most is None else most for most in (most_open, most_open_of_tenant))
        outcome, found, messages = self._run(
            "submit_batch",
            keys,
            *(batch_id, tenant, json.dumps(described), self._queued_grace, fingerprint),
            *(IDEMPOTENCY_SECONDS, *bounds, len(jobs)),
            *(word for one in jobs for word in _recorded(one)),
        )
        if outcome == "mismatch":
            raise IdempotencyMismatch("this idempotency key was used with another request body")
        _check_room(outcome, int(found) if outcome in _REFUSED else 0)
        return BatchSubmission(str(found), outcome == "created", messages_of(messages))

    def batch(
        self, tenant: str, batch_id: str, first: int = 0, limit: int = 0
    ) -> tuple[Batch, str | None] | None:
        """Return a batch with some of its rows, and the id of its last open job.

        Return None where this tenant has no such batch.
        """
        if not is_batch_id(batch_id):
            return None
        answer = self._run("batch", [], checked_tenant(tenant), batch_id, first, limit)
        if not answer:
            return None
        fields, open_job, *found = answer
        rows = tuple(_row(first + k, *row) for k, row in enumerate(found))
        batch = _batch(pairs(fields))
        end = first + len(rows)
        return batch.model_copy(
            update={
                "rows": rows,
                "next_cursor": str(end) if rows and end < batch.n_records else None,
            }
        ), open_job or None

    def batches(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[Sequence[Batch], str | None]:
        """Return a page of the tenant's batches, newest first, and the next page's cursor.

        They come without their rows. Raise InvalidCursor.
        """
        before = "" if cursor is None else job_number(cursor)
        home = f"tenant:{checked_tenant(tenant)}"
        following, *found = self._run("batches", [f"{home}:batches"], tenant, before, limit)
        return [_batch(pairs(fields)) for fields in found if fields], following or None

    def known_batch(self, tenant: str, idempotency_key: str, fingerprint: str) -> str | None:
        """Return the id of the batch recorded under this key, if it is still there.

        Raise IdempotencyMismatch where it has another fingerprint.
        """
        entry = idempotency_entry(tenant, idempotency_key, OF_BATCH)
        with store_errors():
            found = cast("list[str | None]", self._client.hmget(entry, ["batch", "fingerprint"]))
        if found[0] is None or self.batch(tenant, found[0]) is None:
            return None
        if found[1] != fingerprint:
            raise IdempotencyMismatch("this idempotency key was used with another request body")
        return found[0]

    def retry_batch(
        self,
        tenant: str,
        batch_id: str,
        *,
        most_open: int | None = None,
        most_open_of_tenant: int | None = None,
    ) -> tuple[Message, ...]:
        """Put a new job in the place of each failed one of a batch; return messages to publish.

        The failed jobs stay, as jobs of their own. Raise KeyError where this tenant has no such
        batch; QueueFull, TooManyJobs, StoreUnavailable.
        """
        known = self.batch(tenant, batch_id)
        if known is None:
            raise KeyError(batch_id)
        ids = [new_job_id() for _ in range(known[0].n_records)]
        bounds = ("" if most is None else most for most in (most_open, most_open_of_tenant))
        outcome, found, messages = self._run(
            "retry_batch",
            [DUE, f"tenant:{checked_tenant(tenant)}:sequence"],
            *(tenant, batch_id, self._queued_grace, *bounds, *ids),
        )
        if outcome == "unknown":
            raise KeyError(batch_id)
        _check_room(outcome, int(found))
        return messages_of(messages)

    def cancel_batch(self, tenant: str, batch_id: str) -> bool:
        """Cancel the jobs that no worker has begun; return whether there is such a batch."""
        if not is_batch_id(batch_id):
            return False
        return bool(self._run("cancel_batch", [DUE], checked_tenant(tenant), batch_id))


_REFUSED = ("full", "too many")


def _check_room(outcome: str, allowed: int) -> None:
    if outcome == "full":
        raise QueueFull("too many jobs wait or run", allowed)
    if outcome == "too many":
        raise TooManyJobs("too many jobs of this tenant wait or run", allowed)


def _recorded(one: BatchedJob) -> tuple[str | float, ...]:
    job: Job = one.job
    about = {"record": one.record, "dataset": one.job.dataset, "trajectory": one.trajectory}
    asked = job.model_dump_json(by_alias=True), job.timeout_seconds, one.queue
    webhook = int(job.webhook is not None)
    return new_job_id(), json.dumps(about), *asked, webhook, " ".join(facets(job))


OF_BATCH = b"batch\0"
"""Beginning by which a key of a batch is another than the same key of a job."""


def idempotency_entry(tenant: str, key: str, of: bytes = b"") -> str:
    """Return the name under which an idempotency key is remembered."""
    # The key is the caller's free text, of any length; hence the hash.
    digest = hashlib.sha256(of + key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"idem:{tenant}:{digest}"


def _batch(fields: Mapping[str, str]) -> Batch:
    """Return the public document of a stored batch, without rows."""
    described: dict[str, Any] = json.loads(fields["described"])
    counts = {name: int(fields.get(name, 0)) for name in BatchCounts.model_fields}
    return Batch(
        id=fields["id"],
        created_at=datetime.fromtimestamp(float(fields["created"]), UTC),
        n_records=int(fields["size"]),
        counts=BatchCounts(**counts),
        **described,
    )


def _row(
    number: int, about: str, job: str, state: str, attempt: str, error: str, values: str
) -> BatchRow:
    return BatchRow.model_validate(
        {
            **json.loads(about),
            "number": number,
            "job": job,
            "state": state or None,
            "attempt": int(attempt),
            "error": Problem.model_validate_json(error) if error else None,
            "values": json.loads(values) if values else {},
        }
    )
