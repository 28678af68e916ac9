"""One job from claim to commit, and help with one, as plain functions; Celery is in `app.py`."""

import json
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from contract.problems import Problem, problem
from contract.records import Progress
from contract.results import Result
from storage.redis.jobs import JobStore
from storage.stores import Claim, Stores, StoreUnavailable, timed_out
from storage.telemetry import Stage, Traces
from worker.documents.values import values_of
from worker.fan_out.shards import Helper, Publish, Share, Sharing, clear_parts, help_with
from worker.jobs.problems import JobProblem
from worker.progress import Report
from worker.retry import CLAIM_PATIENCE_SECONDS, LeaseLost, is_away, retry_while_unavailable

Execute = Callable[[Claim, Stores, Report, Share], Result]
"""A function that computes a job's result.

It raises JobProblem where the job cannot be done, and what its `Report` and `Share` raise.
"""
Outcome = Literal["skipped", "succeeded", "failed", "fenced", "given back"]

REPORT_SECONDS = 0.2
"""Reports of one stage that follow faster are dropped: each is a write to the store's disk."""
STRIKE_SECONDS = 0.5
"""Time before its limit from which an unexpected error of a job counts as the limit's.

The limit is measured by the main process from when the message is taken up, the job's age by its
own process from a little later.
"""
QUIET_SECONDS = 0.2
"""Progress is not written before this; then the last report is, and every later one at once.

A job that ends sooner writes nothing but its end, which halves the store's synchronous writes.
"""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Computation:
    """The functions that compute jobs and shards of their sums, and the memory each may take."""

    execute: Execute
    help: Helper
    most_bytes: float = float("inf")


def run_job(
    job_id: str,
    owner: str,
    stores: Stores,
    lease_seconds: float,
    computation: Computation,
    publish: Publish,
    quiet_seconds: float = QUIET_SECONDS,
    tracing: Traces | None = None,
    spoiled: Callable[[], None] = lambda: None,
) -> Outcome:
    """Claim the job, execute it, store the result and commit; the main process renews the lease.

    Calls `spoiled` where what stopped the job may have left the libraries in disorder.

    Where a store stays away the job is given back, to be tried again later. Raises StoreUnavailable
    where that fails too; the lease then expires and the reaper hands the job to another worker.
    """
    began = time.monotonic()
    claim = retry_while_unavailable(
        lambda: stores.jobs.claim(job_id, owner, lease_seconds), CLAIM_PATIENCE_SECONDS
    )
    if claim is None:
        return "skipped"
    sharing = Sharing(claim, owner, stores, lease_seconds, publish)

    def run() -> Outcome:
        with suppress(StoreUnavailable):  # the reaper finds what is not published
            for message in claim.messages:
                publish(message)
        with (
            reporting(stores.jobs, claim, quiet_seconds, trace.stage) as report,
            memory_limited(computation.most_bytes),
        ):
            result = computation.execute(claim, stores, report, partial(sharing, report))
        trace.stage("committing")
        return _succeed(claim, stores, result)

    traced = (tracing or Traces("worker")).attempt(job_id, claim.attempt)
    with (
        traced as trace,
        structlog.contextvars.bound_contextvars(job_id=job_id, attempt=claim.attempt),
    ):
        give_back = partial(stores.jobs.give_back, job_id, claim.attempt)
        ending = Ending(began, computation.most_bytes, give_back, spoiled)
        outcome = _guarded(claim, stores, run, ending)
        trace.outcome(outcome)
        _log.info("job ended", outcome=outcome)
        if sharing.passes:
            clear_parts(stores, claim.tenant, job_id)
        return outcome


def help_job(
    job_id: str,
    owner: str,
    stores: Stores,
    lease_seconds: float,
    computation: Computation,
    spoiled: Callable[[], None] = lambda: None,
) -> Outcome:
    """Sum shards of the job in the owner's name until none is left. A failure fails the job.

    Calls `spoiled` as `run_job` does. Where a store stays away the shard is given back. Raises
    StoreUnavailable where that fails too.
    """
    began = time.monotonic()
    shard = retry_while_unavailable(
        lambda: stores.jobs.claim_shard(job_id, owner, lease_seconds), CLAIM_PATIENCE_SECONDS
    )
    if shard is None:
        return "skipped"

    def run() -> Outcome:
        with memory_limited(computation.most_bytes):
            help_with(shard, owner, stores, lease_seconds, computation.help)
        return "succeeded"

    with structlog.contextvars.bound_contextvars(job_id=job_id, attempt=shard.of.attempt):
        ending = Ending(began, computation.most_bytes, lambda: True, spoiled)
        outcome = _guarded(shard.of, stores, run, ending)
        _log.info("help ended", outcome=outcome)
        if outcome != "succeeded":
            clear_parts(stores, shard.of.tenant, job_id)
        return outcome


@dataclass(frozen=True, slots=True)
class Ending:
    """What the end of a computation needs to know: its limits, and whom to tell.

    began        time when it began [s, monotonic]
    most_bytes   memory that it may take
    give_back    function that gives the job back, to be tried again
    spoiled      function that is called where this process should not compute any more
    """

    began: float
    most_bytes: float
    give_back: Callable[[], bool]
    spoiled: Callable[[], None]


