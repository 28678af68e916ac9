"""The operations of both clients, each a flow that is written once."""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    cast,
    get_args,
    overload,
)

from itoscope_client import calls, flows, waiting
from itoscope_client.calls import Call
from itoscope_client.errors import Unreachable
from itoscope_client.flows import Flow, Retries
from itoscope_client.inputs import LayoutOptions, asked, upload_of
from itoscope_client.models.model import Ask, Model, model_of
from itoscope_client.progress import Listener, ProgressBar, silent

P = ParamSpec("P")
T = TypeVar("T")
Document = dict[str, Any]
PAGE = 100
"""Number of items requested at once."""


class Blocking(Protocol):
    """A client that carries out a flow and returns its outcome."""

    def _run(self, flow: Flow[T]) -> T: ...


class Asynchronous(Protocol):
    """A client whose flows are awaited."""

    def _run(self, flow: Flow[T]) -> Coroutine[Any, Any, T]: ...


class Operation(Generic[P, T]):
    """The type of a method that returns its outcome in `Client` and is awaited in `AsyncClient`."""

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Asynchronous, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        raise NotImplementedError("operations are functions; this is their type")


def operation(steps: Callable[Concatenate[Any, P], Flow[T]]) -> Operation[P, T]:
    """Make a flow a method of both clients, with its signature and docstring."""

    @wraps(steps)
    def method(client: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return client._run(steps(client, *args, **kwargs))

    signature = inspect.signature(steps)
    outcome = get_args(signature.return_annotation)[-1]
    method.__signature__ = signature.replace(return_annotation=outcome)  # type: ignore[attr-defined]
    return cast(Operation[P, T], method)


class Operations:
    """Operations on jobs and datasets."""

    _retries: Retries

    def _asking(self) -> Ask | None:
        """Return the function that computes a first-passage time that a model's result lacks."""
        return None

    @operation
    def result(self, job_id: str) -> Flow[Model]:
        """Return the model of a job that has succeeded. Raises Conflict where it has not."""
        document = yield from flows.document(calls.get_result(job_id), self._retries)
        return model_of(document, ask=self._asking())

    @operation
    def result_document(self, job_id: str) -> Flow[Document]:
        """Return the result document of a job of any kind, unchanged."""
        return (yield from flows.document(calls.get_result(job_id), self._retries))

    # Jobs

    @operation
    def submit(
        self, job: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Flow[Document]:
        """Start a job and return its record.

        The idempotency key makes it one job even where it is sent again after a lost answer.
        """
        return (yield from submitted(job, idempotency_key, self._retries))

    @operation
    def validate(self, job: Mapping[str, Any]) -> Flow[Document]:
        """Check a job without running it; return it with its defaults and estimated duration."""
        return (yield from flows.document(calls.validate_job(job), self._retries))

    @operation
    def wait(
        self, job_id: str, *, timeout: float | None = None, progress: bool | Listener = True
    ) -> Flow[Model]:
        """Wait for a job and return its model. Raises JobFailed, JobCancelled, WaitingTimedOut."""
        document = yield from waited(job_id, self._retries, listener(progress), timeout)
        return model_of(document, ask=self._asking())

    @operation
    def watch(
        self, job_id: str, *, timeout: float | None = None, progress: bool | Listener = True
    ) -> Flow[Document]:
        """Wait for a job and return its record, however it ended. Raises WaitingTimedOut."""
        return (yield from waiting.ended(job_id, self._retries, listener(progress), timeout))

    @operation
    def job(self, job_id: str) -> Flow[Document]:
        """Return a job's record."""
        return (yield from flows.document(calls.get_job(job_id), self._retries))

    @operation
    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        dataset: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> Flow[list[Document]]:
        """List your jobs, newest first, at most `limit`."""
        filters = {"state": state, "kind": kind, "dataset": dataset}
        found = pages(
            lambda size, cursor: calls.list_jobs(size, cursor, filters, labels or {}),
            limit,
            self._retries,
        )
        return (yield from found)

    @operation
    def report(self, job_id: str) -> Flow[str]:
        """Return the job's report: one HTML file that opens without a network."""
        return (yield from flows.text(calls.get_report(job_id), self._retries))

    @operation
    def cancel(self, job_id: str) -> Flow[Document]:
        """Cancel a job that has not ended, and return its record."""
        return (yield from flows.document(calls.cancel_job(job_id), self._retries))

    @operation
    def delete_job(self, job_id: str) -> Flow[None]:
        """Delete a job that has ended, and its result."""
        yield from flows.nothing(calls.delete_job(job_id), self._retries)

    # Datasets

    @operation
    def upload(
        self, data: Any, *, t: Any = None, **layout: Unpack[LayoutOptions]
    ) -> Flow[Document]:
        """Make a dataset of any data that `identify` accepts, and return its description."""
        return (yield from uploaded(data, t, layout, self._retries))

    @operation
    def read(self, dataset_id: str, **layout: Unpack[LayoutOptions]) -> Flow[Document]:
        """Read the uploaded file of a dataset again under another layout, as a new dataset."""
        return (
            yield from flows.document(calls.read_dataset(dataset_id, asked(layout)), self._retries)
        )

    @operation
    def dataset(self, dataset_id: str) -> Flow[Document]:
        """Return a dataset's description."""
        return (yield from flows.document(calls.get_dataset(dataset_id), self._retries))

    @operation
    def datasets(self, *, limit: int = 100) -> Flow[list[Document]]:
        """List your datasets, newest first, at most `limit`."""
        return (yield from pages(calls.list_datasets, limit, self._retries))

    @operation
    def delete_dataset(self, dataset_id: str) -> Flow[None]:
        """Delete a dataset; results computed from it stay."""
        yield from flows.nothing(calls.delete_dataset(dataset_id), self._retries)


def listener(progress: bool | Listener) -> Listener:
    """Return the listener for a job's progress: the given one, a bar on a terminal, or none."""
    if callable(progress):
        return progress
    bar = ProgressBar()
    return bar if progress and bar.shown else silent


def of_data(
    data: Any,
    t: Any,
    layout: LayoutOptions,
    job: Document,
    retries: Retries,
    show: Listener,
    timeout: float | None,
) -> Flow[Document]:
    """Upload the data, submit the job, wait, and return the result document."""
    dataset = yield from uploaded(data, t, layout, retries)
    return (yield from computed({**job, "dataset": dataset["id"]}, None, retries, show, timeout))


def computed(
    job: Mapping[str, Any], key: str | None, retries: Retries, show: Listener, timeout: float | None
) -> Flow[Document]:
    """Submit the job, wait, and return the result document."""
    record = yield from submitted(job, key, retries)
    return (yield from waited(record["id"], retries, show, timeout))


def submitted(
    job: Mapping[str, Any], idempotency_key: str | None, retries: Retries
) -> Flow[Document]:
    """Submit a job, which is one job however often it is sent, and return its record."""
    key = idempotency_key or calls.new_idempotency_key()
    try:
        return (yield from flows.document(calls.create_job(job, key), retries))
    except (KeyboardInterrupt, Unreachable) as error:
        error.add_note(
            "It is unknown whether the job was accepted. "
            f"client.submit(job, idempotency_key={key!r}) finds out, without a second job."
        )
        raise


def waited(job_id: str, retries: Retries, show: Listener, timeout: float | None) -> Flow[Document]:
    """Wait for a job and return its result document."""
    record = yield from waiting.ended(job_id, retries, show, timeout)
    return (yield from waiting.result(record, retries))


def uploaded(data: Any, t: Any, layout: LayoutOptions, retries: Retries) -> Flow[Document]:
    """Make a dataset and return its description."""
    return (yield from flows.document(calls.create_dataset(upload_of(data, t, layout)), retries))


def pages(
    call: Callable[[int, str | None], Call], limit: int, retries: Retries
) -> Flow[list[Document]]:
    """Return at most `limit` items, from as many pages as necessary."""
    found: list[Document] = []
    cursor: str | None = None
    while len(found) < limit:
        page = yield from flows.document(call(min(PAGE, limit - len(found)), cursor), retries)
        found += page["items"]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    return found
