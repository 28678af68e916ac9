"""Threads of the worker's main process that renew the leases of running jobs and find lost jobs.

They run in the main process because a thread in the pool's child starves while native code holds
the GIL: measured, two healthy jobs of 7 s lost their leases of 2 s that way. For the same reason
only the prefork pool is used.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import structlog
from celery import bootsteps
from celery.worker import state

from contract.messages import HELP_JOB, RUN_JOB, QueueName
from storage.periodic import every
from storage.redis.jobs import JobStore
from storage.stores import StoreUnavailable
from worker.fan_out.shards import Publish
from worker.queue.liveness import PersistenceCounter, kill

BEATS_PER_LEASE = 4
REAP_SECONDS = 5.0
TELL_SECONDS = 0.5
REST_BEATS = 1.25
"""After an outage of the store the reaper waits for this many renewals.

One lets every live worker renew its leases; the rest is what that renewal may be late by.
"""
STRAY_BEATS = 4 * BEATS_PER_LEASE
"""A child that works for this many renewals without a lease hangs, or computes for a lost job."""
ENDED_BEATS = 2
"""The same where the job has ended or was deleted: nobody waits for anything of it."""

OVERRUN = 10.0
"""Estimates are right to a factor of about three."""
SERVED_SECONDS = 30.0
"""Time without a sign of life from which a worker does not count."""

_log = structlog.get_logger(__name__)


def owner(hostname: str, message_id: str) -> str:
    """Return a lease's owner, the same for the child that claims and the parent that renews."""
    return f"{hostname}/{message_id}"


class Running(NamedTuple):
    """A message that a child of this worker is working on."""

    job_id: str
    owner: str
    pid: int


def renew_leases(
    jobs: JobStore, lease_seconds: float, running: Iterable[Running]
) -> Sequence[Running]:
    """Renew the lease of each message; return those that hold none, which the store fences."""
    return [each for each in running if not jobs.renew(each.job_id, each.owner, lease_seconds)]


class Strays:
    """Children that compute for nobody.

    A cancelled job's child notices with its next report, which may be minutes away: callers behind
    it waited 70 to 127 s until it was killed after STRAY_BEATS.
    """

    def __init__(self, jobs: JobStore) -> None:
        self._jobs = jobs
        self._unheld: PersistenceCounter[Running] = PersistenceCounter(STRAY_BEATS)
        self._ended: PersistenceCounter[Running] = PersistenceCounter(ENDED_BEATS)

    def look(self, unheld: Sequence[Running]) -> frozenset[Running]:
        """Return which of the messages that hold no lease have held none for too long."""
        ended = self._jobs.ended([each.job_id for each in unheld])
        return frozenset(
            (
                *self._unheld.look(unheld),
                *self._ended.look(each for each in unheld if each.job_id in ended),
            )
        )


class Overruns:
    """Small jobs that run OVERRUN times as long as the longest was estimated to.

    Where a worker serves only the queue `small`, they go to the others, lest short jobs wait for
    them: one estimated at 3.3 s was at 0.3 of its work after 8.5 min.
    """

    def __init__(self, jobs: JobStore, queues: Sequence[QueueName], large_seconds: float) -> None:
        self._jobs, self._longest = jobs, OVERRUN * large_seconds
        self._only_small = "large" not in queues

    def look(self, running: Sequence[Running]) -> Sequence[Running]:
        """Move overrunning jobs to the queue `large`, if anybody serves it; return them."""
        if not (self._only_small and running and self._jobs.workers_of("large", SERVED_SECONDS)):
            return []
        return [each for each in running if self._jobs.move(each.job_id, each.owner, self._longest)]


class Reaper:
    """A reaper of lost jobs, which acts only once the store has answered for `rest_seconds`.

    While the store was away no lease was renewed; live workers must renew theirs first.
    """

    def __init__(self, jobs: JobStore, publish: Publish, rest_seconds: float) -> None:
        self._jobs, self._publish, self._rest_seconds = jobs, publish, rest_seconds
        # A new reaper has seen no outage.
        self._answers_since: float | None = float("-inf")

    def look(self) -> None:
        """Publish again what seems lost. Raises StoreUnavailable.

        A publication that fails is repeated by a later reaper: the record stays due.
        """
        try:
            if self._answers_since is None:
                self._jobs.open_jobs()
                self._answers_since = time.monotonic()
            rested = time.monotonic() - self._answers_since >= self._rest_seconds
            lost = self._jobs.reap() if rested else []
        except StoreUnavailable:
            self._answers_since = None
            raise
        for again in lost:
            _log.info("job published again", job_id=again.job_id, task=again.task)
            self._publish(again)


def running_jobs() -> Sequence[Running]:
    """Return the messages that the children of this worker are working on."""
    while True:
        try:
            requests = list(state.active_requests)
        except RuntimeError:  # the set changed while it was read
            continue
        return [
            Running(request.args[0], owner(request.hostname, request.id), request.worker_pid)
            for request in requests
            if request.name in (RUN_JOB, HELP_JOB) and request.args
        ]


def lease_step(
    jobs: JobStore,
    lease_seconds: float,
    publish: Publish,
    tell: Callable[[], None] | None,
    overruns: Overruns,
) -> type[bootsteps.StartStopStep]:
    """Return the step for Celery's worker that starts the threads.

    They renew leases while the pool drains, until the process ends.

    tell       sends the due webhooks; None where no host is allowed
    overruns   finds jobs that take too long for the queue `small`
    """
    reaper = Reaper(jobs, publish, REST_BEATS * lease_seconds / BEATS_PER_LEASE)
    strays = Strays(jobs)

    def renew() -> None:
        running = running_jobs()
        for each in overruns.look(running):
            kill(each.pid, "its job takes longer than estimated, and waits for another worker")
        for each in strays.look(renew_leases(jobs, lease_seconds, running)):
            kill(each.pid, "it holds no lease of the job that it works on")

    class LeaseStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
        requires = ("celery.worker.components:Timer",)

        def start(self, worker: Any) -> None:
            every(lease_seconds / BEATS_PER_LEASE, "renewing leases", renew)
            every(min(REAP_SECONDS, lease_seconds), "looking for lost jobs", reaper.look)
            if tell is not None:
                every(TELL_SECONDS, "sending webhooks", tell)

    return LeaseStep
