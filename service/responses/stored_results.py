"""Stored results of jobs, or the reason why a job has none."""

from contract.records import JobRecord
from service.dependencies import Context
from service.errors import Refusal

RETRY_AFTER = "1"
"""Seconds after which a caller should ask again for a job that has not ended."""


def known(record: JobRecord | None) -> JobRecord:
    """Return the record. Raises Refusal (not-found) if there is none."""
    if record is None:
        raise Refusal(
            "not-found", "There is no such job.", hints=("GET /v1/jobs lists your jobs.",)
        )
    return record


def stored_result(context: Context, tenant: str, job_id: str) -> tuple[JobRecord, bytes]:
    """Return the record of a job that succeeded, and its result as it was written.

    Raises Refusal (not-found, job-not-finished, job-failed, job-cancelled, gone), Forgotten,
    StoreUnavailable.
    """
    record = known(context.stores.jobs.get(tenant, job_id))
    if record.state != "succeeded":
        raise _without_result(record)
    name = context.stores.jobs.result_name(tenant, job_id)
    body = context.stores.results.get(tenant, name) if name is not None else None
    if body is None:
        raise Refusal(
            "gone", "The result is no longer available.", hints=("Submit the job again.",)
        )
    return record, body


def _without_result(record: JobRecord) -> Refusal:
    if record.error is not None:
        return Refusal(
            "job-failed", record.error.detail, errors=record.error.errors, hints=record.error.hints
        )
    if record.state == "cancelled":
        return Refusal("job-cancelled", "The job was cancelled and has no result.")
    hints = (f"Wait with GET /v1/jobs/{record.id} and Prefer: wait=60.",)
    return Refusal(
        "job-not-finished",
        f"The job is {record.state}.",
        hints=hints,
        headers={"Retry-After": RETRY_AFTER},
    )
