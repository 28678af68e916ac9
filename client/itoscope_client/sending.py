"""The requests of httpx for calls, with address, key and time-outs."""

import os
import platform
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import TypedDict

import httpx

from itoscope_client.calls import Call
from itoscope_client.errors import InputError

LOCAL = "http://127.0.0.1:8000"


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
