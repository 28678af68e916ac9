"""The interfaces of all stores, implemented in this package by folder, object store and Redis."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from contract.datasets import Dataset
from contract.jobs import Job
from contract.messages import QUEUES, Message, QueueName
from contract.problems import Problem
from contract.records import JobEvent, JobRecord, Progress
from storage.listing import EVERY_JOB, JobFilter


class StoreUnavailable(Exception):
    """The store does not answer; nothing was decided, and a later attempt may succeed."""


class StorageFull(StoreUnavailable):
    """The store has no room; nothing was decided."""


class IdempotencyMismatch(Exception):
    """The same idempotency key came with another request body."""


class QueueFull(Exception):
    """So many jobs wait or run that no more are accepted for now."""


class TooManyJobs(Exception):
    """So many of this tenant's jobs wait or run that it may send no more for now."""


class Forgotten(Exception):
    """The job existed; its record was deleted, or its time was over."""


class InvalidCursor(ValueError):
    """No earlier page gave the cursor that was used to ask for a page."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Job record, with a flag that says whether this call made it."""

    record: JobRecord
    created: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """Right to run a job once: only a commit with this attempt number is accepted."""

    job_id: str
    tenant: str
    attempt: int
    job: Job


@dataclass(frozen=True, slots=True)
class ShardClaim:
    """Right to sum one shard of a job: only a commit with this attempt number is accepted.

    of          claim of the job, with the job's attempt
    pass_name   name of the pass over the data that was shared out
    number      number of this shard, from 0
    shards      number of shards of the pass
    attempt     number of times that this shard was claimed
    """

    of: Claim
    pass_name: str
    number: int
    shards: int
    attempt: int


@dataclass(frozen=True, slots=True)
class LeftParts:
    """Job that ended, or is forgotten, and whose parts may still be kept."""

    tenant: str
    job_id: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """Webhook to be sent now, with the record of a job that has ended.

    attempt   number of this attempt, from 1
    last      whether it is the last attempt
    """

    tenant: str
    record: JobRecord
    attempt: int
    last: bool


