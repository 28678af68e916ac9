"""Laws of a pass that is shared out, with sums that can be told right from wrong."""

import errno
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from redis import Redis

from contract.generator import ModelTerms
from contract.jobs import GeneratorJob
from contract.messages import HELP_JOB, Message
from contract.problems import problem
from contract.records import JobRecord
from contract.results import (
    Component,
    GeneratorAnalysis,
    GeneratorResult,
    Model,
    Provenance,
    Result,
)
from storage.blobs import Bucket
from storage.names import parts_place
from storage.redis.jobs import JobStore
from storage.stores import Claim, ShardClaim, Stores, StoreUnavailable
from worker.fan_out.shards import (
    LeaseCheck,
    Publish,
    Share,
    Sum,
)
from worker.jobs.problems import JobProblem
from worker.progress import Report
from worker.queue.tasks import (
    Computation,
    Outcome,
    help_job,
    run_job,
)

TENANT = "lab"
WORK = b"sum me"
SHARDS = 6
JOB = GeneratorJob(
    kind="generator",
    model=ModelTerms(drift={"x": {"x": -1}}, diffusion={"x,x": {"1": 1}}),
    timeout_seconds=5,
)


def part(number: int) -> bytes:
    return b"part %d" % number


def no_help(claim: Claim, stores: Stores, work: bytes, shards: int) -> AbstractContextManager[Sum]:
    raise AssertionError("a runner helps nobody")


