"""The client for asynchronous programs, whose methods are awaited."""

import asyncio
from types import TracebackType
from typing import Self, TypeVar

import httpx

from itoscope_client import flows, sending
from itoscope_client.kinds import Kinds
from itoscope_client.retries import Retries

T = TypeVar("T")


class AsyncClient(Kinds):
    """Client of Itoscope for asyncio, with `Client`'s arguments. Close it, or use `async with`."""

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

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, flow: flows.Flow[T]) -> T:
        """Carry out the flow's steps until it ends, and return its outcome."""
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
                        answer = await self._http.send(
                            sending.request(self._http, step, self._settings)
                        )
                        self._reached = True
                except httpx.ConnectError as error:
                    step = flow.throw(error if self._reached else flows.NeverReached(str(error)))
                except BaseException as error:  # cancellation too: the flow adds a note to it
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _listen(self, step: flows.Listen) -> httpx.Response:
        response = await self._http.send(
            sending.request(self._http, step.call, self._settings, step.silence), stream=True
        )
        try:
            if sending.is_stream(response):
                async for piece in response.aiter_bytes():
                    if not step.hear(piece):
                        break
        finally:
            await response.aclose()
        return response