WEBHOOK_WAITS = (
    15.0,
    60.0,
    300.0,
    1800.0,
    7200.0,
    18_000.0,
    36_000.0,
    50_400.0,
    72_000.0,
    86_400.0,
)
"""Seconds between attempts, three days in all; the first leaves a sender time to finish."""
WEBHOOKS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Ended:
    """Job that ended some time ago, with the number of attempts that may have left a result."""

    tenant: str
    job_id: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of all tenants' jobs for the operator.

    queued                  number of queued jobs
    running                 number of running jobs
    oldest_queued_seconds   time that the oldest queued job has waited; 0 where none waits
    happened                counts of jobs that were `submitted`, `started`, `succeeded`, `failed`,
                            `cancelled`, or given back for want of a store (`given_back`); of
                            workers that fell silent (`lease_lost`); of messages sent again
                            (`republished`); of shards that were summed (`shard_done`), lost
                            (`shard_lost`) or asked for again (`shards_republished`)
    stages                  count and total seconds of the jobs that have left each stage
    """

    queued: int
    running: int
    oldest_queued_seconds: float
    happened: Mapping[str, int]
    stages: Mapping[str, tuple[int, float]]


class JobStore(Protocol):
    """Store of job records, which are the only truth.

    Every transition is atomic; time is the store's own, never the host's. A method that asks for a
    tenant's job raises Forgotten where the job is known to have been forgotten.
    """

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
        """Record a job as queued and due.

        For a known idempotency key and the same fingerprint, return the job recorded then.

        queue                queue of its messages
        most_open            most jobs of all tenants that may wait or run, this one included
        most_open_of_tenant  most jobs of this tenant that may wait or run, this one included

        Raise IdempotencyMismatch, QueueFull, TooManyJobs, StoreUnavailable.
        """

    def open_jobs(self, tenant: str | None = None) -> int:
        """Return how many jobs wait or run, of a tenant or of all."""

    def ended(self, job_ids: Sequence[str]) -> frozenset[str]:
        """Return those of the jobs that have ended or are unknown, of any tenant, in one call."""

    def tally(self) -> Tally:
        """Return the numbers for the operator."""

    def memory_used(self) -> float:
        """Return the used share of the store's memory, 0 to 1; 0 where it knows no bound."""

    def get(self, tenant: str, job_id: str) -> JobRecord | None:
        """Return the record, or None where this tenant has no such job."""

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

    def cancel(self, tenant: str, job_id: str) -> JobRecord | None:
        """Cancel the job unless it is terminal; return its record, or None where there is none."""

    def claim(self, job_id: str, owner: str, lease_seconds: float) -> Claim | None:
        """Take the job; None if unknown, terminal, leased, or failed here for lack of attempts."""

    def renew(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """Extend this owner's leases of the job and of its shards; return whether there are any."""

    def report(self, job_id: str, attempt: int, progress: Progress) -> bool:
        """Record progress; return False where the attempt lost the job or the job was cancelled."""

    def fan_out(self, job_id: str, attempt: int, pass_name: str, shards: int) -> QueueName | None:
        """Share out a pass over the job's data.

        Parts that an earlier attempt made of the same pass stay. Return the queue for messages that
        ask for help, or None where this attempt no longer counts.

        pass_name   name of what is summed: the same name for the same work
        """

    def claim_shard(
        self, job_id: str, owner: str, lease_seconds: float, *, last: bool = False
    ) -> ShardClaim | None:
        """Take the first, or the `last`, shard of the job that has no holder, or a silent one.

        Return None where there is none. A shard that was lost so often that it must be what kills
        its workers fails the job.
        """

    def commit_shard(self, claim: ShardClaim, part: str) -> bool:
        """Commit the name of the shard's part; return False where the claim no longer counts.

        Repeating a commit that succeeded returns True.
        """

    def give_back_shard(self, claim: ShardClaim) -> None:
        """Release the shard for others, because a store is away; the attempt does not count."""

    def parts(self, job_id: str, attempt: int, pass_name: str) -> Sequence[str | None] | None:
        """Return the names of the pass's parts in order, with None for each that is still missing.

        Return None instead of a list where this attempt no longer counts.
        """

    def left_parts(self, older_than_seconds: float) -> Sequence[LeftParts]:
        """Return some of the jobs that ended longer ago and whose parts may still be kept."""

    def drop_parts(self, left: LeftParts) -> None:
        """Record that the parts are deleted."""

    def succeed(self, job_id: str, attempt: int, result: str) -> bool:
        """Commit a result blob's name; return False where this attempt no longer counts.

        Repeating a commit that succeeded returns True.
        """

    def fail(self, job_id: str, attempt: int, problem: Problem) -> bool:
        """Commit a failure; the answer is that of `succeed`."""

    def give_back(self, job_id: str, attempt: int) -> bool:
        """Queue a running job again, because a store is away, with a wait that doubles each time.

        This attempt does not count against the cap. Return False where it no longer counts anyway.
        """

    def result_name(self, tenant: str, job_id: str) -> str | None:
        """Return the name of the committed result blob."""

    def events(
        self, tenant: str, job_id: str, after: str | None = None
    ) -> Sequence[JobEvent] | None:
        """Return the job's changes after the event of this id, or since it was submitted.

        At least the last thousand changes are kept. Return None where there is no such job. Raise
        ValueError for an id that no event has.
        """

    def newest_events(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        """Return the ids of the jobs' newest events, of any tenant; jobs without are left out."""

    def outdated(
        self, older_than_seconds: float, what: Literal["result", "record"]
    ) -> Sequence[Ended]:
        """Return some jobs that ended earlier and keep a result (or record), oldest first."""

    def drop_result(self, job_id: str) -> None:
        """Record that the job's result is deleted, after its blobs: it is not `outdated` again."""

    def forget(self, tenant: str, job_id: str, remember_seconds: float) -> bool:
        """Delete the record of an ended job whose results are deleted.

        For `remember_seconds`, asking for the job raises Forgotten. Return False where there is no
        such job, or it has not ended.
        """

    def reap(self) -> Sequence[Message]:
        """Queue again the jobs whose message or worker seems lost; return messages to publish.

        The waits between publications double. Jobs with shards that nobody works on get one message
        for each such shard. A job that outlived its own time limit without reporting so is failed
        with `timed-out`.
        """

    def webhooks_due(self) -> Sequence[Delivery]:
        """Return some webhooks to be sent now; each comes again later until `webhook_ended`."""

    def webhook_ended(self, job_id: str, delivered: bool) -> None:
        """Record that the job's webhook was delivered, or never will be."""

    def webhook_secret(self, tenant: str) -> str:
        """Return the secret that signs the tenant's webhooks, `whsec_…`, made at first use."""

    def beat(self, worker: str, queues: Sequence[QueueName] = QUEUES) -> None:
        """Record that this worker lives, and which queues it serves."""

    def farewell(self, worker: str) -> None:
        """Record that this worker takes no more jobs: it is not `alive` until its next beat."""

    def workers_alive(self, within_seconds: float, host: str | None = None) -> int:
        """Return how many workers, all or those of one host (`name@host`), gave a recent beat."""

    def workers_of(self, queue: QueueName, within_seconds: float) -> int:
        """Return how many workers that serve this queue gave a recent beat."""


class DatasetStore(Protocol):
    """Uploaded trajectories as three NumPy files beside their description.

    states.npy    (n_samples, d) float64          [state]
    times.npy     (n_samples,)   float64, increasing inside a segment   [time]
    segments.npy  (n_segments, 3) int64           first sample, one past the last, trajectory number
    """

    def put(self, tenant: str, dataset: Dataset, folder: Path) -> Literal["created", "known"]:
        """Keep the three files found in `folder` under `dataset.id`, all or nothing."""

    def get(self, tenant: str, dataset_id: str) -> Dataset | None:
        """Return the description, or None where this tenant has no such dataset."""

    def list(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[Sequence[Dataset], str | None]:
        """Return a page of datasets, newest first, and the next cursor. Raise InvalidCursor."""

    def files(self, tenant: str, dataset_id: str) -> AbstractContextManager[Path]:
        """Return a local folder with the three files, valid inside the `with`.

        Raise KeyError where there is no such dataset, also where it is deleted while its files are
        opened.
        """

    def delete(self, tenant: str, dataset_id: str) -> bool:
        """Delete the dataset; return False where there is none."""

    def bytes_stored(self, tenant: str) -> int:
        """Return the bytes that the tenant's datasets take."""


class ResultStore(Protocol):
    """Store of result documents: immutable bytes under a name that no other attempt uses.

    Until a job ends, it also keeps the parts of which the result is made, under the same rule.
    """

    def put(self, tenant: str, job_id: str, attempt: int, body: bytes) -> str:
        """Write durably, return the blob's name."""

    def get(self, tenant: str, name: str) -> bytes | None:
        """Return the blob, or None where there is none."""

    def delete(self, tenant: str, name: str) -> None:
        """Delete the blob if there is one."""

    def put_part(self, tenant: str, job_id: str, name: str, body: bytes) -> None:
        """Write a part durably."""

    def get_part(self, tenant: str, job_id: str, name: str) -> bytes | None:
        """Return the part, or None where there is none."""

    def delete_part(self, tenant: str, job_id: str, name: str) -> None:
        """Delete the part if there is one."""

    def delete_parts(self, tenant: str, job_id: str) -> None:
        """Delete all parts of a job."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything that outlives a process."""

    jobs: JobStore
    datasets: DatasetStore
    results: ResultStore
