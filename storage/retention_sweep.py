"""Deletion of old results and records, in an order in which a crash leaves nothing unfound."""

from storage.configuration import DAY, Retention
from storage.names import result_name
from storage.periodic import every
from storage.stores import Ended, Stores

PARTS_KEPT_SECONDS = 600.0
"""Time after a job's end at which parts are deleted that a late worker still wrote."""
SWEEP_SECONDS = 60.0
MEMORY_MARK = 0.7
"""Used fraction of the job store's memory above which old jobs are deleted before their time.

The oldest of the tenant whose records take most go first. Without this, 145 000 jobs filled the
store for a year, and nobody's were accepted.
"""


def keep_swept(stores: Stores, retention: Retention) -> None:
    """Delete all that has expired, now and once a minute, as long as this process lives.

    This is for a process that does not fork: an object store's library cannot be used by a child of
    a process that has used it.
    """

    def act() -> None:
        while sweep(stores, retention):
            pass

    every(SWEEP_SECONDS, "deleting old results", act)


def sweep(stores: Stores, retention: Retention) -> int:
    """Delete some of what has expired, or has to make room; return how many things there were.

    Any number of processes may do so at once. Raise StoreUnavailable.
    """
    jobs = stores.jobs
    old_results = jobs.outdated(retention.results, "result")
    for ended in old_results:
        _delete_results(stores, ended)
        jobs.drop_result(ended.job_id)
    old_records = jobs.outdated(max(retention.records, retention.results), "record")
    for ended in old_records:
        jobs.forget(ended.tenant, ended.job_id, retention.records)
    crowding = jobs.crowding() if jobs.memory_used() > MEMORY_MARK else []
    for ended in crowding:
        _delete_results(stores, ended)
        jobs.forget(ended.tenant, ended.job_id, min(retention.records, DAY))
    left_parts = jobs.left_parts(PARTS_KEPT_SECONDS)
    for left in left_parts:
        stores.results.delete_parts(left.tenant, left.job_id)
        jobs.drop_parts(left)
    return len(old_results) + len(old_records) + len(crowding) + len(left_parts)


def delete_job(stores: Stores, tenant: str, job_id: str, retention: Retention) -> bool:
    """Delete a job that has ended, with its result; return False where no ended job has this id.

    Raise Forgotten where that was done before, StoreUnavailable.
    """
    record = stores.jobs.get(tenant, job_id)
    if record is None or not record.terminal:
        return False
    _delete_results(stores, Ended(tenant, job_id, record.attempt))
    return stores.jobs.forget(tenant, job_id, retention.records)


def _delete_results(stores: Stores, ended: Ended) -> None:
    """Delete the results of all attempts, of which the record names only one."""
    for attempt in range(1, ended.attempts + 1):
        stores.results.delete(ended.tenant, result_name(ended.job_id, attempt))
    stores.results.delete_parts(ended.tenant, ended.job_id)
