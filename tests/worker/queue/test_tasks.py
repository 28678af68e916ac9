"""Laws of one job from claim to commit, with a stub for the computation."""

import errno
import json
import resource
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
import structlog
from celery.exceptions import SoftTimeLimitExceeded
from redis import Redis

from contract.generator import ModelTerms
from contract.jobs import GeneratorJob
from contract.problems import Problem, problem
from contract.records import JobRecord
from contract.results import (
    Component,
    GeneratorAnalysis,
    GeneratorResult,
    Model,
    Provenance,
    Result,
)
from storage.redis.jobs import ATTEMPT_CAP, JobStore
from storage.stores import Claim, Stores, StoreUnavailable
from worker.fan_out.shards import Share, Sum
from worker.jobs.problems import JobProblem
from worker.progress import Report
from worker.queue.tasks import Computation, Execute, memory_limited, run_job
from worker.retry import LeaseLost

TENANT = "lab"
LEASE = 30.0


def a_result(job_id: str) -> GeneratorResult:
    return GeneratorResult(
        job=job_id,
        model=Model(
            drift={"x": Component(expression="-x", terms=())},
            diffusion={"x,x": Component(expression="1", terms=())},
        ),
        generator=GeneratorAnalysis(ergodic=True),
        provenance=Provenance(version="0", parameters={}, seconds=0.0),
    )


