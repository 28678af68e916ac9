"""Shards of a job in Redis or Valkey: the transitions that share out a pass over the data."""

import secrets
from collections.abc import Sequence

from contract.kinds import recorded_job
from contract.messages import HELP_JOB, QUEUES, Message, QueueName, broker_queue
from storage.names import checked_part, is_job_id
from storage.redis.connection import DUE, Scripts, record_key, rows
from storage.stores import Claim, LeftParts, ShardClaim, worker_lost

AT_ONCE = 100
"""Jobs examined in one transition."""

MOST_EXCUSED = 200
"""Attempts that ended because a store was away and therefore do not count, of a job or a shard.

With the waits between them, this covers a day and more of a job.
"""
MOST_HELPERS = 16
"""Messages sent again at once for one job: each taker goes on until no shard is left."""

BROKER_QUEUES = [name for queue in QUEUES for name in (queue, broker_queue(queue))]
"""Names of the queues, each with its name at the broker."""
_SHARED = "jobs:shared"
_PARTS = "jobs:parts"


def shards_key(job_id: str) -> str:
    """Return the key of a job's shards."""
    return f"{record_key(job_id)}:shards"


class Shards(Scripts):
    """Transitions of shards, a part of `JobStore`."""

    _queued_grace: float
    _attempt_cap: int

    def _claimant(self, job_id: str, owner: str, lease_seconds: float) -> tuple[str | float, ...]:
        """Return the scripts' arguments about who claims a job or shard, and its lease."""
        lost = worker_lost(self._attempt_cap).model_dump_json(by_alias=True)
        return job_id, owner, secrets.token_hex(8), lease_seconds, self._attempt_cap, lost

    def fan_out(self, job_id: str, attempt: int, pass_name: str, shards: int) -> QueueName | None:
        """Share out a pass over the job's data.

        Parts that an earlier attempt made of the same pass stay. Return the queue for messages that
        ask for help, or None where this attempt no longer counts.

        pass_name   name of what is summed: the same name for the same work
        """
        keys = [record_key(job_id), shards_key(job_id), _SHARED, _PARTS]
        queue: QueueName | None = (
            self._run("fan_out", keys, job_id, attempt, pass_name, shards, self._queued_grace)
            or None
        )
        return queue

    def claim_shard(
        self, job_id: str, owner: str, lease_seconds: float, *, last: bool = False
    ) -> ShardClaim | None:
        """Take the first, or the `last`, shard of the job that has no holder, or a silent one.

        Return None where there is none. A shard that was lost so often that it must be what kills
        its workers fails the job.
        """
        if not is_job_id(job_id):
            return None
        keys = [record_key(job_id), DUE, shards_key(job_id)]
        claimant = self._claimant(job_id, owner, lease_seconds)
        answer = self._run("claim_shard", keys, *claimant, "last" if last else "")
        if not answer:
            return None
        shard, attempt, of_job, tenant, request, pass_name, shards = answer
        claim = Claim(job_id, tenant, int(of_job), recorded_job(request))
        return ShardClaim(claim, pass_name, int(shard), int(shards), int(attempt))

    def commit_shard(self, claim: ShardClaim, part: str) -> bool:
        """Commit the name of the shard's part; return False where the claim no longer counts.

        Repeating a commit that succeeded returns True.
        """
        keys, part = [shards_key(claim.of.job_id)], checked_part(part)
        held = claim.pass_name, claim.number, claim.attempt
        return bool(self._run("commit_shard", keys, *held, part))

    def give_back_shard(self, claim: ShardClaim) -> None:
        """Release the shard for others, because a store is away; the attempt does not count."""
        held = claim.pass_name, claim.number, claim.attempt
        self._run("give_back_shard", [shards_key(claim.of.job_id)], *held, MOST_EXCUSED)

    def parts(self, job_id: str, attempt: int, pass_name: str) -> Sequence[str | None] | None:
        """Return the names of the pass's parts in order, with None for each that is still missing.

        Return None instead of a list where this attempt no longer counts.
        """
        names = self._run("shards", [record_key(job_id), shards_key(job_id)], attempt, pass_name)
        return [name or None for name in names] if names else None

    def left_parts(self, older_than_seconds: float) -> Sequence[LeftParts]:
        """Return some of the jobs that ended longer ago and whose parts may still be kept."""
        found = self._run("left_parts", [_PARTS], older_than_seconds, AT_ONCE)
        return [LeftParts(tenant, job_id) for tenant, job_id in rows(found, 2)]

    def drop_parts(self, left: LeftParts) -> None:
        """Record that the parts are deleted."""
        self._run("drop_parts", [_PARTS], f"{left.tenant}/{left.job_id}")

    def _reap_shards(self) -> list[Message]:
        found = self._run("reap_shards", [_SHARED], AT_ONCE, self._queued_grace, *BROKER_QUEUES)
        return [
            Message(job_id, float(timeout), queue, HELP_JOB)
            for job_id, timeout, queue, free in rows(found, 4)
            for _ in range(min(int(free), MOST_HELPERS))
        ]
