"""The requests of the interface as values; nothing is sent here."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from itoscope_client.inputs.upload import Upload


@dataclass(frozen=True, slots=True)
class Call:
    """A request.

    repeatable     whether sending it twice does the same as once, so that it may be retried
    wait           seconds it may take beyond the time-out, because it waits on purpose
    gone_is_done   whether a second try succeeds where the object is gone
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    upload: Upload | None = None
    repeatable: bool = True
    wait: float = 0.0
    gone_is_done: bool = False


def new_idempotency_key() -> str:
    """Return a new name for one submission, under which it may be sent repeatedly."""
    return f"client-{uuid.uuid4()}"


def create_dataset(upload: Upload) -> Call:
    """Create a dataset; it is addressed by its content, so that uploading it again is harmless."""
    headers = {"Content-Type": upload.content_type, "Content-Digest": upload.digest()}
    if upload.filename:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(upload.filename)}"
        if upload.filename.isascii() and not set('"\\') & set(upload.filename):
            headers["Content-Disposition"] = f'attachment; filename="{upload.filename}"'
    return Call("POST", "/v1/datasets", params=upload.query(), headers=headers, upload=upload)


def read_dataset(dataset_id: str, layout: Mapping[str, Any]) -> Call:
    """Read a dataset's file again; as an upload, that is harmless however often it is done."""
    path = f"/v1/datasets/{quote(dataset_id, safe='')}/read"
    return Call("POST", path, json=given(**layout))


def get_dataset(dataset_id: str) -> Call:
    """Read a dataset's description."""
    return Call("GET", f"/v1/datasets/{quote(dataset_id, safe='')}")


def list_datasets(limit: int, cursor: str | None) -> Call:
    """List a page of datasets."""
    return Call("GET", "/v1/datasets", params=given(limit=limit, cursor=cursor))


def delete_dataset(dataset_id: str) -> Call:
    """Delete a dataset."""
    return Call("DELETE", f"/v1/datasets/{quote(dataset_id, safe='')}", gone_is_done=True)


def create_job(job: Mapping[str, Any], idempotency_key: str | None, wait: int = 0) -> Call:
    """Submit a job; it is repeatable only with an idempotency key."""
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    if wait:
        headers["Prefer"] = f"wait={wait}"
    named = idempotency_key is not None
    return Call("POST", "/v1/jobs", headers=headers, json=dict(job), repeatable=named, wait=wait)


def validate_job(job: Mapping[str, Any]) -> Call:
    """Check a job without running it."""
    return Call("POST", "/v1/jobs/validate", json=dict(job))


def get_job(job_id: str, wait: int = 0) -> Call:
    """Read a job's record, at the latest after `wait` seconds."""
    return Call("GET", _job(job_id), headers={"Prefer": f"wait={wait}"} if wait else {}, wait=wait)


def follow_job(job_id: str, last_event: str | None) -> Call:
    """Open the stream of a job's events, after the last one that was received."""
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
    last = {"Last-Event-ID": last_event} if last_event else {}
    return Call("GET", f"{_job(job_id)}/events", headers=headers | last)


def list_jobs(
    limit: int, cursor: str | None, filters: Mapping[str, str | None], labels: Mapping[str, str]
) -> Call:
    """List a page of jobs that pass the filters and have the labels."""
    own = {f"label.{name}": value for name, value in labels.items()}
    return Call("GET", "/v1/jobs", params=given(limit=limit, cursor=cursor, **filters) | own)


def get_result(job_id: str) -> Call:
    """Read a job's result document."""
    return Call("GET", f"{_job(job_id)}/result", headers={"Accept": "application/json"})


def get_report(job_id: str) -> Call:
    """Read a job's report in HTML."""
    return Call("GET", f"{_job(job_id)}/report", headers={"Accept": "text/html"})


def cancel_job(job_id: str) -> Call:
    """Cancel a job; one that has ended stays as it is, so this may be sent again."""
    return Call("POST", f"{_job(job_id)}/cancel")


def delete_job(job_id: str) -> Call:
    """Delete a job that has ended."""
    return Call("DELETE", _job(job_id), gone_is_done=True)


def create_batch(batch: Mapping[str, Any], idempotency_key: str) -> Call:
    """Submit a batch; with its idempotency key it is repeatable."""
    headers = {"Idempotency-Key": idempotency_key}
    return Call("POST", "/v1/batches", headers=headers, json=dict(batch), wait=30)


def get_batch(batch_id: str, limit: int, cursor: str | None, wait: int = 0) -> Call:
    """Read a batch with a page of its rows, at the latest after `wait` seconds."""
    headers = {"Prefer": f"wait={wait}"} if wait else {}
    params = given(limit=limit, cursor=cursor)
    return Call("GET", _batch(batch_id), params=params, headers=headers, wait=wait)


def get_batch_table(batch_id: str) -> Call:
    """Read the table of a batch as CSV."""
    return Call("GET", _batch(batch_id), headers={"Accept": "text/csv"})


def list_batches(limit: int, cursor: str | None) -> Call:
    """List a page of batches."""
    return Call("GET", "/v1/batches", params=given(limit=limit, cursor=cursor))


def retry_batch(batch_id: str) -> Call:
    """Start failed jobs again; sent twice, the second finds none that failed before."""
    return Call("POST", f"{_batch(batch_id)}/retry", wait=30)


def cancel_batch(batch_id: str) -> Call:
    """Cancel the jobs of a batch that have not begun."""
    return Call("POST", f"{_batch(batch_id)}/cancel")


def delete_batch(batch_id: str) -> Call:
    """Delete a batch that has ended."""
    return Call("DELETE", _batch(batch_id), gone_is_done=True, wait=30)


def _batch(batch_id: str) -> str:
    return f"/v1/batches/{quote(batch_id, safe='')}"


def _job(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}"


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None, by name."""
    return {name: value for name, value in values.items() if value is not None}
