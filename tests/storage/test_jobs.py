"""Laws of the job record."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar, cast, get_args

import pytest
from redis import Redis

from contract.generator import AnalysisParameters, ModelTerms, PassageRequest
from contract.jobs import GeneratorJob, IdentificationJob
from contract.messages import QUEUES, Message, broker_queue
from contract.problems import problem
from contract.records import Progress, State
from storage.listing import JobFilter
from storage.names import new_job_id, result_name
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from storage.redis.queue import CeleryQueue
from storage.stores import (
    Forgotten,
    IdempotencyMismatch,
    InvalidCursor,
    Job,
    QueueFull,
    TooManyJobs,
)

T = TypeVar("T")
OpenJobs = Callable[..., JobStore]

TENANT = "lab"
LEASE = 30.0
BRIEF = 0.05
"""A lease or a grace that a test waits out [s]."""


def a_job(**fields: object) -> Job:
    return IdentificationJob.model_validate(
        {"kind": "identification", "dataset": "ds_abc", **fields}
    )


def submitted(jobs: JobStore, **fields: object) -> str:
    return jobs.submit(TENANT, a_job(**fields)).record.id


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Answers of calls that start together, each on its own thread."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_a_submitted_job_is_queued_and_keeps_its_request(jobs: JobStore) -> None:
    job = a_job(
        preset="paper", labels={"trap": "17"}, analysis={"passages": [{"from": -1, "to": 1}]}
    )
    submission = jobs.submit(TENANT, job)
    record = jobs.get(TENANT, submission.record.id)
    assert submission.created
    assert record == submission.record
    assert record is not None
    assert (record.state, record.attempt, record.kind, record.dataset) == (
        "queued",
        0,
        "identification",
        "ds_abc",
    )
    assert record.request == job
    assert record.labels == {"trap": "17"}
    assert abs(record.created_at.timestamp() - time.time()) < 5


def test_a_generator_job_keeps_its_request(jobs: JobStore) -> None:
    job = GeneratorJob(
        kind="generator",
        model=ModelTerms(
            drift={"x": {"x": -1.0}}, diffusion={"x,x": {"1": 0.25}}, domain={"x": (None, 2.0)}
        ),
        analysis=AnalysisParameters(passages=(PassageRequest(from_=-1, to=1),)),
    )
    record = jobs.submit(TENANT, job).record
    assert record.request == job
    assert record.dataset is None


def test_another_tenant_sees_nothing_of_a_job(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    claim = jobs.claim(job_id, "worker", LEASE)
    assert claim is not None
    assert jobs.cancel("stranger", job_id) is None
    assert jobs.succeed(job_id, 1, result_name(job_id, 1))
    assert jobs.get("stranger", job_id) is None
    assert jobs.result_name("stranger", job_id) is None
    assert jobs.list("stranger") == ([], None)
    assert jobs.result_name(TENANT, job_id) == result_name(job_id, 1)


@pytest.mark.parametrize(
    "odd",
    ["", "job_", "jobs:due", "job_" + "0" * 27, "../etc/passwd", "job_\udc80" + "0" * 25, "job_*"],
)
def test_an_odd_id_is_an_unknown_job(jobs: JobStore, odd: str) -> None:
    assert jobs.get(TENANT, odd) is None
    assert jobs.cancel(TENANT, odd) is None
    assert jobs.claim(odd, "worker", LEASE) is None


def test_an_unknown_job_can_be_neither_claimed_nor_committed(jobs: JobStore) -> None:
    job_id = new_job_id()
    assert jobs.get(TENANT, job_id) is None
    assert jobs.claim(job_id, "worker", LEASE) is None
    assert not jobs.renew(job_id, "worker", LEASE)
    assert not jobs.report(job_id, 1, Progress())
    assert not jobs.succeed(job_id, 1, result_name(job_id, 1))


def test_a_claim_runs_the_job_and_is_refused_while_the_lease_holds(jobs: JobStore) -> None:
    job = a_job(preset="paper")
    job_id = jobs.submit(TENANT, job).record.id
    claim = jobs.claim(job_id, "first", LEASE)
    assert claim is not None
    assert (claim.job_id, claim.tenant, claim.attempt, claim.job) == (job_id, TENANT, 1, job)
    assert jobs.claim(job_id, "second", LEASE) is None
    # The message that killed its process comes back to the same owner, and must wait for the lease
    # like anyone.
    assert jobs.claim(job_id, "first", LEASE) is None
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert (record.state, record.attempt) == ("running", 1)
    assert record.started_at is not None


def test_of_claims_that_race_exactly_one_wins(jobs: JobStore) -> None:
    for _ in range(20):
        claim = partial(jobs.claim, submitted(jobs), lease_seconds=LEASE)
        claims = at_once([partial(claim, f"worker{number}") for number in range(8)])
        assert sum(claim is not None for claim in claims) == 1


def test_an_expired_lease_can_be_claimed_and_fences_the_first_attempt(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    assert jobs.claim(job_id, "slow", BRIEF)
    time.sleep(2 * BRIEF)
    second = jobs.claim(job_id, "quick", LEASE)
    assert second is not None
    assert second.attempt == 2
    assert not jobs.renew(job_id, "slow", LEASE)
    assert not jobs.report(job_id, 1, Progress(fraction=0.9))
    assert not jobs.succeed(job_id, 1, result_name(job_id, 1))
    assert not jobs.fail(job_id, 1, problem(500, "internal-error", "t", "d"))
    assert jobs.succeed(job_id, 2, result_name(job_id, 2))
    assert jobs.result_name(TENANT, job_id) == result_name(job_id, 2)


def test_a_renewed_lease_outlives_its_first_term(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    assert jobs.claim(job_id, "worker", BRIEF)
    assert jobs.renew(job_id, "worker", LEASE)
    assert not jobs.renew(job_id, "another", LEASE)
    time.sleep(2 * BRIEF)
    assert jobs.claim(job_id, "another", LEASE) is None
    assert jobs.reap() == []


def test_a_runner_that_was_given_up_and_lives_takes_its_job_back_unless_another_has_it(
    jobs: JobStore,
) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "slow", BRIEF)
    time.sleep(2 * BRIEF)
    assert len(jobs.reap()) == 1
    assert not jobs.renew(job_id, "another", LEASE)
    assert jobs.renew(job_id, "slow", BRIEF)
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert (record.state, record.attempt) == ("running", 1)
    assert jobs.tally().queued == 0
    assert jobs.claim(job_id, "another", LEASE) is None
    time.sleep(2 * BRIEF)
    assert len(jobs.reap()) == 1
    assert jobs.claim(job_id, "another", LEASE)
    assert not jobs.renew(job_id, "slow", LEASE)


def test_progress_shows_in_the_record(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    progress = Progress(fraction=0.25, stage="statistics", message="3 of 12 blocks: µ≈0")
    assert jobs.report(job_id, 1, progress)
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert record.progress == progress


def test_a_commit_that_is_repeated_is_still_mine(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    assert jobs.succeed(job_id, 1, result_name(job_id, 1))
    first = jobs.get(TENANT, job_id)
    assert jobs.succeed(job_id, 1, result_name(job_id, 1))
    assert not jobs.fail(job_id, 1, problem(500, "internal-error", "t", "d"))
    assert jobs.get(TENANT, job_id) == first
    assert first is not None
    assert (first.state, first.progress.fraction) == ("succeeded", 1.0)
    assert first.finished_at is not None


def test_of_commits_that_race_only_the_latest_attempts_lands(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "slow", BRIEF)
    time.sleep(2 * BRIEF)
    jobs.claim(job_id, "quick", LEASE)
    attempts = [1, 2] * 4
    landed = at_once(
        [
            partial(jobs.succeed, job_id, attempt, result_name(job_id, attempt))
            for attempt in attempts
        ]
    )
    assert landed == [attempt == 2 for attempt in attempts]


def test_a_failure_says_why(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    why = problem(422, "constant-data", "Constant data", "x never moves", "Record longer.")
    assert jobs.fail(job_id, 1, why)
    assert jobs.fail(job_id, 1, why)
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert (record.state, record.error) == ("failed", why)


def test_a_cancelled_job_fences_its_runner(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    record = jobs.cancel(TENANT, job_id)
    assert record is not None
    assert record.state == "cancelled"
    assert not jobs.renew(job_id, "worker", LEASE)
    assert not jobs.report(job_id, 1, Progress(fraction=0.5))
    assert not jobs.succeed(job_id, 1, result_name(job_id, 1))
    assert jobs.get(TENANT, job_id) == record
    assert jobs.result_name(TENANT, job_id) is None


def test_one_look_tells_jobs_that_ended_or_never_were_from_open_ones(jobs: JobStore) -> None:
    queued, running, done, cancelled = (submitted(jobs) for _ in range(4))
    jobs.claim(running, "worker", LEASE)
    jobs.claim(done, "worker", LEASE)
    jobs.succeed(done, 1, result_name(done, 1))
    jobs.cancel(TENANT, cancelled)
    unknown = new_job_id()
    assert jobs.ended([queued, running, done, cancelled, unknown, "no id"]) == {
        done,
        cancelled,
        unknown,
        "no id",
    }
    assert jobs.ended([]) == frozenset()
    # More than the store's language can pass on at once.
    many = [new_job_id() for _ in range(9000)]
    assert jobs.ended([queued, *many, running]) == frozenset(many)


def test_one_look_tells_the_newest_events_of_many_jobs(jobs: JobStore) -> None:
    quiet, busy, unknown = submitted(jobs), submitted(jobs), new_job_id()
    jobs.claim(busy, "worker", LEASE)
    newest = jobs.newest_events([busy, unknown, quiet])
    assert newest == {name: (jobs.events(TENANT, name) or ())[-1].id for name in (quiet, busy)}
    jobs.report(busy, 1, Progress(fraction=0.5))
    later = jobs.newest_events([quiet, busy])
    assert later[quiet] == newest[quiet]
    assert jobs.events(TENANT, busy, newest[busy]) == (jobs.events(TENANT, busy) or ())[-1:]
    assert later[busy] == (jobs.events(TENANT, busy) or ())[-1].id
    jobs.cancel(TENANT, quiet)
    jobs.forget(TENANT, quiet, 60.0)
    assert jobs.newest_events([quiet]) == jobs.newest_events([]) == {}


def test_a_job_cancelled_in_the_queue_never_starts(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    job_id = submitted(jobs)
    jobs.cancel(TENANT, job_id)
    time.sleep(2 * BRIEF)
    assert jobs.claim(job_id, "worker", LEASE) is None
    assert jobs.reap() == []


def test_cancelling_a_finished_job_changes_nothing(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    jobs.succeed(job_id, 1, result_name(job_id, 1))
    record = jobs.cancel(TENANT, job_id)
    assert record is not None
    assert record.state == "succeeded"


def test_a_lost_workers_job_is_queued_and_published_again(jobs: JobStore) -> None:
    job_id = submitted(jobs, timeout_seconds=12.5)
    jobs.claim(job_id, "lost", BRIEF)
    time.sleep(2 * BRIEF)
    (again,) = jobs.reap()
    assert (again.job_id, again.timeout_seconds) == (job_id, 12.5)
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert (record.state, record.progress.fraction) == ("queued", 0.0)
    assert jobs.reap() == [], "one publication is enough until the grace is over"
    second = jobs.claim(job_id, "another", LEASE)
    assert second is not None
    assert second.attempt == 2


def test_attempts_given_back_do_not_count_but_so_many_only(
    open_jobs: OpenJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.redis.jobs.MOST_EXCUSED", 3)
    jobs = open_jobs(attempt_cap=2, queued_grace=0.0)
    job_id = submitted(jobs)
    for attempt in range(1, 6):
        assert jobs.claim(job_id, "worker", LEASE)
        assert jobs.give_back(job_id, attempt)
        assert jobs.give_back(job_id, attempt), "it had landed"
        assert not jobs.renew(job_id, "worker", LEASE)
        record = jobs.get(TENANT, job_id)
        assert record is not None
        assert (record.state, record.attempt) == ("queued", attempt)
        assert [again.job_id for again in jobs.reap()] == [job_id]
    assert jobs.claim(job_id, "worker", LEASE) is None
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert record.error is not None
    assert record.error.code == "worker-lost"


def test_what_was_given_back_waits_longer_each_time_and_only_the_latest_attempt_can_give_back(
    open_jobs: OpenJobs,
) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    job_id = submitted(jobs)
    for attempt in (1, 2):
        jobs.claim(job_id, "worker", LEASE)
        assert not jobs.give_back(job_id, attempt - 1)
        assert jobs.give_back(job_id, attempt)
    time.sleep(1.2 * BRIEF)
    assert jobs.reap() == []
    time.sleep(1.2 * BRIEF)
    assert [again.job_id for again in jobs.reap()] == [job_id]
    jobs.cancel(TENANT, job_id)
    assert not jobs.give_back(job_id, 2)


def test_of_reapers_that_race_only_one_gets_a_job(jobs: JobStore) -> None:
    for _ in range(5):
        job_id = submitted(jobs)
        jobs.claim(job_id, "lost", BRIEF)
        time.sleep(2 * BRIEF)
        found = [again.job_id for answer in at_once([jobs.reap] * 6) for again in answer]
        assert found == [job_id]


def test_an_attempt_that_was_given_up_may_still_finish_while_nobody_has_claimed_the_job(
    jobs: JobStore,
) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "slow", BRIEF)
    time.sleep(2 * BRIEF)
    jobs.reap()
    assert jobs.report(job_id, 1, Progress(fraction=0.5))
    assert jobs.succeed(job_id, 1, result_name(job_id, 1))
    assert jobs.claim(job_id, "another", LEASE) is None


def test_a_job_whose_message_was_never_sent_is_published_by_the_reaper(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    asked = [time.monotonic()]
    job_id = submitted(jobs)
    waits: list[float] = []
    while len(waits) < 3:
        begun = time.monotonic()
        if jobs.reap():
            waits.append(time.monotonic() - asked[-1])
            asked.append(begun)
        time.sleep(BRIEF / 10)
    first, second, third = waits
    # From before one was asked for to after the next was there: a slow machine can but lengthen a
    # wait.
    assert first >= 0.8 * BRIEF
    assert second >= 0.8 * BRIEF
    assert third >= 2 * 0.8 * BRIEF
    assert jobs.claim(job_id, "worker", LEASE)


def test_a_job_just_submitted_or_just_claimed_is_left_alone(jobs: JobStore) -> None:
    submitted(jobs)
    jobs.claim(submitted(jobs), "worker", LEASE)
    assert jobs.reap() == []


def test_a_job_that_stands_in_line_is_not_published_twice(
    open_jobs: OpenJobs, set_messages_waiting: Callable[[bool], None]
) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    job_id = submitted(jobs)
    set_messages_waiting(True)
    time.sleep(2 * BRIEF)
    assert jobs.reap() == []
    set_messages_waiting(False)
    time.sleep(2 * BRIEF)
    assert [again.job_id for again in jobs.reap()] == [job_id]


def test_a_job_that_the_line_has_passed_has_lost_its_message(restricted_url: str) -> None:
    """It cost ten minutes while there was a line: 12 of 240 jobs began after 613 s or more."""
    jobs, queue = JobStore(connect(restricted_url), queued_grace=BRIEF), CeleryQueue(restricted_url)
    lost, gone, next_one, last = (
        _submitted_after(2 * BRIEF, jobs, tenant) for tenant in ("a", "b", "c", "d")
    )
    for job_id in (gone, next_one, last):
        queue.publish(Message(job_id, 60.0))
    with Redis.from_url(restricted_url) as broker:
        assert [again.job_id for again in jobs.reap()] == [lost], "all others stand in line"
        time.sleep(2 * BRIEF)
        broker.rpop(broker_queue("small"))
    assert [again.job_id for again in jobs.reap()] == [gone]
    assert jobs.reap() == [], "both stand in line anew"


def _submitted_after(seconds: float, jobs: JobStore, tenant: str) -> str:
    time.sleep(seconds)
    return jobs.submit(tenant, a_job()).record.id


def test_tenants_take_turns_in_the_line(jobs: JobStore) -> None:
    """Behind 5 000 trivial jobs of one tenant, another's waited 548 s."""
    line: list[Message] = []
    first, second = (
        [_in_line(jobs, line, tenant) for _ in range(4)] for tenant in ("many", "others")
    )
    begun = []
    while line:
        claim = jobs.claim(line.pop(0).job_id, "worker", LEASE)
        assert claim is not None
        begun.append(claim.job_id)
        line += claim.messages
    a, b = iter(first), iter(second)
    assert begun == [next(of) for of in (a, a, b, b, a, a, b, b)]


