"""Shards of the job store's twin in memory."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from contract.messages import HELP_JOB, Message, QueueName
from storage.names import is_part_name
from storage.redis.shards import MOST_EXCUSED
from storage.stores import Claim, LeftParts, ShardClaim


@dataclass(frozen=True, slots=True)
class _Shard:
    attempt: int = 0
    owner: str | None = None
    until: float = 0.0
    part: str | None = None
    excused: int = 0


@dataclass(slots=True)
class _Shared:
    """A pass that is shared out."""

    pass_name: str
    due: float
    shards: list[_Shard]


@dataclass(slots=True)
class Open:
    """What shards need to know of a job that has not ended."""

    claim: Claim
    message: Message


class JobsOfShards(Protocol):
    """What shards ask of the jobs."""

    queued_grace: float
    attempt_cap: int

    @property
    def messages_waiting(self) -> Callable[[], bool]: ...

    def count(self, what: str) -> None: ...

    def open_job(self, job_id: str) -> Open | None: ...

    def fail_lost(self, job_id: str) -> None: ...

    def ended_before(self, job_id: str, seconds: float) -> bool: ...


@dataclass(slots=True)
class MemoryShards:
    """The transitions of storage/lua that are about shards. Whoever calls holds the jobs' lock."""

    jobs: JobsOfShards
    _shared: dict[str, _Shared] = field(default_factory=dict)
    _with_parts: dict[LeftParts, float] = field(default_factory=dict)

    def fan_out(self, job_id: str, attempt: int, pass_name: str, shards: int) -> QueueName | None:
        job, at = self.jobs.open_job(job_id), time.time()
        if job is None or job.claim.attempt != attempt:
            return None
        known = self._shared.get(job_id)
        if known is None or known.pass_name != pass_name or len(known.shards) != shards:
            known = self._shared[job_id] = _Shared(pass_name, at, [_Shard()] * shards)
        known.due = at + self.jobs.queued_grace
        self._with_parts[LeftParts(job.claim.tenant, job_id)] = at
        return job.message.queue

    def claim_shard(self, job_id: str, owner: str, lease_seconds: float, *, last: bool = False) -> ShardClaim | None:
        job, shared, at = self.jobs.open_job(job_id), self._shared.get(job_id), time.time()
        if job is None or shared is None:
            return None
        numbers = range(len(shared.shards))
        free = [n for n in (reversed(numbers) if last else numbers) if _is_free(shared.shards[n], at)]
        if not free:
            return None
        shard = shared.shards[free[0]]
        if shard.attempt > shard.excused:
            self.jobs.count("shard_lost")
        if shard.attempt - shard.excused >= self.jobs.attempt_cap:
            self.jobs.fail_lost(job_id)
            return None
        shared.shards[free[0]] = replace(shard, attempt=shard.attempt + 1, owner=owner, until=at + lease_seconds)
        return ShardClaim(job.claim, shared.pass_name, free[0], len(shared.shards), shard.attempt + 1)

    def commit_shard(self, claim: ShardClaim, part: str) -> bool:
        if not is_part_name(part):
            raise ValueError(f"no part can be named {part!r}")
        shared = self._shared.get(claim.of.job_id)
        if shared is None or shared.pass_name != claim.pass_name or shared.shards[claim.number].attempt != claim.attempt:
            return False
        known = shared.shards[claim.number].part
        if known is None:
            shared.shards[claim.number] = _Shard(claim.attempt, part=part)
            self.jobs.count("shard_done")
        return known in (None, part)

    def give_back_shard(self, claim: ShardClaim) -> None:
        shared = self._shared.get(claim.of.job_id)
        if shared is None or shared.pass_name != claim.pass_name:
            return
        shard = shared.shards[claim.number]
        if shard.attempt == claim.attempt and shard.owner is not None:
            shared.shards[claim.number] = replace(shard, owner=None, until=0.0, excused=min(shard.excused + 1, MOST_EXCUSED))

    def parts(self, job_id: str, attempt: int, pass_name: str) -> Sequence[str | None] | None:
        job, shared = self.jobs.open_job(job_id), self._shared.get(job_id)
        if job is None or job.claim.attempt != attempt or shared is None or shared.pass_name != pass_name:
            return None
        return [shard.part for shard in shared.shards]

    def renew(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """Those that are this owner's."""
        shared, until = self._shared.get(job_id), time.time() + lease_seconds
        held = [n for n, shard in enumerate(shared.shards) if shard.owner == owner] if shared else []
        for n in held:
            assert shared is not None
            shared.shards[n] = replace(shared.shards[n], until=until)
        return bool(held)

    def reap(self) -> Iterator[Message]:
        """Messages for shards that nobody works on."""
        at = time.time()
        for job_id, shared in self._shared.items():
            job = self.jobs.open_job(job_id)
            if job is None or shared.due > at:
                continue
            shared.due = at + self.jobs.queued_grace
            free = sum(_is_free(shard, at) for shard in shared.shards)
            if free and not self.jobs.messages_waiting():
                self.jobs.count("shards_republished")
                yield from [replace(job.message, task=HELP_JOB)] * free

    def drop(self, job_id: str) -> None:
        """The job has ended."""
        self._shared.pop(job_id, None)

    def left_parts(self, older_than_seconds: float) -> Sequence[LeftParts]:
        before = time.time() - older_than_seconds
        return [
            left
            for left, at in self._with_parts.items()
            if at <= before and self.jobs.ended_before(left.job_id, older_than_seconds)
        ]

    def drop_parts(self, left: LeftParts) -> None:
        self._with_parts.pop(left, None)


def _is_free(shard: _Shard, at: float) -> bool:
    return shard.part is None and shard.until <= at