def no_job(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
    raise AssertionError("a helper runs no job")


@dataclass
class Workplace:
    """One job, its runner, and helpers that come when asked, or do not."""

    stores: Stores
    lease: float = 30.0
    messages: list[Message] = field(default_factory=list)
    summed: list[tuple[str, int]] = field(default_factory=list)
    got: list[Sequence[bytes]] = field(default_factory=list)
    passes: int = 1

    def __post_init__(self) -> None:
        self.job_id = self.stores.jobs.submit(TENANT, JOB, queue="large").record.id

    @property
    def record(self) -> JobRecord:
        record = self.stores.jobs.get(TENANT, self.job_id)
        assert record is not None
        return record

    def sum(self, who: str, number: int, check_lease: LeaseCheck) -> bytes:
        self.summed.append((who, number))
        time.sleep(0.02)
        check_lease()
        return part(number)

    def run(
        self, sum_here: Sum | None = None, owner: str = "runner", publish: Publish | None = None
    ) -> Outcome:
        def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
            for turn in range(self.passes):
                self.got.append(
                    share(
                        WORK + b"%d" % turn,
                        SHARDS,
                        sum_here or (lambda n, w: self.sum("runner", n, w)),
                    )
                )
            model = Model(
                drift={"x": Component(expression="-x", terms=())},
                diffusion={"x,x": Component(expression="1", terms=())},
            )
            told = Provenance(version="0", parameters={}, seconds=0.0)
            return GeneratorResult(
                job=claim.job_id,
                model=model,
                generator=GeneratorAnalysis(ergodic=True),
                provenance=told,
            )

        return run_job(
            self.job_id,
            owner,
            self.stores,
            self.lease,
            Computation(execute, no_help),
            publish or self.messages.append,
            quiet_seconds=0,
        )

    def help(self, sum_there: Sum | None = None, owner: str = "helper") -> Outcome:
        @contextmanager
        def helper(claim: Claim, stores: Stores, work: bytes, shards: int) -> Iterator[Sum]:
            assert (work[: len(WORK)], shards) == (WORK, SHARDS)
            yield sum_there or (lambda n, w: self.sum(owner, n, w))

        return help_job(self.job_id, owner, self.stores, self.lease, Computation(no_job, helper))

    def in_background(self) -> "threading.Thread":
        thread = threading.Thread(target=self.run)
        thread.start()
        end = time.monotonic() + 5
        while not self.messages and time.monotonic() < end:
            time.sleep(0.005)
        return thread

    @property
    def parts_kept(self) -> int:
        bucket = self.stores.results._blobs
        assert isinstance(bucket, Bucket)
        return len(bucket.list(f"{parts_place(TENANT, self.job_id)}/"))


@pytest.fixture
def workplace(stores: Stores) -> Callable[..., Workplace]:
    return partial(Workplace, stores)


WHOLE = [part(number) for number in range(SHARDS)]


def test_a_runner_that_nobody_helps_sums_all_and_asks_for_help_on_the_jobs_queue(
    workplace: Callable[..., Workplace],
) -> None:
    place = workplace()
    assert place.run() == "succeeded"
    assert place.got == [WHOLE]
    assert sorted(place.summed) == [("runner", number) for number in range(SHARDS)]
    assert place.messages == [Message(place.job_id, 5.0, "large", HELP_JOB)] * (SHARDS - 1)
    assert place.parts_kept == 0


def test_helpers_share_the_work_and_each_shard_is_summed_once(
    workplace: Callable[..., Workplace],
) -> None:
    place = workplace(passes=2)
    runner = place.in_background()
    while runner.is_alive():
        place.help()
    assert place.got == [WHOLE, WHOLE]
    assert sorted(number for _, number in place.summed) == sorted(2 * [*range(SHARDS)])
    assert {who for who, _ in place.summed} == {"runner", "helper"}
    assert place.record.state == "succeeded"
    assert place.help() == "skipped"
    assert place.parts_kept == 0


def test_a_helper_that_vanishes_costs_its_lease_and_what_it_says_afterwards_counts_for_nothing(
    workplace: Callable[..., Workplace],
) -> None:
    place = workplace(lease=0.15)
    runner = place.in_background()
    lost = place.stores.jobs.claim_shard(place.job_id, "lost", 0.15)
    assert lost is not None
    runner.join(5)
    assert place.got == [WHOLE]
    assert ("runner", lost.number) in place.summed
    assert place.record.state == "succeeded"


@pytest.mark.parametrize("trouble", [StoreUnavailable("away"), OSError(errno.ENOSPC, "full")])
def test_a_helper_that_cannot_go_on_gives_its_shard_to_others_and_the_job_loses_nothing(
    workplace: Callable[..., Workplace], trouble: Exception
) -> None:
    place = workplace()
    runner = place.in_background()

    def away(number: int, check_lease: LeaseCheck) -> bytes:
        raise trouble

    assert place.help(away) == "given back"
    runner.join(5)  # at once, not when the helper's lease of 30 s is over
    assert place.got == [WHOLE]
    assert place.record.state == "succeeded"


def test_were_a_lost_shard_not_given_to_another_its_job_would_wait_for_ever(
    workplace: Callable[..., Workplace], job_client: Redis
) -> None:
    # This is the negative control of the test above: the same fault with a store that believes in
    # every holder.
    class Believing(JobStore):
        def claim_shard(
            self, job_id: str, owner: str, lease_seconds: float, *, last: bool = False
        ) -> ShardClaim | None:
            return super().claim_shard(job_id, owner, 1000, last=last)

    place = workplace(lease=0.15)
    place.stores = replace(place.stores, jobs=Believing(job_client))
    runner = place.in_background()
    assert place.stores.jobs.claim_shard(place.job_id, "lost", 0.15)
    runner.join(1.5)
    assert runner.is_alive()
    assert place.got == []
    place.stores.jobs.cancel(TENANT, place.job_id)
    runner.join(5)
    assert not runner.is_alive()


class Gone(BaseException):
    """As if the process were killed."""


def test_of_a_lost_runner_the_next_one_takes_what_is_there(
    workplace: Callable[..., Workplace],
) -> None:
    place = workplace(lease=0.05)

    def dies(number: int, check_lease: LeaseCheck) -> bytes:
        if number == 2:
            raise Gone
        return place.sum("first", number, check_lease)

    with pytest.raises(Gone):
        place.run(dies)
    assert place.parts_kept == 4
    time.sleep(0.1)
    assert place.run(owner="second") == "succeeded"
    assert place.got == [WHOLE]
    assert sorted(place.summed) == [
        ("first", 3),
        ("first", 4),
        ("first", 5),
        ("runner", 0),
        ("runner", 1),
        ("runner", 2),
    ]


def test_a_part_that_is_gone_is_summed_again(
    workplace: Callable[..., Workplace], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = workplace()
    get = place.stores.results.get_part
    monkeypatch.setattr(
        place.stores.results, "get_part", lambda *part: None if "-3-" in part[-1] else get(*part)
    )
    assert place.run() == "succeeded"
    assert place.got == [WHOLE]
    assert place.summed.count(("runner", 3)) == 2


def test_a_cancelled_job_ends_its_runner_and_its_helpers(
    workplace: Callable[..., Workplace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.fan_out.shards.WANTED_SECONDS", 0.0)
    place = workplace()
    went_on = []

    def cancels(number: int, check_lease: LeaseCheck) -> bytes:
        place.stores.jobs.cancel(TENANT, place.job_id)
        assert place.help() == "skipped"
        check_lease()
        went_on.append(number)
        return part(number)

    assert place.run(cancels) == "fenced"
    assert not went_on
    assert place.parts_kept == 0

    place = workplace()
    runner = place.in_background()
    assert place.help(cancels) == "fenced"
    runner.join(5)
    assert not went_on
    assert place.record.state == "cancelled"
    assert place.parts_kept == 0


def test_what_fails_at_a_helper_fails_the_job_for_the_same_reason(
    workplace: Callable[..., Workplace],
) -> None:
    place = workplace()
    runner = place.in_background()
    why = problem(422, "dataset-gone", "t", "d")

    def fails(number: int, check_lease: LeaseCheck) -> bytes:
        raise JobProblem(why)

    assert place.help(fails) == "failed"
    runner.join(5)
    assert place.record.error == why
    assert place.got == []
    assert place.parts_kept == 0


def test_progress_counts_shards_and_never_goes_back(
    stores: Stores, job_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.queue.tasks.REPORT_SECONDS", 0.02)
    seen: list[tuple[float, str]] = []

    class Watching(JobStore):
        def report(self, job_id: str, attempt: int, progress: Any) -> bool:
            seen.append((progress.fraction, progress.message))
            return super().report(job_id, attempt, progress)

    place = Workplace(replace(stores, jobs=Watching(job_client)), passes=3)
    place.run(lambda n, w: (time.sleep(0.03), part(n))[1])
    assert [message for _, message in seen[:3]] == [f"{n} of 6 parts of the sums" for n in range(3)]
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert 0.15 <= fractions[0] < fractions[-1] < 0.7


def test_a_broker_that_is_away_costs_the_help_and_not_the_job(
    workplace: Callable[..., Workplace],
) -> None:
    place = workplace()

    def away(message: Message) -> None:
        raise StoreUnavailable("the broker is away")

    assert place.run(publish=away) == "succeeded"
    assert place.got == [WHOLE]