def _in_line(jobs: JobStore, line: list[Message], tenant: str) -> str:
    submission = jobs.submit(tenant, a_job(timeout_seconds=7), queue="large")
    line += submission.messages
    assert all((message.timeout_seconds, message.queue) == (7, "large") for message in line)
    return submission.record.id


def test_a_turn_that_nobody_took_goes_to_the_tenants_next_job(
    open_jobs: OpenJobs, set_messages_waiting: Callable[[bool], None]
) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    first, second, third, fourth = (submitted(jobs) for _ in range(4))
    set_messages_waiting(True)
    time.sleep(2 * BRIEF)
    assert jobs.reap() == [], "the third and the fourth wait for their turn"
    jobs.cancel(TENANT, first)
    time.sleep(2 * BRIEF)
    assert [again.job_id for again in jobs.reap()] == [third]
    jobs.cancel(TENANT, fourth)
    jobs.claim(second, "worker", LEASE)
    set_messages_waiting(False)
    time.sleep(2 * BRIEF)
    assert [again.job_id for again in jobs.reap()] == [third], "a message of its own was lost"


def test_a_job_that_is_given_back_keeps_nobody_from_a_turn(jobs: JobStore) -> None:
    for _ in range(2):
        jobs.claim(submitted(jobs), "worker", LEASE)
    for record in jobs.list(TENANT)[0]:
        assert jobs.give_back(record.id, 1)
    assert len(jobs.submit(TENANT, a_job()).messages) == 1


