"""One pass over a job's data in shards: the job's runner asks for help, works along, and waits.

Helpers are other workers that took a message; each takes one shard after the other until none is
left. The job needs no helper: its runner sums what nobody takes or a lost helper leaves. So nothing
waits for an event that may never come.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

from contract.messages import HELP_JOB, Message
from storage.names import part_name
from storage.stores import Claim, ShardClaim, Stores, StoreUnavailable
from worker.progress import BEGIN, END, Report
from worker.retry import CLAIM_PATIENCE_SECONDS, LeaseLost, is_away, retry_while_unavailable

LeaseCheck = Callable[[], None]
"""A function to call often during a sum. It raises LeaseLost once the sum is not needed."""
Sum = Callable[[int, LeaseCheck], bytes]
"""A function of a shard's number that returns the shard's packed sums."""
Share = Callable[[bytes, int, Sum], Sequence[bytes]]
"""A function that sums a pass in shards and returns their parts in order. It raises LeaseLost.

Its arguments are the packed pass, the number of shards, and the function that sums one here.
"""
Helper = Callable[[Claim, Stores, bytes, int], AbstractContextManager[Sum]]
"""A function of a claim, the packed pass and the number of shards that yields a `Sum`."""
Publish = Callable[[Message], None]
"""A function that sends a message. It raises StoreUnavailable."""

LOOK_SECONDS = 0.1
"""Time between two checks of the shards that others hold."""
WANTED_SECONDS = 1.0
"""Time between two checks of a helper whether its shard is still its own."""
MOST_HELPERS = 64
"""Most messages sent for one pass; each helper goes on until no shard is left."""


class Sharing:
    """The sharing of a job's passes by the job's runner."""

    def __init__(
        self, claim: Claim, owner: str, stores: Stores, lease_seconds: float, publish: Publish
    ) -> None:
        self._claim, self._owner, self._stores = claim, owner, stores
        self._lease_seconds, self._publish = lease_seconds, publish
        self.passes = 0

    def __call__(self, report: Report, work: bytes, shards: int, here: Sum) -> Sequence[bytes]:
        """Sum a pass in shards, as a `Share` does, and report progress."""
        claim, jobs, results = self._claim, self._stores.jobs, self._stores.results
        pass_name = hashlib.sha256(work).hexdigest()[:32]
        begin = END - (END - BEGIN) / 2**self.passes
        self.passes += 1

        def look() -> Sequence[str | None]:
            found = retry_while_unavailable(
                lambda: jobs.parts(claim.job_id, claim.attempt, pass_name)
            )
            if found is None:
                raise LeaseLost
            done = sum(name is not None for name in found)
            report(
                begin + (END - begin) / 2 * done / shards,
                "identifying",
                f"{done} of {shards} parts of the sums",
            )
            return found

        retry_while_unavailable(
            lambda: results.put_part(claim.tenant, claim.job_id, part_name(pass_name), work)
        )
        queue = retry_while_unavailable(
            lambda: jobs.fan_out(claim.job_id, claim.attempt, pass_name, shards)
        )
        if queue is None:
            raise LeaseLost
        with suppress(StoreUnavailable):  # the reaper asks again
            for _ in range(min(shards - 1, MOST_HELPERS)):
                self._publish(Message(claim.job_id, claim.job.timeout_seconds, queue, HELP_JOB))
        while not all(found := look()):
            # The runner begins at the other end than the helpers, so that they meet late.
            shard = retry_while_unavailable(
                lambda: jobs.claim_shard(claim.job_id, self._owner, self._lease_seconds, last=True)
            )
            if shard is None:
                time.sleep(LOOK_SECONDS)
            else:
                _keep(shard, self._stores, here(shard.number, _now_and_then(look)))
        return [self._part(name, number, here) for number, name in enumerate(found)]

    def _part(self, name: str | None, number: int, here: Sum) -> bytes:
        assert name is not None, "all are there"
        claim, results = self._claim, self._stores.results
        body = retry_while_unavailable(lambda: results.get_part(claim.tenant, claim.job_id, name))
        return here(number, lambda: None) if body is None else body


def help_with(
    shard: ShardClaim, owner: str, stores: Stores, lease_seconds: float, helper: Helper
) -> None:
    """Sum this shard and then others, as long as there are any. Raises LeaseLost."""
    job, jobs = shard.of, stores.jobs

    def renew() -> None:
        with suppress(StoreUnavailable):
            if not jobs.renew(job.job_id, owner, lease_seconds):
                raise LeaseLost

    following: ShardClaim | None = shard
    while following is not None:
        following = _help_in_pass(
            following, owner, stores, lease_seconds, helper, _now_and_then(renew)
        )


def _help_in_pass(
    first: ShardClaim,
    owner: str,
    stores: Stores,
    lease_seconds: float,
    helper: Helper,
    check_lease: LeaseCheck,
) -> ShardClaim | None:
    """Sum shards of one pass; return the first shard of another pass, or None."""
    job = first.of
    following = first
    try:
        work = retry_while_unavailable(
            lambda: stores.results.get_part(job.tenant, job.job_id, part_name(first.pass_name))
        )
        if work is None:
            raise LeaseLost  # The job has ended since, and its parts are deleted.
        with helper(job, stores, work, first.shards) as summed:
            while following.pass_name == first.pass_name:
                _keep(following, stores, summed(following.number, check_lease))
                found = retry_while_unavailable(
                    lambda: stores.jobs.claim_shard(job.job_id, owner, lease_seconds),
                    CLAIM_PATIENCE_SECONDS,
                )
                if found is None:
                    return None
                following = found
    except Exception as error:
        if is_away(error):
            with suppress(StoreUnavailable):
                stores.jobs.give_back_shard(following)
        raise
    return following


def clear_parts(stores: Stores, tenant: str, job_id: str) -> None:
    """Delete the parts of a job if it has ended. The store's clean-up repairs a failure here."""
    with suppress(StoreUnavailable):
        if stores.jobs.ended([job_id]):
            stores.results.delete_parts(tenant, job_id)


def _keep(shard: ShardClaim, stores: Stores, body: bytes) -> None:
    """Store a shard's sums: the blob first, then its row."""
    job = shard.of
    name = part_name(shard.pass_name, shard.number, shard.attempt)
    retry_while_unavailable(lambda: stores.results.put_part(job.tenant, job.job_id, name, body))
    if not retry_while_unavailable(lambda: stores.jobs.commit_shard(shard, name)):
        with suppress(StoreUnavailable):
            stores.results.delete_part(job.tenant, job.job_id, name)


def _now_and_then(act: Callable[[], object]) -> LeaseCheck:
    last = time.monotonic()

    def check_lease() -> None:
        nonlocal last
        if time.monotonic() - last >= WANTED_SECONDS:
            act()
            last = time.monotonic()

    return check_lease
