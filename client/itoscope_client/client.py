"""The client that waits for each answer."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx

from itoscope_client import flows, operations, sending
from itoscope_client.inputs import LayoutOptions
from itoscope_client.models import Model, Passage, Rolling, Sweep
from itoscope_client.models.model import model_of
from itoscope_client.operations import Document
from itoscope_client.progress import Listener
from itoscope_client.retries import Retries

T = TypeVar("T")


class Client:
    """Itoscope over HTTP.

    url        default: ITOSCOPE_URL, or http://127.0.0.1:8000
    api_key    default: ITOSCOPE_API_KEY; none is needed where the service asks for none
    timeout    seconds to wait for a connection, and for an answer beyond what it is asked to wait
    retries    how often a request is tried again
    transport  of httpx, for tests and unusual networks

    May be shared by threads. Close it, or use it in `with`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = sending.settings_from(url, api_key, timeout)
        self._retries = Retries() if retries is None else retries
        self._reached = False
        self._http = httpx.Client(transport=transport, **self._settings.arguments)

    # Models

    def identify(
        self,
        data: Any,
        *,
        t: Any = None,
        parameters: Mapping[str, Any] | None = None,
        analysis: Mapping[str, Any] | None = None,
        preset: str | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Model:
        """From data to the model: upload, submit, wait, read.

        data         NumPy array, list of trajectories, dict of arrays, pandas or xarray object, or a path: CSV, JSON, NPY, NPZ,
                     Parquet, Arrow, and, converted here, HDF5, MATLAB, Zarr, netCDF, xvg
        t            sample times of arrays, where they are not `dt` apart
        parameters   of the identification, as in the interface: {"library": {"polynomial_degree": 3}}
        analysis     what to read off the model: {"passages": [{"from": -1, "to": 1}]}
        preset       "paper"
        timeout      seconds after which to stop waiting; the job goes on
        progress     False for none, or a function that is given the job's record
        layout       dt, time_column, id_column, state_columns, orientation, axes, time_unit, state_unit, gap_factor

        Raises InputError, Problem (of the service), JobFailed, JobCancelled, WaitingTimedOut, Unreachable.
        """
        job = operations.identification(parameters, analysis, preset, labels)
        flow = operations.of_data(data, t, layout, job, self._retries, operations.listener(progress), timeout)
        return self._model(self._run(flow))

    def roll(
        self,
        data: Any,
        *,
        t: Any = None,
        windows: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Rolling:
        """A window moved along one record of one variable: upload, submit, wait, read.

        data         as of `identify`, one trajectory
        windows      how many and how long: {"count": 50, "share": 0.2}, or {"length": 2000}
        parameters, labels, timeout, progress, layout   as of `identify`, and the same errors
        """
        job = operations.rolling(windows, parameters, labels)
        flow = operations.of_data(data, t, layout, job, self._retries, operations.listener(progress), timeout)
        return Rolling(self._run(flow))

    def sweep(
        self,
        data: Any,
        *,
        over: Sequence[Mapping[str, Any]],
        t: Any = None,
        parameters: Mapping[str, Any] | None = None,
        analysis: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Sweep:
        """The same data under several sets of parameters, whose sums are taken once: upload, submit, wait, read.

        over         what each set puts in place of `parameters`: [{"library": {"polynomial_degree": 3}}, {"estimator": …}, …]
        data, parameters, analysis, labels, timeout, progress, layout   as of `identify`, and the same errors

        A set that has no model does not hinder the others.
        """
        job = operations.sweep(over, parameters, analysis, labels)
        flow = operations.of_data(data, t, layout, job, self._retries, operations.listener(progress), timeout)
        return Sweep(self._run(flow), ask=self.passage)

    def analyse(
        self,
        model: Model | str | Mapping[str, Any],
        *,
        analysis: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
    ) -> Model:
        """Read more off a model: an earlier one, a job's id, or terms {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": …}}."""
        job = operations.generator(model, analysis, labels)
        return self._model(self._run(operations.computed(job, None, self._retries, operations.listener(progress), timeout)))

    def passage(self, model: Model | str, start: Any, end: Any) -> Passage:
        """First passage of a model; computed by the service where its result does not have it."""
        return self._run(operations.passage(model, start, end, self._retries))

    def result(self, job_id: str) -> Model:
        """The model of a job that has succeeded. Raises Conflict where it has not."""
        return self._model(self._run(operations.result(job_id, self._retries)))

    def result_document(self, job_id: str) -> Document:
        """The result of a job of any kind as the service gave it."""
        return self._run(operations.result(job_id, self._retries))

    # Jobs

    def submit(self, job: Mapping[str, Any], *, idempotency_key: str | None = None) -> Document:
        """Start a job; its record. Sent again after a lost answer it is still one job, for it goes under an idempotency key."""
        return self._run(operations.submitted(job, idempotency_key, self._retries))

    def validate(self, job: Mapping[str, Any]) -> Document:
        """Check a job without running it: with every default filled in, and about how long it takes."""
        return self._run(operations.validated(job, self._retries))

    def wait(self, job_id: str, *, timeout: float | None = None, progress: bool | Listener = True) -> Model:
        """Wait for a job, from wherever it was submitted. Raises JobFailed, JobCancelled, WaitingTimedOut."""
        return self._model(self._run(operations.waited(job_id, self._retries, operations.listener(progress), timeout)))

    def watch(self, job_id: str, *, timeout: float | None = None, progress: bool | Listener = True) -> Document:
        """Wait for a job; its record, however it ended."""
        return self._run(operations.watched(job_id, self._retries, operations.listener(progress), timeout))

    def job(self, job_id: str) -> Document:
        """Its record."""
        return self._run(operations.job(job_id, self._retries))

    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        dataset: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[Document]:
        """Your jobs, newest first, at most `limit`."""
        filters = {"state": state, "kind": kind, "dataset": dataset}
        return self._run(operations.jobs(filters, labels or {}, limit, self._retries))

    def report(self, job_id: str) -> str:
        """The job's report: one HTML file that opens without a network."""
        return self._run(operations.report(job_id, self._retries))

    def cancel(self, job_id: str) -> Document:
        """End a job that has not ended; its record."""
        return self._run(operations.cancelled(job_id, self._retries))

    def delete_job(self, job_id: str) -> None:
        """Forget a job that has ended, and its result."""
        self._run(operations.deleted_job(job_id, self._retries))

    # Datasets

    def upload(self, data: Any, *, t: Any = None, **layout: Unpack[LayoutOptions]) -> Document:
        """Make a dataset of anything `identify` takes; its description, with the report of what was read."""
        return self._run(operations.uploaded(data, t, layout, self._retries))

    def dataset(self, dataset_id: str) -> Document:
        """Its description."""
        return self._run(operations.dataset(dataset_id, self._retries))

    def datasets(self, *, limit: int = 100) -> list[Document]:
        """Your datasets, newest first."""
        return self._run(operations.datasets(limit, self._retries))

    def delete_dataset(self, dataset_id: str) -> None:
        """Forget the data; results computed from them stay."""
        self._run(operations.deleted_dataset(dataset_id, self._retries))

    # The machinery

    def close(self) -> None:
        """Give up the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _model(self, document: Mapping[str, Any]) -> Model:
        return model_of(document, ask=self.passage)

    def _run(self, flow: flows.Flow[T]) -> T:
        """Do what the flow asks for, until it is done."""
        answer: httpx.Response | None = None
        try:
            step = next(flow)
            while True:
                try:
                    if isinstance(step, flows.Pause):
                        time.sleep(step.seconds)
                        answer = None
                    elif isinstance(step, flows.Listen):
                        answer = self._listen(step)
                    else:
                        answer = self._http.send(sending.request(self._http, step, self._settings))
                        self._reached = True
                except httpx.ConnectError as error:
                    step = flow.throw(error if self._reached else flows.NobodyYet(str(error)))
                except BaseException as error:  # Ctrl-C too: the flow has something to say about it
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _listen(self, step: flows.Listen) -> httpx.Response:
        response = self._http.send(sending.request(self._http, step.call, self._settings, step.silence), stream=True)
        try:
            if sending.is_stream(response):
                for piece in response.iter_bytes():
                    if not step.hear(piece):
                        break
        finally:
            response.close()
        return response