def test_who_asks_again_for_a_job_that_waits_has_it_published_once_more(jobs: JobStore) -> None:
    """The service was killed between record and message; the reaper came after ten minutes."""

    def ask() -> Sequence[str]:
        submission = jobs.submit(TENANT, a_job(), idempotency_key="key")
        return [message.job_id for message in submission.messages]

    published = ask()
    assert len(published) == 1
    assert ask() == published
    assert ask() == [], "once: more would fill the line"
    jobs.claim(published[0], "worker", LEASE)
    assert ask() == []
    submitted(jobs)
    submitted(jobs)
    in_line = jobs.submit(TENANT, a_job(), idempotency_key="other")
    again = jobs.submit(TENANT, a_job(), idempotency_key="other")
    assert in_line.messages == again.messages == (), "it waits for its turn"


def test_a_job_that_loses_every_worker_fails_as_worker_lost(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(attempt_cap=2)
    job_id = submitted(jobs)
    for attempt in (1, 2):
        claim = jobs.claim(job_id, "doomed", BRIEF)
        assert claim is not None
        assert claim.attempt == attempt
        time.sleep(2 * BRIEF)
        assert len(jobs.reap()) == 1
    assert jobs.claim(job_id, "doomed", BRIEF) is None
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert record.state == "failed"
    assert record.error is not None
    assert record.error.code == "worker-lost"
    assert not jobs.succeed(job_id, 2, result_name(job_id, 2))
    assert not jobs.fail(job_id, 2, problem(500, "internal-error", "t", "d"))


def test_a_job_killed_past_its_time_limit_is_not_run_again(jobs: JobStore) -> None:
    job_id = submitted(jobs, timeout_seconds=1)
    jobs.claim(job_id, "worker", LEASE)
    time.sleep(1 + BRIEF)
    assert jobs.renew(job_id, "worker", BRIEF)
    time.sleep(2 * BRIEF)
    assert jobs.reap() == []
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert record.state == "failed"
    assert record.error is not None
    assert record.error.code == "timed-out"


def test_an_idempotency_key_gives_the_same_job_again(jobs: JobStore) -> None:
    first = jobs.submit(TENANT, a_job(), idempotency_key="k ey\udc80", fingerprint="f")
    again = jobs.submit(TENANT, a_job(), idempotency_key="k ey\udc80", fingerprint="f")
    assert first.created
    assert not again.created
    assert again.record == first.record
    with pytest.raises(IdempotencyMismatch):
        jobs.submit(TENANT, a_job(), idempotency_key="k ey\udc80", fingerprint="other")
    assert jobs.submit(
        "stranger", a_job(), idempotency_key="k ey\udc80", fingerprint="other"
    ).created
    assert jobs.submit(TENANT, a_job(), idempotency_key="other", fingerprint="f").created


def test_of_submissions_that_race_on_one_key_one_is_new(jobs: JobStore) -> None:
    submissions = at_once(
        [partial(jobs.submit, TENANT, a_job(), idempotency_key="key", fingerprint="f")] * 8
    )
    assert sum(submission.created for submission in submissions) == 1
    assert len({submission.record.id for submission in submissions}) == 1
    assert len(jobs.list(TENANT)[0]) == 1


def test_pages_go_from_the_newest_to_the_oldest_without_gaps(jobs: JobStore) -> None:
    ids = [submitted(jobs) for _ in range(7)]
    seen, cursor = list[str](), None
    for size in (3, 3, 1):
        records, cursor = jobs.list(TENANT, limit=3, cursor=cursor)
        assert len(records) == size
        seen += [record.id for record in records]
        submitted(jobs)  # newcomers do not disturb the pages behind them
    assert cursor is None
    assert seen == ids[::-1]


def whole_list(jobs: JobStore, limit: int = 2, **wanted: object) -> list[str]:
    """Ids of all pages of those jobs."""
    found, cursor = list[str](), None
    while True:
        records, cursor = jobs.list(TENANT, JobFilter(**wanted), limit=limit, cursor=cursor)  # type: ignore[arg-type]
        assert len(records) <= limit
        found += [record.id for record in records]
        if cursor is None:
            return found


def test_jobs_are_listed_by_what_they_have_in_common(jobs: JobStore) -> None:
    generator = GeneratorJob(
        kind="generator", model=ModelTerms(drift={"x": {"x": -1.0}}, diffusion={"x,x": {"1": 1.0}})
    )
    ids = [submitted(jobs, labels={"trap": str(number % 3), "a b": "µ:*"}) for number in range(9)]
    other = submitted(jobs, dataset="ds_other")
    analysis = jobs.submit(TENANT, generator).record.id
    jobs.submit("stranger", a_job(labels={"trap": "0"}))
    newest = ids[::-1]
    for limit in (1, 2, 5):
        assert whole_list(jobs, limit) == [analysis, other, *newest]
        assert whole_list(jobs, limit, kind="generator") == [analysis]
        assert whole_list(jobs, limit, dataset="ds_abc") == newest
        assert whole_list(jobs, limit, labels={"trap": "0"}) == newest[2::3]
        assert (
            whole_list(
                jobs,
                limit,
                labels={"trap": "0", "a b": "µ:*"},
                kind="identification",
                state="queued",
            )
            == newest[2::3]
        )
        for nothing in (
            {"dataset": "a:b c"},
            {"labels": {"trap": "3"}},
            {"labels": {"trap": "0"}, "kind": "generator"},
        ):
            assert whole_list(jobs, limit, **nothing) == []


def test_a_job_is_listed_in_the_state_it_is_in(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    job_id = submitted(jobs)

    def states() -> list[str]:
        return [state for state in get_args(State) if whole_list(jobs, state=state)]

    assert states() == ["queued"]
    jobs.claim(job_id, "lost", BRIEF)
    assert states() == ["running"]
    time.sleep(2 * BRIEF)
    jobs.reap()
    assert states() == ["queued"]
    jobs.claim(job_id, "worker", LEASE)
    jobs.succeed(job_id, 2, result_name(job_id, 2))
    assert states() == ["succeeded"]
    jobs.forget(TENANT, job_id, LEASE)
    assert states() == []
    assert whole_list(jobs, kind="identification") == whole_list(jobs, dataset="ds_abc") == []


def test_a_page_looks_at_so_many_jobs_and_no_more(
    jobs: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.redis.jobs.MOST_LOOKED_AT", 3)
    odd, even = ([submitted(jobs, labels={"n": n}) for _ in range(8)] for n in ("1", "0"))
    ended_too = [jobs.cancel(TENANT, job_id) and job_id for job_id in odd]
    assert whole_list(jobs, 2, labels={"n": "1"}, state="cancelled") == ended_too[::-1]
    assert whole_list(jobs, 2, labels={"n": "1"}, state="queued") == []
    assert whole_list(jobs, 2, labels={"n": "0"}, state="queued") == even[::-1]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1e3", "٣", "1 2", "9" * 400])
def test_a_cursor_that_no_page_gave_is_refused(jobs: JobStore, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        jobs.list(TENANT, cursor=cursor)


def test_a_tenant_that_could_be_a_path_or_another_key_is_refused(jobs: JobStore) -> None:
    for tenant in ("", "..", "a/b", "a:b", "A", "a\n", "x" * 64):
        with pytest.raises(ValueError, match="tenant"):
            jobs.submit(tenant, a_job())


def test_workers_are_alive_while_their_beat_is_fresh(jobs: JobStore) -> None:
    assert jobs.workers_alive(10) == 0
    jobs.beat("one")
    jobs.beat("two")
    jobs.beat("one")
    assert jobs.workers_alive(10) == 2
    jobs.farewell("one")
    jobs.farewell("nobody")
    assert jobs.workers_alive(10) == 1
    jobs.beat("one")
    assert jobs.workers_alive(10) == 2
    time.sleep(1.0)
    jobs.beat("two")
    assert jobs.workers_alive(0.9) == 1


def test_the_workers_of_a_queue_are_those_that_serve_it(jobs: JobStore) -> None:
    jobs.beat("both")
    jobs.beat("short", ["small"])
    assert [jobs.workers_of(queue, 10) for queue in QUEUES] == [2, 1]
    jobs.farewell("both")
    assert [jobs.workers_of(queue, 10) for queue in QUEUES] == [1, 0]


def test_the_workers_of_one_host_are_told_apart(jobs: JobStore) -> None:
    for name in ("itoscope-1@one", "itoscope-2@one", "itoscope-1@someone"):
        jobs.beat(name)
    assert [jobs.workers_alive(10, host) for host in ("one", "someone", "no-one", "ONE")] == [
        2,
        1,
        0,
        0,
    ]


def test_every_change_of_a_job_is_told_in_order(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    jobs.report(job_id, 1, Progress(fraction=0.5, stage="fitting", message="µ≈0"))
    jobs.succeed(job_id, 1, result_name(job_id, 1))
    jobs.succeed(job_id, 1, result_name(job_id, 1))  # a repetition changes nothing
    events = jobs.events(TENANT, job_id)
    assert events is not None
    assert [(event.state, event.attempt) for event in events] == [
        ("queued", 0),
        ("running", 1),
        ("running", 1),
        ("succeeded", 1),
    ]
    assert events[2].progress == Progress(fraction=0.5, stage="fitting", message="µ≈0")
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert len({event.id for event in events}) == 4


def test_events_go_on_after_the_last_one_that_was_seen(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    (first,) = jobs.events(TENANT, job_id) or ()
    assert jobs.events(TENANT, job_id, first.id) == []
    jobs.cancel(TENANT, job_id)
    assert [event.state for event in jobs.events(TENANT, job_id, first.id) or ()] == ["cancelled"]


def test_a_lost_worker_is_told_of(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "lost", BRIEF)
    time.sleep(2 * BRIEF)
    jobs.reap()
    assert [event.state for event in jobs.events(TENANT, job_id) or ()] == [
        "queued",
        "running",
        "queued",
    ]


def test_of_a_jobs_events_the_last_outlives_the_hour(jobs: JobStore, job_client: Redis) -> None:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    jobs.fail(job_id, 1, problem(500, "internal-error", "Internal error", "An error."))
    told = jobs.events(TENANT, job_id)
    assert told is not None
    key = f"job:{job_id}:events"
    assert 3_500 < cast("float", job_client.ttl(key)) <= 3_600
    job_client.delete(key)
    assert jobs.events(TENANT, job_id) == told[-1:]
    assert jobs.events(TENANT, job_id, told[0].id) == told[-1:]
    assert jobs.events(TENANT, job_id, told[-1].id) == []
    assert jobs.events("stranger", job_id) is None


def test_a_record_is_read_without_checking_its_job_again(
    jobs: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of 40 jobs of 241 kB took 25 s of CPU."""
    drift = {"x": {"x": -1.0, "sin(x)": 1.0}}
    model = ModelTerms(drift=drift, diffusion={"x,x": {"1": 1.0}})
    job = GeneratorJob(kind="generator", model=model)
    job_id = jobs.submit(TENANT, job).record.id

    def parse(text: str) -> None:
        pytest.fail(f"{text} was parsed")

    monkeypatch.setattr("contract.base.parse", parse)
    monkeypatch.setattr("contract.generator.parse", parse)
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert record.request == job
    assert record.linked.model_dump_json()


def test_events_are_the_tenants_own(jobs: JobStore) -> None:
    assert jobs.events("stranger", submitted(jobs)) is None
    assert jobs.events(TENANT, new_job_id()) is None


@pytest.mark.parametrize("odd", ["", "-", "+", "1", "1-1\n", "(1-1", "x-1", "9" * 40 + "-1"])
def test_an_event_id_that_no_event_has_is_refused(jobs: JobStore, odd: str) -> None:
    with pytest.raises(ValueError, match="event"):
        jobs.events(TENANT, submitted(jobs), odd)


def ended(jobs: JobStore) -> str:
    job_id = submitted(jobs)
    jobs.claim(job_id, "worker", LEASE)
    jobs.succeed(job_id, 1, result_name(job_id, 1))
    return job_id


def test_a_job_is_outdated_once_its_end_is_long_ago(jobs: JobStore) -> None:
    submitted(jobs)
    job_id = ended(jobs)
    assert jobs.outdated(10, "result") == []
    assert jobs.outdated(float("inf"), "result") == []
    time.sleep(2 * BRIEF)
    assert [(old.tenant, old.job_id, old.attempts) for old in jobs.outdated(BRIEF, "result")] == [
        (TENANT, job_id, 1)
    ]
    assert jobs.outdated(BRIEF, "record") == [], "first its result goes"


def test_the_record_outlives_the_result(jobs: JobStore) -> None:
    job_id = ended(jobs)
    for _ in range(2):  # repetition is harmless
        jobs.drop_result(job_id)
    assert jobs.outdated(0, "result") == []
    assert jobs.result_name(TENANT, job_id) is None
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert record.state == "succeeded"
    assert [old.job_id for old in jobs.outdated(0, "record")] == [job_id]


def test_a_forgotten_job_is_known_to_have_been_there_for_a_while(jobs: JobStore) -> None:
    kept, job_id = ended(jobs), ended(jobs)
    assert not jobs.forget("stranger", job_id, LEASE)
    for _ in range(2):  # repetition is harmless
        assert jobs.forget(TENANT, job_id, 0.3)
    questions: list[Callable[[], object]] = [
        lambda: jobs.get(TENANT, job_id),
        lambda: jobs.cancel(TENANT, job_id),
        lambda: jobs.result_name(TENANT, job_id),
        lambda: jobs.events(TENANT, job_id),
    ]
    for ask in questions:
        with pytest.raises(Forgotten):
            ask()
    assert jobs.get("stranger", job_id) is None
    assert [record.id for record in jobs.list(TENANT)[0]] == [kept]
    assert jobs.claim(job_id, "worker", LEASE) is None
    assert not jobs.succeed(job_id, 1, result_name(job_id, 1))
    assert [old.job_id for old in jobs.outdated(0, "result")] == [kept]
    time.sleep(0.4)
    assert jobs.get(TENANT, job_id) is None


def test_an_open_job_is_not_forgotten(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    assert not jobs.forget(TENANT, job_id, LEASE)
    jobs.claim(job_id, "worker", LEASE)
    assert not jobs.forget(TENANT, job_id, LEASE)
    assert jobs.claim(job_id, "another", LEASE) is None
    assert jobs.succeed(job_id, 1, result_name(job_id, 1))


def test_the_idempotency_key_of_a_forgotten_job_may_be_used_again(jobs: JobStore) -> None:
    first = jobs.submit(TENANT, a_job(), idempotency_key="key", fingerprint="f")
    jobs.cancel(TENANT, first.record.id)
    jobs.forget(TENANT, first.record.id, LEASE)
    second = jobs.submit(TENANT, a_job(), idempotency_key="key", fingerprint="f")
    assert second.created
    assert second.record.id != first.record.id


def test_no_more_jobs_are_taken_than_may_wait_or_run(jobs: JobStore) -> None:
    first = jobs.submit(TENANT, a_job(), idempotency_key="key", most_open=2).record.id
    submitted(jobs)
    with pytest.raises(QueueFull):
        jobs.submit("stranger", a_job(), most_open=2)
    assert jobs.open_jobs() == 2
    assert not jobs.submit(TENANT, a_job(), idempotency_key="key", most_open=2).created, (
        "what was taken is taken"
    )
    jobs.cancel(TENANT, first)
    assert jobs.submit("stranger", a_job(), most_open=2).created


def test_the_last_places_are_not_for_those_who_have_taken_the_others(jobs: JobStore) -> None:
    """Two tenants at their limits locked out all others."""
    many = partial(jobs.submit, "many", a_job(), most_open=100)
    for _ in range(100):
        many()
    with pytest.raises(QueueFull):
        many()
    jobs.submit("other", a_job(), most_open=100)
    with pytest.raises(QueueFull):
        jobs.submit("other", a_job(), most_open=100)


def test_a_tenant_has_a_share_of_its_own(jobs: JobStore) -> None:
    job_id = submitted(jobs)
    with pytest.raises(TooManyJobs):
        jobs.submit(TENANT, a_job(), idempotency_key="key", most_open_of_tenant=1)
    assert jobs.submit("stranger", a_job(), most_open_of_tenant=1).created
    jobs.claim(job_id, "worker", LEASE)
    assert jobs.open_jobs(TENANT) == 1, "a running job counts"
    jobs.succeed(job_id, 1, result_name(job_id, 1))
    assert jobs.open_jobs(TENANT) == 0
    assert jobs.submit(TENANT, a_job(), idempotency_key="key", most_open_of_tenant=1).created, (
        "a refusal is not remembered"
    )


def test_of_submissions_that_race_for_the_last_place_one_is_taken(jobs: JobStore) -> None:
    def submit() -> bool:
        try:
            return jobs.submit(TENANT, a_job(), most_open_of_tenant=1).created
        except TooManyJobs:
            return False

    assert sum(at_once([submit] * 8)) == 1


def test_the_share_of_memory_in_use_is_known(jobs: JobStore) -> None:
    assert 0 <= jobs.memory_used() < 1


def test_the_operator_sees_what_waits_what_runs_and_what_happened(open_jobs: OpenJobs) -> None:
    jobs = open_jobs()
    assert (jobs.tally().queued, jobs.tally().running, jobs.tally().oldest_queued_seconds) == (
        0,
        0,
        0,
    )
    waiting, lost, done = (submitted(jobs) for _ in range(3))
    jobs.claim(lost, "lost", BRIEF)
    jobs.claim(done, "worker", LEASE)
    jobs.report(done, 1, Progress(stage="fitting"))
    time.sleep(2 * BRIEF)
    tally = jobs.tally()
    assert (tally.queued, tally.running) == (1, 2)
    assert 2 * BRIEF <= tally.oldest_queued_seconds < 5
    jobs.reap()
    jobs.succeed(done, 1, result_name(done, 1))
    jobs.cancel(TENANT, waiting)
    tally = jobs.tally()
    assert (tally.queued, tally.running) == (1, 0)
    assert tally.happened == {
        "submitted": 3, "started": 2, "lease_lost": 1,
        "republished": 1, "succeeded": 1, "cancelled": 1,
    }  # fmt: skip
    assert {stage: number for stage, (number, _) in tally.stages.items()} == {
        "queued": 3,
        "starting": 2,
        "fitting": 1,
    }
    assert 2 * BRIEF <= tally.stages["fitting"][1] < 5


def test_a_lost_job_goes_back_to_its_own_queue(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    small, large = (
        jobs.submit(TENANT, a_job(), queue=queue).record.id for queue in ("small", "large")
    )
    time.sleep(2 * BRIEF)
    assert {(again.job_id, again.queue) for again in jobs.reap()} == {
        (small, "small"),
        (large, "large"),
    }


def test_a_lost_worker_is_noticed_behind_any_number_of_jobs_that_stand_in_line(
    open_jobs: OpenJobs, set_messages_waiting: Callable[[bool], None]
) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    for _ in range(250):
        submitted(jobs)
    lost = submitted(jobs)
    set_messages_waiting(True)
    jobs.claim(lost, "lost", 2 * BRIEF)
    time.sleep(4 * BRIEF)
    assert [again.job_id for again in jobs.reap()] == [lost]


def test_a_claim_begins_the_count_of_lost_messages_anew(open_jobs: OpenJobs) -> None:
    jobs = open_jobs(queued_grace=BRIEF)
    job_id = submitted(jobs)
    for _ in range(4):  # each publication that nobody claims doubles the wait for the next
        while not jobs.reap():
            time.sleep(BRIEF / 5)
    jobs.claim(job_id, "lost", BRIEF)
    time.sleep(2 * BRIEF)
    assert len(jobs.reap()) == 1
    time.sleep(4 * BRIEF)  # 16 of them, had the claim not counted
    assert len(jobs.reap()) == 1


def test_looking_ends_though_the_line_is_due_again_at_once(
    open_jobs: OpenJobs, set_messages_waiting: Callable[[bool], None]
) -> None:
    jobs = open_jobs(queued_grace=0.0)
    for _ in range(150):
        submitted(jobs)
    set_messages_waiting(True)
    assert jobs.reap() == []


def test_a_clock_that_was_set_back_delays_no_lost_job(
    open_jobs: OpenJobs, job_client: Redis
) -> None:
    """Set back by ten minutes, the store kept the job of a killed worker for so long."""
    jobs, by = open_jobs(queued_grace=BRIEF), 600.0
    running = submitted(jobs)
    # What the store would hold, had it been by the later clock.
    jobs.claim(running, "lost", by + BRIEF)
    jobs.beat("lost")
    job_client.zincrby("jobs:workers", by, "lost")
    time.sleep(3 * BRIEF)
    job_client.set("jobs:clock", time.time() + by)
    assert [again.job_id for again in jobs.reap()] == [running]
    assert jobs.claim(running, "another", LEASE)
    jobs.beat("another")
    assert jobs.workers_alive(30) == 1


def test_a_clock_that_is_right_moves_nothing(open_jobs: OpenJobs, job_client: Redis) -> None:
    jobs = open_jobs()
    job_id = submitted(jobs)
    jobs.reap()
    due = job_client.zscore("jobs:due", job_id)
    job_client.set("jobs:clock", time.time() + 2)  # less than the grace: nothing to speak of
    jobs.reap()
    assert job_client.zscore("jobs:due", job_id) == due
