"""The clients: blocking and asynchronous, with address, key and time-outs over httpx."""

import asyncio
import os
import platform
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Self, TypedDict, TypeVar

import httpx

from itoscope_client import flows
from itoscope_client.batches import Batches
from itoscope_client.calls import Call
from itoscope_client.errors import InputError
from itoscope_client.flows import Retries
from itoscope_client.models.model import Ask

LOCAL = "http://127.0.0.1:8000"
T = TypeVar("T")


class _Arguments(TypedDict):
    base_url: str
    headers: dict[str, str]
    timeout: httpx.Timeout


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """Address, key and time-out of the service; not shown, because the key is secret."""

    url: str
    api_key: str | None
    timeout: float

    @property
    def arguments(self) -> _Arguments:
        """Arguments of an httpx client."""
        headers = {
            "User-Agent": f"itoscope-client/{version()} Python/{platform.python_version()}",
            "Accept": "application/json",
        }
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return {"base_url": self.url, "headers": headers, "timeout": httpx.Timeout(self.timeout)}


def settings_from(url: str | None, api_key: str | None, timeout: float) -> Settings:
    """Read the settings from the arguments or else the environment. Raises InputError."""
    address = (url or os.environ.get("ITOSCOPE_URL") or LOCAL).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise InputError(
            f"{address!r} is not an address: write it like https://itoscope.example.org"
        )
    return Settings(
        address, (api_key or os.environ.get("ITOSCOPE_API_KEY") or "").strip() or None, timeout
    )


def request(
    http: httpx.Client | httpx.AsyncClient,
    call: Call,
    settings: Settings,
    silence: float | None = None,
) -> httpx.Request:
    """Build a request, whose body can be sent once.

    silence   seconds to wait for each piece of the answer; None: as long as the call may take
    """
    headers = dict(call.headers)
    content: Iterator[bytes] | AsyncIterator[bytes] | None = None
    if call.upload is not None:
        # A known length makes a truncated upload recognisable.
        headers["Content-Length"] = str(call.upload.size)
        pieces = call.upload.pieces()
        content = pieces if isinstance(http, httpx.Client) else _in_turn(pieces)
    read = settings.timeout + call.wait if silence is None else silence
    timeout = httpx.Timeout(settings.timeout, read=read)
    return http.build_request(
        call.method,
        call.path,
        params=dict(call.params),
        headers=headers,
        json=call.json,
        content=content,
        timeout=timeout,
    )


def is_stream(response: httpx.Response) -> bool:
    """Return whether the answer is a stream of events."""
    return response.status_code == 200 and response.headers.get("content-type", "").startswith(
        "text/event-stream"
    )


def version() -> str:
    """Return this client's version, which is unknown in a checkout."""
    try:
        return metadata.version("itoscope-client")
    except metadata.PackageNotFoundError:
        return "0+checkout"


async def _in_turn(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


class _Driver(Batches):
    """The driver of flows, which carries them out step by step."""

    def __init__(
        self, url: str | None, api_key: str | None, timeout: float, retries: Retries | None
    ) -> None:
        self._settings = settings_from(url, api_key, timeout)
        self._retries = Retries() if retries is None else retries
        self._reached = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings.url!r})"

    async def _carry_out(self, flow: flows.Flow[T]) -> T:
        """Carry out the flow's steps until it ends, and return its outcome."""
        try:
            step = next(flow)
            while True:
                try:
                    answer = await self._answer(step)
                    self._reached = self._reached or isinstance(step, Call)
                except httpx.ConnectError as error:
                    step = flow.throw(error if self._reached else flows.NeverReached(str(error)))
                except BaseException as error:  # Ctrl-C, cancellation too: the flow adds a note
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _answer(self, step: flows.Step) -> httpx.Response | None:
        """Send, pause or listen, and return the answer if there is one."""
        raise NotImplementedError


class Client(_Driver):
    """Client of Itoscope over HTTP, which threads may share. Close it, or use it in `with`.

    url         address of the service; default: ITOSCOPE_URL, or http://127.0.0.1:8000
    api_key     default: ITOSCOPE_API_KEY; unnecessary where the service requires none
    timeout     seconds to wait for a connection, and for an answer beyond its intended wait
    retries     how often a request is tried again
    transport   transport of httpx, for tests and unusual networks
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
        super().__init__(url, api_key, timeout, retries)
        self._http = httpx.Client(transport=transport, **self._settings.arguments)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _asking(self) -> Ask:
        return self.passage

    def _run(self, flow: flows.Flow[T]) -> T:
        """Carry out the flow; its steps block here, so that nothing is ever suspended."""
        try:
            self._carry_out(flow).send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise AssertionError("a step of the blocking client was suspended")

    async def _answer(self, step: flows.Step) -> httpx.Response | None:
        if isinstance(step, flows.Pause):
            time.sleep(step.seconds)
            return None
        if isinstance(step, Call):
            return self._http.send(request(self._http, step, self._settings))
        response = self._http.send(
            request(self._http, step.call, self._settings, step.silence), stream=True
        )
        try:
            if is_stream(response):
                for piece in response.iter_bytes():
                    if not step.hear(piece):
                        break
        finally:
            response.close()
        return response


class AsyncClient(_Driver):
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
        super().__init__(url, api_key, timeout, retries)
        self._http = httpx.AsyncClient(transport=transport, **self._settings.arguments)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, flow: flows.Flow[T]) -> T:
        return await self._carry_out(flow)

    async def _answer(self, step: flows.Step) -> httpx.Response | None:
        if isinstance(step, flows.Pause):
            await asyncio.sleep(step.seconds)
            return None
        if isinstance(step, Call):
            return await self._http.send(request(self._http, step, self._settings))
        response = await self._http.send(
            request(self._http, step.call, self._settings, step.silence), stream=True
        )
        try:
            if is_stream(response):
                async for piece in response.aiter_bytes():
                    if not step.hear(piece):
                        break
        finally:
            await response.aclose()
        return response