def _guarded(claim: Claim, stores: Stores, run: Callable[[], Outcome], ending: Ending) -> Outcome:
    try:
        return run()
    except LeaseLost:
        return "fenced"
    except JobProblem as error:
        return _fail(claim, stores, error.problem)
    except Exception as error:
        if is_away(error):
            _log.warning("given back", reason=str(error))
            given_back = retry_while_unavailable(ending.give_back, CLAIM_PATIENCE_SECONDS)
            return "given back" if given_back else "fenced"
        # The error may have come between any two steps of a library. Stopped while it compiled,
        # numba failed every later job of its process: 52 of 60, in one worker of five.
        if not isinstance(error, MemoryError):
            ending.spoiled()
        return _fail(claim, stores, _reason(error, claim, ending))


def _reason(error: Exception, claim: Claim, ending: Ending) -> Problem:
    """Return the problem of a job that an error has stopped which is not the job's own."""
    limit = claim.job.timeout_seconds
    age = time.monotonic() - ending.began
    # Libraries turn the signal of the limit into errors of their own: 6 of 150 did.
    if isinstance(error, SoftTimeLimitExceeded) or age >= limit - STRIKE_SECONDS:
        return timed_out(limit)
    if isinstance(error, MemoryError):
        _log.warning("job out of memory", most_bytes=ending.most_bytes)
        return _out_of_memory(ending.most_bytes)
    _log.error("job failed unexpectedly", exc_info=error)
    return _internal_error(claim.job_id)


@contextmanager
def reporting(jobs: JobStore, claim: Claim, quiet_seconds: float, stage: Stage) -> Iterator[Report]:
    """Write progress into the job's record, while inside, and each stage into the trace."""
    reporter = _Reporter(jobs, claim, stage)
    if quiet_seconds <= 0:
        reporter.speak()
        yield reporter
        return
    # The next report may come at any time, hence a thread. Native code can only delay it.
    timer = threading.Timer(quiet_seconds, reporter.speak)
    timer.daemon = True
    timer.start()
    try:
        yield reporter
    finally:
        timer.cancel()


class _Reporter:
    """A `Report` that keeps the last progress until it may write."""

    def __init__(self, jobs: JobStore, claim: Claim, begin: Stage) -> None:
        self._jobs, self._claim, self._begin = jobs, claim, begin
        self._lock = threading.Lock()
        self._speaks = self._fenced = False
        self._kept: Progress | None = None
        self._fraction, self._stage, self._time = 0.0, "", 0.0

    def speak(self) -> None:
        """Write the progress that was kept; from now on reports are written as they come."""
        with self._lock:
            self._speaks = True
            if self._kept is not None:
                self._write(self._kept)

    def __call__(self, fraction: float, stage: str, message: str) -> None:
        self._begin(stage)
        with self._lock:
            # Parts that each guess how much is to come must not lower the fraction.
            self._fraction = min(max(fraction, self._fraction), 1.0)
            progress = Progress(fraction=self._fraction, stage=stage, message=message)
            if not self._speaks:
                self._kept = progress
            elif not self._fenced:
                now = time.monotonic()
                if stage == self._stage and now - self._time < REPORT_SECONDS:
                    return
                self._write(progress)
                self._stage, self._time = stage, now
            if self._fenced:
                raise LeaseLost

    def _write(self, progress: Progress) -> None:
        # Progress may be lost; only the commit must wait for the store.
        with suppress(StoreUnavailable):
            self._fenced = not self._jobs.report(self._claim.job_id, self._claim.attempt, progress)


def _succeed(claim: Claim, stores: Stores, result: Result) -> Outcome:
    """Store the blob first, then the record: a committed result can always be read."""
    body = result.model_dump_json(by_alias=True).encode()
    values = json.dumps(values_of(result))
    name = retry_while_unavailable(
        lambda: stores.results.put(claim.tenant, claim.job_id, claim.attempt, body)
    )
    committed = retry_while_unavailable(
        lambda: stores.jobs.succeed(claim.job_id, claim.attempt, name, len(body), values)
    )
    if committed:
        return "succeeded"
    with suppress(StoreUnavailable):  # it is deleted with the job's own result later
        stores.results.delete(claim.tenant, name)
    return "fenced"


def _fail(claim: Claim, stores: Stores, why: Problem) -> Outcome:
    landed = retry_while_unavailable(lambda: stores.jobs.fail(claim.job_id, claim.attempt, why))
    return "failed" if landed else "fenced"


def _out_of_memory(most_bytes: float) -> Problem:
    bounded = most_bytes < float("inf")
    most = f"the {most_bytes / 1e9:.3g} GB allowed per job" if bounded else "the worker has"
    return problem(
        507,
        "out-of-memory",
        "Out of memory",
        f"The job was stopped because it needed more memory than {most}.",
        "Reduce the job: fewer kernels or terms, or a coarser analysis.",
        "The operator can raise ITOSCOPE_JOB_MEMORY_BYTES.",
    )


def _internal_error(job_id: str) -> Problem:
    return problem(
        500,
        "internal-error",
        "Internal error",
        "An unexpected error stopped the computation. The worker's log has the details.",
        f"Report the job id {job_id} to the operator.",
    )


@contextmanager
def memory_limited(most_bytes: float) -> Iterator[None]:
    """Limit this process, with its libraries, to `most_bytes` while inside; `inf`: no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if most_bytes == float("inf"):
        yield
        return
    wanted = int(most_bytes)
    resource.setrlimit(
        resource.RLIMIT_DATA,
        (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard),
    )
    try:
        yield
    finally:
        # Recording the job's end must not run out of memory too.
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
