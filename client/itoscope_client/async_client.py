"""The client for asynchronous programs: the same methods, to be awaited."""

import asyncio
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


class AsyncClient:
    """Itoscope over HTTP, for asyncio. Arguments as of `Client`; close it, or use it in `async with`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: Retries | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = sending.settings_from(url, api_key, timeout)
        self._retries = Retries() if retries is None else retries
        self._reached = False
        self._http = httpx.AsyncClient(transport=transport, **self._settings.arguments)

    # Models

    async def identify(
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
        """From data to the model: upload, submit, wait, read. Arguments and errors as of `Client.identify`."""
        job = operations.identification(parameters, analysis, preset, labels)
        flow = operations.of_data(data, t, layout, job, self._retries, operations.listener(progress), timeout)
        return model_of(await self._run(flow))

    async def roll(
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
        """A window moved along one record of one variable. Arguments and errors as of `Client.roll`."""
        job = operations.rolling(windows, parameters, labels)
        flow = operations.of_data(data, t, layout, job, self._retries, operations.listener(progress), timeout)
        return Rolling(await self._run(flow))

    async def sweep(
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
        """The same data under several sets of parameters. Arguments and errors as of `Client.sweep`."""
        job = operations.sweep(over, parameters, analysis, labels)
        flow = operations.of_data(data, t, layout, job, self._retries, operations.listener(progress), timeout)
        return Sweep(await self._run(flow))

    async def analyse(
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
        return model_of(await self._run(operations.computed(job, None, self._retries, operations.listener(progress), timeout)))

    async def passage(self, model: Model | str, start: Any, end: Any) -> Passage:
        """First passage of a model; computed by the service where its result does not have it."""
        return await self._run(operations.passage(model, start, end, self._retries))

    async def result(self, job_id: str) -> Model:
        """The model of a job that has succeeded. Raises Conflict where it has not."""
        return model_of(await self._run(operations.result(job_id, self._retries)))

    async def result_document(self, job_id: str) -> Document:
        """The result of a job of any kind as the service gave it."""
        return await self._run(operations.result(job_id, self._retries))

    # Jobs

    async def submit(self, job: Mapping[str, Any], *, idempotency_key: str | None = None) -> Document:
        """Start a job; its record. Sent again after a lost answer it is still one job, for it goes under an idempotency key."""
        return await self._run(operations.submitted(job, idempotency_key, self._retries))

    async def validate(self, job: Mapping[str, Any]) -> Document:
        """Check a job without running it: with every default filled in, and about how long it takes."""
        return await self._run(operations.validated(job, self._retries))

    async def wait(self, job_id: str, *, timeout: float | None = None, progress: bool | Listener = True) -> Model:
        """Wait for a job, from wherever it was submitted. Raises JobFailed, JobCancelled, WaitingTimedOut."""
        return model_of(await self._run(operations.waited(job_id, self._retries, operations.listener(progress), timeout)))

    async def watch(self, job_id: str, *, timeout: float | None = None, progress: bool | Listener = True) -> Document:
        """Wait for a job; its record, however it ended."""
        return await self._run(operations.watched(job_id, self._retries, operations.listener(progress), timeout))

    async def job(self, job_id: str) -> Document:
        """Its record."""
        return await self._run(operations.job(job_id, self._retries))

    async def jobs(
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
        return await self._run(operations.jobs(filters, labels or {}, limit, self._retries))

    async def report(self, job_id: str) -> str:
        """The job's report: one HTML file that opens without a network."""
        return await self._run(operations.report(job_id, self._retries))

    async def cancel(self, job_id: str) -> Document:
        """End a job that has not ended; its record."""
        return await self._run(operations.cancelled(job_id, self._retries))

    async def delete_job(self, job_id: str) -> None:
        """Forget a job that has ended, and its result."""
        await self._run(operations.deleted_job(job_id, self._retries))

    # Datasets

    async def upload(self, data: Any, *, t: Any = None, **layout: Unpack[LayoutOptions]) -> Document:
        """Make a dataset of anything `identify` takes; its description, with the report of what was read."""
        return await self._run(operations.uploaded(data, t, layout, self._retries))

    async def dataset(self, dataset_id: str) -> Document:
        """Its description."""
        return await self._run(operations.dataset(dataset_id, self._retries))

    async def datasets(self, *, limit: int = 100) -> list[Document]:
        """Your datasets, newest first."""
        return await self._run(operations.datasets(limit, self._retries))

    async def delete_dataset(self, dataset_id: str) -> None:
        """Forget the data; results computed from them stay."""
        await self._run(operations.deleted_dataset(dataset_id, self._retries))

    # The machinery

    async def close(self) -> None:
        """Give up the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _run(self, flow: flows.Flow[T]) -> T:
        """Do what the flow asks for, until it is done."""
        answer: httpx.Response | None = None
        try:
            step = next(flow)
            while True:
                try:
                    if isinstance(step, flows.Pause):
                        await asyncio.sleep(step.seconds)
                        answer = None
                    elif isinstance(step, flows.Listen):
                        answer = await self._listen(step)
                    else:
                        answer = await self._http.send(sending.request(self._http, step, self._settings))
                        self._reached = True
                except httpx.ConnectError as error:
                    step = flow.throw(error if self._reached else flows.NobodyYet(str(error)))
                except BaseException as error:  # cancellation too: the flow has something to say about it
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _listen(self, step: flows.Listen) -> httpx.Response:
        response = await self._http.send(sending.request(self._http, step.call, self._settings, step.silence), stream=True)
        try:
            if sending.is_stream(response):
                async for piece in response.aiter_bytes():
                    if not step.hear(piece):
                        break
        finally:
            await response.aclose()
        return response
