"""The client whose methods wait for each answer."""

import time
from types import TracebackType
from typing import Self, TypeVar

import httpx

from itoscope_client import flows, sending
from itoscope_client.kinds import Kinds
from itoscope_client.models.model import Ask
from itoscope_client.retries import Retries

T = TypeVar("T")


class Client(Kinds):
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
        self._settings = sending.settings_from(url, api_key, timeout)
        self._retries = Retries() if retries is None else retries
        self._reached = False
        self._http = httpx.Client(transport=transport, **self._settings.arguments)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _asking(self) -> Ask:
        return self.passage

    def _run(self, flow: flows.Flow[T]) -> T:
        """Carry out the flow's steps until it ends, and return its outcome."""
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
                    step = flow.throw(error if self._reached else flows.NeverReached(str(error)))
                except BaseException as error:  # Ctrl-C too: the flow adds a note to it
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _listen(self, step: flows.Listen) -> httpx.Response:
        response = self._http.send(
            sending.request(self._http, step.call, self._settings, step.silence), stream=True
        )
        try:
            if sending.is_stream(response):
                for piece in response.iter_bytes():
                    if not step.hear(piece):
                        break
        finally:
            response.close()
        return response