def succeeds(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
    return a_result(claim.job_id)


def raises(error: Exception) -> Execute:
    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        raise error

    return execute


def nobody(claim: Claim, stores: Stores, work: bytes, shards: int) -> AbstractContextManager[Sum]:
    raise AssertionError("nobody asked for help")


class Bench:
    """Stores with one queued job."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        job = GeneratorJob(
            kind="generator",
            model=ModelTerms(drift={"x": {"x": -1}}, diffusion={"x,x": {"1": 1}}),
            timeout_seconds=5,
        )
        self.job_id = stores.jobs.submit(TENANT, job).record.id

    def run(self, execute: Execute, owner: str = "worker/1", quiet_seconds: float = 0.0) -> str:
        return run_job(
            self.job_id,
            owner,
            self.stores,
            LEASE,
            Computation(execute, nobody),
            lambda message: None,
            quiet_seconds,
        )

    @property
    def record(self) -> JobRecord:
        record = self.stores.jobs.get(TENANT, self.job_id)
        assert record is not None
        return record

    @property
    def error(self) -> Problem:
        assert self.record.error is not None
        return self.record.error


@pytest.fixture
def bench(stores: Stores) -> Bench:
    return Bench(stores)


def test_every_line_of_the_log_about_a_job_carries_its_id_and_attempt(bench: Bench) -> None:
    with structlog.testing.capture_logs(
        processors=[structlog.contextvars.merge_contextvars]
    ) as events:
        bench.run(raises(RuntimeError("broken")))
    assert [event["event"] for event in events] == ["job failed unexpectedly", "job ended"]
    assert {(event["job_id"], event["attempt"]) for event in events} == {(bench.job_id, 1)}


def test_a_job_that_succeeds_has_its_result_in_the_store(bench: Bench) -> None:
    assert bench.run(succeeds) == "succeeded"
    assert (bench.record.state, bench.record.progress.fraction) == ("succeeded", 1.0)
    name = bench.stores.jobs.result_name(TENANT, bench.job_id)
    assert name is not None
    body = bench.stores.results.get(TENANT, name)
    assert body is not None
    assert json.loads(body)["job"] == bench.job_id


def test_a_redelivered_message_does_not_rerun_a_finished_job(bench: Bench) -> None:
    bench.run(succeeds)
    assert bench.run(raises(AssertionError("ran again"))) == "skipped"
    assert bench.record.state == "succeeded"


def test_a_message_redelivered_during_the_run_is_skipped(bench: Bench) -> None:
    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        assert bench.run(raises(AssertionError("ran twice"))) == "skipped"
        return a_result(claim.job_id)

    assert bench.run(execute) == "succeeded"


def test_a_problem_of_the_job_is_told_as_it_is(bench: Bench) -> None:
    why = problem(422, "constant-data", "Constant data", "x never moves", "Record longer.")
    assert bench.run(raises(JobProblem(why))) == "failed"
    assert bench.error == why


def test_a_fault_of_ours_is_logged_with_its_trace_and_tells_the_user_no_internals(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.run(raises(ZeroDivisionError("secret /path"))) == "failed"
    assert (bench.error.code, bench.error.status) == ("internal-error", 500)
    assert "secret" not in bench.error.model_dump_json()
    assert bench.job_id in bench.error.hints[0]
    logged = capsys.readouterr().out
    assert "ZeroDivisionError" in logged
    assert "Traceback" in logged
    assert bench.job_id in logged


def test_a_job_out_of_time_says_its_limit(bench: Bench) -> None:
    assert bench.run(raises(SoftTimeLimitExceeded())) == "failed"
    assert bench.error.code == "timed-out"
    assert "5 s" in bench.error.detail


@pytest.mark.parametrize(("age", "code"), [(4.4, "internal-error"), (5.0, "timed-out")])
def test_an_error_that_comes_when_the_time_is_up_is_the_limits(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, age: float, code: str
) -> None:
    """Libraries turn the signal of the limit into errors of their own."""

    began, ages = time.monotonic(), [0.0]
    monkeypatch.setattr("worker.queue.tasks.time.monotonic", lambda: began + ages[0])

    def late(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        ages[0] = age
        raise SystemError("returned a result with an exception set")

    assert bench.run(late) == "failed"
    assert bench.error.code == code


@pytest.mark.parametrize(
    ("end", "spoils"),
    [
        (raises(SoftTimeLimitExceeded()), True),
        (raises(ZeroDivisionError()), True),
        (raises(MemoryError()), False),
        (raises(JobProblem(problem(422, "constant-data", "t", "d"))), False),
        (succeeds, False),
    ],
)
def test_a_process_computes_no_more_where_anything_may_have_been_interrupted(
    bench: Bench, end: Execute, spoils: bool
) -> None:
    """A limit that struck while numba compiled failed every later job of the process."""
    spoiled: list[bool] = []
    run_job(
        bench.job_id,
        "worker/1",
        bench.stores,
        LEASE,
        Computation(end, nobody),
        lambda message: None,
        spoiled=lambda: spoiled.append(True),
    )
    assert spoiled == [True] * spoils


def test_a_job_out_of_memory_says_so(bench: Bench) -> None:
    assert bench.run(raises(MemoryError())) == "failed"
    assert (bench.error.code, bench.error.status) == ("out-of-memory", 507)


def test_the_limit_of_memory_ends_with_the_computation() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory_limited(4e9):
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] == 4_000_000_000
        with pytest.raises(MemoryError):
            bytes(5_000_000_000)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with memory_limited(float("inf")):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_progress_reaches_the_record_lies_between_zero_and_one_and_never_goes_back(
    bench: Bench,
) -> None:
    seen = []

    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        for number, fraction in enumerate((-0.1, 0.5, 0.3, 1.0000001)):
            report(fraction, f"stage {number}", "µ")
            seen.append(bench.record.progress)
        return a_result(claim.job_id)

    bench.run(execute)
    assert [progress.fraction for progress in seen] == [0.0, 0.5, 0.5, 1.0]
    assert [progress.stage for progress in seen] == [f"stage {number}" for number in range(4)]


def test_reports_in_quick_succession_are_not_all_written(stores: Stores, job_client: Redis) -> None:
    written = []

    class Counting(JobStore):
        def report(self, *arguments: Any) -> bool:
            written.append(arguments)
            return super().report(*arguments)

    counted = Bench(replace(stores, jobs=Counting(job_client)))

    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        for block in range(1000):
            report(block / 1000, "statistics", "")
        return a_result(claim.job_id)

    assert counted.run(execute) == "succeeded"
    assert 1 <= len(written) < 20


def test_a_job_that_is_soon_over_says_nothing_but_its_end(bench: Bench) -> None:
    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        for stage in ("reading", "analysing"):
            report(0.5, stage, "")
        return a_result(claim.job_id)

    assert bench.run(execute, quiet_seconds=60) == "succeeded"
    events = bench.stores.jobs.events(TENANT, bench.job_id)
    assert events is not None
    assert [(event.state, event.progress.stage) for event in events] == [
        ("queued", "queued"),
        ("running", "starting"),
        ("succeeded", "succeeded"),
    ]


def test_a_job_that_is_not_over_soon_tells_its_last_stage_by_itself_and_every_stage_from_then_on(
    bench: Bench,
) -> None:
    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        for stage in ("reading", "analysing"):
            report(0.5, stage, "")
        end = time.monotonic() + 5
        while bench.record.progress.stage != "analysing":
            assert time.monotonic() < end
            time.sleep(0.01)
        report(0.9, "comparing", "")
        assert bench.record.progress.stage == "comparing"
        return a_result(claim.job_id)

    assert bench.run(execute, quiet_seconds=0.05) == "succeeded"


def test_a_job_cancelled_while_it_was_quiet_ends_at_the_first_report_after_that(
    bench: Bench,
) -> None:
    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        stores.jobs.cancel(TENANT, claim.job_id)
        report(0.1, "reading", "")
        time.sleep(0.3)
        report(0.2, "analysing", "")
        raise AssertionError("went on")

    assert bench.run(execute, quiet_seconds=0.05) == "fenced"


def test_a_cancelled_job_ends_at_its_next_report(bench: Bench) -> None:
    after_report = []

    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        stores.jobs.cancel(TENANT, claim.job_id)
        report(0.5, "next", "")
        after_report.append("went on")
        return a_result(claim.job_id)

    assert bench.run(execute) == "fenced"
    assert not after_report
    assert bench.record.state == "cancelled"


@pytest.mark.parametrize(
    "end",
    [
        succeeds,
        raises(JobProblem(problem(422, "constant-data", "t", "d"))),
        raises(SoftTimeLimitExceeded()),
    ],
)
def test_a_job_cancelled_without_a_further_report_is_fenced_at_its_commit(
    bench: Bench, end: Execute
) -> None:
    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        stores.jobs.cancel(TENANT, claim.job_id)
        return end(claim, stores, report, share)

    assert bench.run(execute) == "fenced"
    assert bench.record.state == "cancelled"
    assert bench.stores.jobs.result_name(TENANT, bench.job_id) is None


def test_fenced_is_no_problem_that_a_broad_handler_of_job_problems_would_catch() -> None:
    assert not issubclass(
        LeaseLost, JobProblem | StoreUnavailable | OSError | ValueError | ArithmeticError
    )


class Away:
    """Makes the first calls of a method fail as a store that is away."""

    def __init__(self, method: Callable[..., Any], times: int) -> None:
        self.method, self.left = method, times

    def __call__(self, *arguments: Any) -> Any:
        if self.left > 0:
            self.left -= 1
            raise StoreUnavailable("away")
        return self.method(*arguments)


@pytest.mark.parametrize("method", ["claim", "report", "succeed"])
def test_a_job_survives_a_job_store_that_is_away_for_a_moment(
    stores: Stores, job_client: Redis, method: str
) -> None:
    class Flaky(JobStore):
        pass

    jobs = Flaky(job_client)
    setattr(Flaky, method, Away(getattr(jobs, method), 3))
    bench = Bench(replace(stores, jobs=jobs))

    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        report(0.5, "stage", "")
        return a_result(claim.job_id)

    assert bench.run(execute) == "succeeded"


def test_a_job_survives_a_result_store_that_is_away_for_a_moment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.stores.results, "put", Away(bench.stores.results.put, 3))
    assert bench.run(succeeds) == "succeeded"


PASSING = [
    StoreUnavailable("away"),
    OSError(errno.ENOSPC, "full"),
    OSError(errno.EIO, "the file server is away"),
]


@pytest.mark.parametrize("trouble", PASSING)
def test_a_job_is_given_back_where_what_it_needs_is_away_however_often(
    stores: Stores, open_jobs: Callable[..., JobStore], trouble: Exception
) -> None:
    bench = Bench(replace(stores, jobs=open_jobs(queued_grace=0.0)))
    for _ in range(2 * ATTEMPT_CAP):
        assert bench.run(raises(trouble)) == "given back"
        assert bench.record.state == "queued"
        assert [again.job_id for again in bench.stores.jobs.reap()] == [bench.job_id]
    assert bench.run(succeeds) == "succeeded"


def test_a_fault_of_the_job_itself_is_no_trouble_that_passes(bench: Bench) -> None:
    assert bench.run(raises(OSError(errno.ENOENT, "no such file"))) == "failed"


def test_a_job_that_cannot_be_given_back_either_is_left_to_the_reaper(
    stores: Stores, job_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Flaky(JobStore):
        def give_back(self, job_id: str, attempt: int) -> bool:
            raise StoreUnavailable("away")

    monkeypatch.setattr("worker.queue.tasks.CLAIM_PATIENCE_SECONDS", 0.1)
    bench = Bench(replace(stores, jobs=Flaky(job_client)))
    with pytest.raises(StoreUnavailable):
        bench.run(raises(StoreUnavailable("away")))
    assert bench.record.state == "running"
