"""One job, from claim to commit. Plain functions; Celery is in `worker.app`."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeVar

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from contract.jobs import Progress
from contract.problems import Problem, problem
from contract.results import GeneratorResult, IdentificationResult
from storage.ends import timed_out
from storage.stores import Claim, JobStore, Stores, StoreUnavailable
from worker.problems import JobProblem

Report = Callable[[float, str, str], None]
"""Takes fraction, stage and message. Raises Fenced."""
Result = IdentificationResult | GeneratorResult
Execute = Callable[[Claim, Stores, Report], Result]
"""Computes a job's result. Raises JobProblem where the job cannot be done, and whatever its `Report` raises."""
Outcome = Literal["skipped", "succeeded", "failed", "fenced"]

CLAIM_PATIENCE_SECONDS = 10.0
"""An unclaimed job loses nothing by waiting for the reaper."""
COMMIT_PATIENCE_SECONDS = 300.0
"""A finished computation is worth waiting for the store to come back."""
REPORT_SECONDS = 0.2
"""Reports of one stage that follow faster than this are dropped: each is a write to disk in the store."""

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")


class Fenced(Exception):
    """The job was cancelled, or given to another worker: what this one computes no longer counts."""


def run_job(job_id: str, owner: str, stores: Stores, lease_seconds: float, execute: Execute) -> Outcome:
    """Claim the job, execute it, store the result, commit. Whoever renews the lease meanwhile does so in the owner's name.

    Raises StoreUnavailable where a store stays away; the lease then runs out and the reaper hands the job to another.
    """
    claim = _patiently(lambda: stores.jobs.claim(job_id, owner, lease_seconds), CLAIM_PATIENCE_SECONDS)
    if claim is None:
        return "skipped"
    with structlog.contextvars.bound_contextvars(job_id=job_id, attempt=claim.attempt):
        outcome = _run(claim, stores, execute)
        _log.info("job ended", outcome=outcome)
        return outcome


def _run(claim: Claim, stores: Stores, execute: Execute) -> Outcome:
    try:
        result = execute(claim, stores, reporter(stores.jobs, claim))
        body = result.model_dump_json(by_alias=True).encode()
        return _succeed(claim, stores, body)
    except Fenced:
        return "fenced"
    except StoreUnavailable:
        raise
    except JobProblem as error:
        return _fail(claim, stores, error.problem)
    except SoftTimeLimitExceeded:
        return _fail(claim, stores, timed_out(claim.job.timeout_seconds))
    except Exception:
        _log.exception("job failed unexpectedly")
        return _fail(claim, stores, _internal_error(claim.job_id))


def reporter(jobs: JobStore, claim: Claim) -> Report:
    """Writes progress into the job's record."""
    last_stage, last_time = "", 0.0

    def report(fraction: float, stage: str, message: str) -> None:
        nonlocal last_stage, last_time
        now = time.monotonic()
        if stage == last_stage and now - last_time < REPORT_SECONDS:
            return
        last_stage, last_time = stage, now
        try:
            counts = jobs.report(
                claim.job_id, claim.attempt, Progress(fraction=min(max(fraction, 0.0), 1.0), stage=stage, message=message)
            )
        except StoreUnavailable:
            return  # Progress is a courtesy; only the commit must wait for the store.
        if not counts:
            raise Fenced

    return report


def _succeed(claim: Claim, stores: Stores, body: bytes) -> Outcome:
    """Blob first, then the record: a committed result is always there to be read."""
    name = _patiently(lambda: stores.results.put(claim.tenant, claim.job_id, claim.attempt, body))
    if _patiently(lambda: stores.jobs.succeed(claim.job_id, claim.attempt, name)):
        return "succeeded"
    with suppress(StoreUnavailable):  # it goes with the job's own result one day
        stores.results.delete(claim.tenant, name)
    return "fenced"


def _fail(claim: Claim, stores: Stores, why: Problem) -> Outcome:
    landed = _patiently(lambda: stores.jobs.fail(claim.job_id, claim.attempt, why))
    return "failed" if landed else "fenced"


def _patiently(call: Callable[[], _T], patience: float = COMMIT_PATIENCE_SECONDS) -> _T:
    """The call's answer, tried again while the store is away. Raises StoreUnavailable when patience ends."""
    end, wait = time.monotonic() + patience, 0.05
    while True:
        try:
            return call()
        except StoreUnavailable as error:
            if time.monotonic() + wait > end:
                raise
            _log.warning("store unavailable", reason=str(error))
        time.sleep(wait)
        wait = min(2 * wait, 2.0)


def _internal_error(job_id: str) -> Problem:
    return problem(
        500,
        "internal-error",
        "The computation failed by a fault of ours",
        "The computation stopped at a point that should not be reached. The cause is in the worker's log.",
        hints=(f"Report this with the job's id, {job_id}.",),
    )
