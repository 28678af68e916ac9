"""What the worker's main process does beside Celery: keep the leases of running jobs, look after lost jobs.

In the main process, because a thread in the pool's child starves while native code holds the GIL: measured, two healthy jobs
of 7 s lost their leases of 2 s that way. Hence also the prefork pool only.
"""

from collections.abc import Callable, Iterable
from typing import Any

import structlog
from celery import bootsteps
from celery.worker import state

from contract.messages import HELP_JOB, RUN_JOB
from storage.repeating import every
from storage.stores import JobStore
from worker.shards import Publish

BEATS_PER_LEASE = 4
REAP_SECONDS = 5.0
TELL_SECONDS = 0.5

_log = structlog.get_logger(__name__)


def owner(hostname: str, message_id: str) -> str:
    """The name in which a lease is held, the same in the child that claims and in the main process that renews."""
    return f"{hostname}/{message_id}"


def renew_leases(jobs: JobStore, lease_seconds: float, running: Iterable[tuple[str, str]]) -> None:
    """Renew the lease of each (job, owner). A lease that is no longer theirs needs nothing: the store fences the runner."""
    for job_id, holder in running:
        jobs.renew(job_id, holder, lease_seconds)


def republish_lost(jobs: JobStore, publish: Publish) -> None:
    """Publish again what seems lost. A publication that fails is repeated by a later reaper: the record stays due."""
    for again in jobs.reap():
        _log.info("job published again", job_id=again.job_id, task=again.task)
        publish(again)


def running_jobs() -> list[tuple[str, str]]:
    """(job, owner) of each message that a child of this worker is working on."""
    while True:
        try:
            requests = list(state.active_requests)
        except RuntimeError:  # the set changed while it was read
            continue
        return [
            (request.args[0], owner(request.hostname, request.id))
            for request in requests
            if request.name in (RUN_JOB, HELP_JOB) and request.args
        ]


def lease_keeper(
    jobs: JobStore, lease_seconds: float, publish: Publish, tell: Callable[[], None] | None
) -> type[bootsteps.StartStopStep]:
    """The step to add to Celery's worker: starts the threads. `tell` sends the webhooks that are due, if there are any."""

    class LeaseKeeper(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
        requires = ("celery.worker.components:Timer",)

        def start(self, worker: Any) -> None:
            every(lease_seconds / BEATS_PER_LEASE, "renewing leases", lambda: renew_leases(jobs, lease_seconds, running_jobs()))
            every(min(REAP_SECONDS, lease_seconds), "looking for lost jobs", lambda: republish_lost(jobs, publish))
            if tell is not None:
                every(TELL_SECONDS, "sending webhooks", tell)

        def stop(self, worker: Any) -> None:
            """Nothing: leases are kept while the pool drains, until the process ends."""

    return LeaseKeeper
