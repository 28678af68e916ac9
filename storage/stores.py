"""What a store must do, whatever it is made of. Implementations: jobs; datasets and results; objects."""

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
    """The store does not answer; nothing was decided. Try again."""


class StorageFull(StoreUnavailable):
    """There is no room to keep it; nothing was decided."""


class IdempotencyMismatch(Exception):
    """The same idempotency key came with another request body."""


class QueueFull(Exception):
    """So many jobs wait or run that no more are taken for now."""


class TooManyJobs(Exception):
    """So many of this tenant's jobs wait or run that it may send no more for now."""


class Forgotten(Exception):
    """There was such a job; its record was deleted, or its time was over."""


class InvalidCursor(ValueError):
    """A page was asked for with a cursor that no earlier page gave."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A job record, and whether this call made it."""

    record: JobRecord
    created: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a job once: only a commit with this attempt number is accepted."""

    job_id: str
    tenant: str
    attempt: int
    job: Job


@dataclass(frozen=True, slots=True)
class ShardClaim:
    """The right to sum one shard of a job: only a commit with this attempt number is accepted.

    of          the job, with its own attempt
    pass_name   of the pass over the data that was shared out, in so many `shards`
    number      of this one, from 0
    attempt     how often this shard was claimed
    """

    of: Claim
    pass_name: str
    number: int
    shards: int
    attempt: int


@dataclass(frozen=True, slots=True)
class LeftParts:
    """A job that ended, or is forgotten, and whose parts may still be kept."""

    tenant: str
    job_id: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook to be sent now: the record of a job that has ended.

    attempt   which one this is, from 1
    last      whether there will be no other
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
"""Seconds from each attempt to deliver a webhook to the next, three days in all. The first leaves a sender time to finish."""
WEBHOOKS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that ended some time ago, and how many attempts may have left a result behind."""

    tenant: str
    job_id: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What an operator wants to know of all tenants' jobs.

    queued, running         jobs in that state
    oldest_queued_seconds   how long the first of those waiting has waited; 0 where none does
    happened                how often jobs were `submitted`, `started`, `succeeded`, `failed`, `cancelled`, how often a worker
                            fell silent (`lease_lost`) and a message was sent again (`republished`); likewise how often shards
                            were summed (`shard_done`), lost (`shard_lost`), asked for again (`shards_republished`);
                            and jobs were given back (`given_back`) for want of a store
    stages                  how often jobs have left each stage, and after how many seconds in all
    """

    queued: int
    running: int
    oldest_queued_seconds: float
    happened: Mapping[str, int]
    stages: Mapping[str, tuple[int, float]]


class JobStore(Protocol):
    """The job record is the only truth. Every transition is atomic; time is the store's own, never the host's.

    Whatever asks for a tenant's job raises Forgotten where the job is known to have been forgotten.
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
        """Record a job as queued and due. With a known key and the same fingerprint: the job recorded then.

        queue                where its messages go
        most_open            jobs that may wait or run at the same time, of all tenants; this one included
        most_open_of_tenant  likewise of this tenant

        Raises IdempotencyMismatch, QueueFull, TooManyJobs, StoreUnavailable.
        """
        ...

    def open_jobs(self, tenant: str | None = None) -> int:
        """How many jobs wait or run, of a tenant or of all."""
        ...

    def ended(self, job_ids: Sequence[str]) -> frozenset[str]:
        """Those of the jobs that have ended or are unknown, whosever they are, in one cheap look. They never come back."""
        ...

    def tally(self) -> Tally:
        """Numbers for the operator."""
        ...

    def memory_used(self) -> float:
        """Share of the store's memory that is in use, 0 to 1; 0 where it knows no bound."""
        ...

    def get(self, tenant: str, job_id: str) -> JobRecord | None:
        """The record, or None where this tenant has no such job."""
        ...

    def list(
        self,
        tenant: str,
        wanted: JobFilter = EVERY_JOB,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[Sequence[JobRecord], str | None]:
        """A page of those of the tenant's jobs that are wanted (all, if not said), newest first, and the cursor of the next page.

        Costs the same however many jobs there are. Where jobs must have several things in common, a page may hold fewer than
        `limit`, even none, and yet have a next. Raises InvalidCursor.
        """
        ...

    def cancel(self, tenant: str, job_id: str) -> JobRecord | None:
        """Queued or running → cancelled; a terminal job stays as it is. None where there is no such job."""
        ...

    def claim(self, job_id: str, owner: str, lease_seconds: float) -> Claim | None:
        """Take the job, or None: unknown, terminal, leased to another, or out of attempts (then it is failed here)."""
        ...

    def renew(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """Keep the lease of the job, and of its shards, as far as they are this owner's; False where none is."""
        ...

    def report(self, job_id: str, attempt: int, progress: Progress) -> bool:
        """Note progress; False where this attempt no longer counts (cancelled, or claimed by another)."""
        ...

    def fan_out(self, job_id: str, attempt: int, pass_name: str, shards: int) -> QueueName | None:
        """Share a pass over the job's data out; what an earlier attempt has of the same pass stays. Answers where messages that
        ask for help go, or None where this attempt no longer counts.

        pass_name   says what is summed: the same name for the same work
        """
        ...

    def claim_shard(
        self, job_id: str, owner: str, lease_seconds: float, *, last: bool = False
    ) -> ShardClaim | None:
        """Take a shard of the job that nobody has, or whose holder fell silent: the first, or the `last`. None where there is
        none; a shard that was lost so often that it must be what kills its workers fails the job.
        """
        ...

    def commit_shard(self, claim: ShardClaim, part: str) -> bool:
        """Commit the name of the part with the shard's sums; False where the claim no longer counts. As `succeed`."""
        ...

    def give_back_shard(self, claim: ShardClaim) -> None:
        """As `give_back`, of a shard, which others may take at once."""
        ...

    def parts(self, job_id: str, attempt: int, pass_name: str) -> Sequence[str | None] | None:
        """Names of the pass's parts in their order, None for each that is not there yet. None for all of them where this attempt
        no longer counts."""
        ...

    def left_parts(self, older_than_seconds: float) -> Sequence[LeftParts]:
        """Some of the jobs that ended longer ago than that, and whose parts may still be kept."""
        ...

    def drop_parts(self, left: LeftParts) -> None:
        """They are deleted."""
        ...

    def succeed(self, job_id: str, attempt: int, result: str) -> bool:
        """Commit a result blob's name; False where this attempt no longer counts. Repeating a commit that landed is True."""
        ...

    def fail(self, job_id: str, attempt: int, problem: Problem) -> bool:
        """Commit a failure, as `succeed`."""
        ...

    def give_back(self, job_id: str, attempt: int) -> bool:
        """Running → queued, because what the attempt needs is away: it is tried again after a while, twice as long each time.

        This attempt does not count against the cap. False where it no longer counts anyway.
        """
        ...

    def result_name(self, tenant: str, job_id: str) -> str | None:
        """Name of the committed result blob."""
        ...

    def events(
        self, tenant: str, job_id: str, after: str | None = None
    ) -> Sequence[JobEvent] | None:
        """What happened to the job after the event of this id, or since it was submitted; at least the last thousand changes
        are kept. None where there is no such job. Raises ValueError for an id that no event has.
        """
        ...

    def newest_events(self, job_ids: Sequence[str]) -> Mapping[str, str]:
        """Ids of the jobs' newest events, whosever they are, in one cheap look; those that have none are left out."""
        ...

    def outdated(
        self, older_than_seconds: float, what: Literal["result", "record"]
    ) -> Sequence[Ended]:
        """Some of the jobs that ended longer ago than that, and whose results (or records) are still kept, oldest first."""
        ...

    def drop_result(self, job_id: str) -> None:
        """The job's result is no longer kept. Delete the blobs first: what is dropped here is not `outdated` again."""
        ...

    def forget(self, tenant: str, job_id: str, remember_seconds: float) -> bool:
        """Delete the record of a job that has ended and whose results are deleted; for so long it is known to be Forgotten.

        False where there is no such job, or it has not ended.
        """
        ...

    def reap(self) -> Sequence[Message]:
        """Jobs whose message or worker seems lost; each is queued again with backoff and must be published again. Likewise those
        with shards that nobody works on, once for each of these.

        A job that outlived its own time limit without saying so is failed with `timed-out` instead.
        """
        ...

    def webhooks_due(self) -> Sequence[Delivery]:
        """Webhooks to be sent now, some of them. Each comes again after a while unless `webhook_ended` is called."""
        ...

    def webhook_ended(self, job_id: str, delivered: bool) -> None:
        """The job's webhook was delivered, or never will be."""
        ...

    def webhook_secret(self, tenant: str) -> str:
        """What the tenant's webhooks are signed with: `whsec_…`, made when first asked for."""
        ...

    def beat(self, worker: str, queues: Sequence[QueueName] = QUEUES) -> None:
        """Note that this worker lives, and which queues it serves."""
        ...

    def farewell(self, worker: str) -> None:
        """This worker takes no more jobs: it is not `alive` until its next beat."""
        ...

    def workers_alive(self, within_seconds: float, host: str | None = None) -> int:
        """How many workers, all or those of one host (`name@host`), gave a beat within the last so many seconds."""
        ...

    def workers_of(self, queue: QueueName, within_seconds: float) -> int:
        """Likewise those that serve this queue."""
        ...


class DatasetStore(Protocol):
    """Uploaded trajectories as three NumPy files beside their description.

    states.npy    (n_samples, d) float64          [state]
    times.npy     (n_samples,)   float64, increasing inside a segment   [time]
    segments.npy  (n_segments, 3) int64           first sample, one past the last, trajectory number
    """

    def put(self, tenant: str, dataset: Dataset, folder: Path) -> Literal["created", "known"]:
        """Keep the three files found in `folder` under `dataset.id`, all or nothing."""
        ...

    def get(self, tenant: str, dataset_id: str) -> Dataset | None: ...

    def list(
        self, tenant: str, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[Sequence[Dataset], str | None]:
        """A page of the tenant's datasets, newest first, and the cursor of the next page. Raises InvalidCursor."""
        ...

    def files(self, tenant: str, dataset_id: str) -> AbstractContextManager[Path]:
        """A local folder with the three files, valid inside the `with`.

        Raises KeyError where there is no such dataset, also where it is deleted while its files are being opened.
        """
        ...

    def delete(self, tenant: str, dataset_id: str) -> bool: ...

    def bytes_stored(self, tenant: str) -> int:
        """What the tenant's datasets take."""
        ...


class ResultStore(Protocol):
    """Result documents: immutable bytes under a name that no other attempt uses. And, until a job ends, parts of what it is made
    of, likewise.
    """

    def put(self, tenant: str, job_id: str, attempt: int, body: bytes) -> str:
        """Write durably, return the blob's name."""
        ...

    def get(self, tenant: str, name: str) -> bytes | None: ...

    def delete(self, tenant: str, name: str) -> None:
        """Delete the blob if there is one."""
        ...

    def put_part(self, tenant: str, job_id: str, name: str, body: bytes) -> None:
        """Write a part durably."""
        ...

    def get_part(self, tenant: str, job_id: str, name: str) -> bytes | None: ...

    def delete_part(self, tenant: str, job_id: str, name: str) -> None:
        """Delete the part if there is one."""
        ...

    def delete_parts(self, tenant: str, job_id: str) -> None:
        """Delete all parts of a job."""
        ...


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything that outlives a process."""

    jobs: JobStore
    datasets: DatasetStore
    results: ResultStore
