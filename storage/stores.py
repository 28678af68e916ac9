"""Values and errors of the stores, and the problems that they write themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contract.jobs import DataJob, Job
from contract.messages import Message, QueueName
from contract.problems import Problem, problem
from contract.records import JobRecord

if TYPE_CHECKING:
    from storage.blobs import ResultStore
    from storage.local_blobs import DatasetStore
    from storage.redis.jobs import JobStore


class StoreUnavailable(Exception):
    """The store does not answer; nothing was decided, and a later attempt may succeed."""


class StorageFull(StoreUnavailable):
    """The store has no room; nothing was decided."""


class IdempotencyMismatch(Exception):
    """An idempotency key that came with another request body before."""


class QueueFull(Exception):
    """So many jobs wait or run that no more than `allowed` are accepted for now."""

    def __init__(self, message: str, allowed: int = 0) -> None:
        super().__init__(message)
        self.allowed = allowed


class TooManyJobs(QueueFull):
    """So many of this tenant's jobs wait or run that it may send no more for now."""


class Forgotten(Exception):
    """The job existed; its record was deleted, or its time was over."""


class InvalidCursor(ValueError):
    """No earlier page gave the cursor that was used to ask for a page."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Job record, with a flag that says whether this call made it, and messages to publish."""

    record: JobRecord
    created: bool
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchedJob:
    """Job of a batch, and the record that it is about.

    record       name of the record
    trajectory   number of the trajectory in the job's dataset; None: the whole dataset
    """

    record: str
    trajectory: int | None
    job: DataJob
    queue: QueueName = "small"


@dataclass(frozen=True, slots=True)
class BatchSubmission:
    """Id of a batch, with a flag that says whether this call made it, and messages to publish."""

    batch_id: str
    created: bool
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """Right to run a job once: only a commit with this attempt number is accepted."""

    job_id: str
    tenant: str
    attempt: int
    job: Job
    messages: tuple[Message, ...] = ()
    """Messages to publish: the tenant's next jobs may enter the queue."""


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
    15.0, 60.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0,
)  # fmt: skip
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
                            (`republished`); of jobs that took too long for the queue `small`
                            (`moved`); of shards that were summed (`shard_done`), lost
                            (`shard_lost`) or asked for again (`shards_republished`)
    stages                  count and total seconds of the jobs that have left each stage
    """

    queued: int
    running: int
    oldest_queued_seconds: float
    happened: Mapping[str, int]
    stages: Mapping[str, tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything that outlives a process."""

    jobs: "JobStore"
    datasets: "DatasetStore"
    results: "ResultStore"


def worker_lost(attempts: int) -> Problem:
    """Return the problem of a job whose attempts all ended with a lost worker."""
    return problem(
        500,
        "worker-lost",
        "The worker was lost",
        f"The job was started {attempts} times, and each time its worker stopped without a result.",
        "The computation may need more memory than the worker has: "
        "try fewer samples, kernels or terms.",
        "If smaller jobs fail in the same way, the workers have a problem: contact the operator.",
    )


def timed_out(timeout_seconds: float | None = None) -> Problem:
    """Return the problem of a job that was still running when its time limit had passed."""
    limit = (
        "its time limit" if timeout_seconds is None else f"its time limit of {timeout_seconds:g} s"
    )
    return problem(
        504,
        "timed-out",
        "The job exceeded its time limit",
        f"The job was still running after {limit}.",
        "Increase `timeout_seconds`, or reduce the job: fewer samples, terms or eigenpairs.",
    )
