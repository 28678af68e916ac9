"""Batches: the same job for each of many records, in one request, and the table of the results."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

from itoscope_client import calls, flows
from itoscope_client.errors import InputError, Unreachable
from itoscope_client.flows import Flow, Retries
from itoscope_client.inputs import LayoutOptions
from itoscope_client.kinds import Kinds, identification
from itoscope_client.models.batch import Batch
from itoscope_client.operations import Document, listener, operation, pages, uploaded
from itoscope_client.progress import Listener
from itoscope_client.requests import AnalysisParameters, IdentificationParameters
from itoscope_client.waiting import WaitingTimedOut, how_to_resume

ROWS = 200
"""Number of rows requested at once."""
WAIT = 5
"""Seconds that a poll may last."""


class Batches(Kinds):
    """Operations on batches."""

    @operation
    def batch(
        self,
        records: Any,
        *,
        parameters: IdentificationParameters | None = None,
        analysis: AnalysisParameters | None = None,
        preset: Literal["paper"] | None = None,
        labels: Mapping[str, str] | None = None,
        label: str | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        wait: bool = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Batch]:
        """Identify a model of each of up to 1000 records: upload, submit, wait, and read the table.

        records      a list of paths, each of which is a record; or any data that `identify`
                     accepts, or the id of a dataset (`ds_…`), each trajectory of which is a record
        label        your own words for the batch
        wait         False: return at once; `wait_batch` waits later

        The other parameters are those of `identify`; `analysis={"model_only": True}` takes a tenth
        of the time. A record without a model does not stop the others: `batch.errors`,
        `retry_batch`. Raises InputError, Problem, WaitingTimedOut, Unreachable.
        """
        job = identification(parameters, analysis, preset, labels, timeout_seconds)
        named = yield from named_records(records, layout, self._retries)
        batch = yield from submitted_batch({**named, "job": job, "label": label}, self._retries)
        if wait:
            yield from ended_batch(batch["id"], self._retries, listener(progress), timeout)
        return (yield from whole_batch(batch["id"], self._retries))

    @operation
    def submit_batch(
        self, batch: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Flow[Document]:
        """Start a batch of jobs of any kind on data, as its document says, and return its record.

        {"datasets": ["ds_…", …], "job": {"kind": "rolling", …}}, or "dataset": "ds_…" with one
        record for each trajectory.
        """
        return (yield from submitted_batch(batch, self._retries, idempotency_key))

    @operation
    def wait_batch(
        self, batch_id: str, *, timeout: float | None = None, progress: bool | Listener = True
    ) -> Flow[Batch]:
        """Wait until all jobs of a batch have ended, and return it. Raises WaitingTimedOut."""
        yield from ended_batch(batch_id, self._retries, listener(progress), timeout)
        return (yield from whole_batch(batch_id, self._retries))

    @operation
    def batch_of(self, batch_id: str) -> Flow[Batch]:
        """Return a batch as it is now."""
        return (yield from whole_batch(batch_id, self._retries))

    @operation
    def batches(self, *, limit: int = 100) -> Flow[list[Document]]:
        """List your batches, newest first and without their rows, at most `limit`."""
        return (yield from pages(calls.list_batches, limit, self._retries))

    @operation
    def retry_batch(self, batch_id: str) -> Flow[Document]:
        """Start the failed jobs of a batch again, as new jobs, and return its record."""
        return (yield from flows.document(calls.retry_batch(batch_id), self._retries))

    @operation
    def cancel_batch(self, batch_id: str) -> Flow[Document]:
        """Cancel the jobs of a batch that no worker has begun, and return its record."""
        return (yield from flows.document(calls.cancel_batch(batch_id), self._retries))

    @operation
    def delete_batch(self, batch_id: str) -> Flow[None]:
        """Delete a batch that has ended, with its jobs and their results."""
        yield from flows.nothing(calls.delete_batch(batch_id), self._retries)

    @operation
    def batch_table(self, batch_id: str) -> Flow[str]:
        """Return the table of a batch as CSV."""
        return (yield from flows.text(calls.get_batch_table(batch_id), self._retries))


def named_records(records: Any, layout: LayoutOptions, retries: Retries) -> Flow[Document]:
    """Upload what is not uploaded yet, and return the datasets in the words of a batch.

    Raises InputError where two files hold the same data, or a dataset comes with a layout.
    """
    known = _dataset_id(records)
    if known is not None:
        for option, value in layout.items():
            if value is not None:
                raise InputError(
                    f"{option} says how to read data, and {known} has been read already: "
                    f"client.read({known!r}, {option}=…) reads it again"
                )
        return {"dataset": known}
    if not _are_paths(records):
        dataset = yield from uploaded(records, None, layout, retries)
        return {"dataset": dataset["id"]}
    found: dict[str, Any] = {}
    for path in records:
        dataset = yield from uploaded(path, None, layout, retries)
        if dataset["id"] in found:
            raise InputError(
                f"{path} and {found[dataset['id']]} hold the same data: leave one of them out"
            )
        found[dataset["id"]] = path
    return {"datasets": list(found)}


def _dataset_id(records: Any) -> str | None:
    """Return the id where the records are those of a dataset that was uploaded before."""
    if isinstance(records, Mapping) and "report" in records:
        return str(records["id"])
    if isinstance(records, str) and records.startswith("ds_") and not Path(records).exists():
        return records
    return None


def _are_paths(records: Any) -> bool:
    several = isinstance(records, Sequence) and not isinstance(records, str | bytes)
    return several and len(records) > 0 and all(isinstance(r, str | os.PathLike) for r in records)


def submitted_batch(
    batch: Mapping[str, Any], retries: Retries, idempotency_key: str | None = None
) -> Flow[Document]:
    """Submit a batch, which is one batch however often it is sent, and return its record."""
    key = idempotency_key or calls.new_idempotency_key()
    return (yield from flows.document(calls.create_batch(calls.given(**batch), key), retries))


def ended_batch(
    batch_id: str, retries: Retries, show: Listener, timeout: float | None
) -> Flow[Document]:
    """Return the batch's record once all jobs have ended. Raises WaitingTimedOut."""
    began = flows.clock()
    try:
        while True:
            left = None if timeout is None else timeout - (flows.clock() - began)
            wait = WAIT if left is None else min(WAIT, max(0, int(left)))
            batch = yield from flows.document(
                calls.get_batch(batch_id, 1, None, wait), flows.limited(retries, left)
            )
            progress = progress_of(batch)
            show(progress)
            if progress["state"] == "succeeded":
                return batch
            if left is not None and left <= 0:
                assert timeout is not None
                raise WaitingTimedOut(batch_id, timeout)
            if wait == 0:
                yield flows.Pause(0.1 if left is None else min(0.1, max(0.0, left)))
    except GeneratorExit:
        raise
    except BaseException as error:
        # The end of the wait, for example by Ctrl-C, does not end the jobs.
        if isinstance(error, Unreachable) or not isinstance(error, Exception):
            error.add_note(f"{batch_id} continues. {how_to_resume(batch_id)}")
        raise


def progress_of(batch: Mapping[str, Any]) -> Document:
    """Return the progress of a batch in the form of a job's record, for a `Listener`."""
    counts, n_records = batch["counts"], batch["n_records"]
    left = counts["queued"] + counts["running"]
    failed = f", {counts['failed']} failed" if counts["failed"] else ""
    message = f"{n_records - left} of {n_records} records{failed}"
    progress = {"fraction": 1 - left / n_records, "stage": "batch", "message": message}
    return {**batch, "state": "running" if left else "succeeded", "progress": progress}


def whole_batch(batch_id: str, retries: Retries) -> Flow[Batch]:
    """Return a batch with all its rows."""
    rows: list[Document] = []
    cursor: str | None = None
    while True:
        page = yield from flows.document(calls.get_batch(batch_id, ROWS, cursor), retries)
        rows += page["rows"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return Batch({**page, "rows": rows})
