"""Dependencies of request handlers: the application's components and the caller's tenant."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol
from urllib.parse import urlsplit

from fastapi import Depends, Request

from contract.datasets import DatasetReport, Layout
from contract.messages import Message
from service.access.admission import Admission
from service.access.keyring import SCOPES, Key, KeyRing
from service.errors import Refusal
from service.job_polling import JobWatch
from service.metrics import Metrics
from service.reading_turns import ReadingTurns
from service.settings import ServiceSettings, is_loopback
from storage.stores import Stores
from storage.telemetry import Traces

DEFAULT_TENANT = "default"
_LOCAL_KEY = Key(DEFAULT_TENANT, sha256="0" * 64, scopes=frozenset(SCOPES))
"""Key assumed for callers on this machine while no keys exist."""

Reader = Callable[[Path, str | None, str | None, Layout, Path, int], DatasetReport]
"""Function (upload, media type, file name, layout, folder to fill, bytes it may write) → report.

It raises UnreadableData, and OSError where the disk, or what it may write of it, is full.
"""


class Queue(Protocol):
    """Queue that takes the ids of accepted jobs."""

    def publish(self, message: Message) -> None:
        """Send a message to the workers.

        It may raise anything: the reaper publishes again what did not arrive.
        """
        ...


@dataclass(frozen=True, slots=True)
class Components:
    """The application's components, put together in service/app.py."""

    settings: ServiceSettings
    stores: Stores
    reader: Reader
    queue: Queue
    keys: KeyRing
    admission: Admission
    metrics: Metrics
    reading: ReadingTurns
    """Limit on the uploads that are read at the same time."""
    watch: JobWatch
    """Requests that wait for jobs."""
    traces: Traces
    """Traces of jobs, if the operator has enabled them."""
    stopping: threading.Event
    """Flag set when the process is asked to stop: waiting requests then answer at once."""


# These coroutines wait for nothing. As plain functions, each would cost every request a change of
# threads.


async def context_of(request: Request) -> Components:
    """Return the components of the application that serves this request."""
    context = request.app.state.context
    assert isinstance(context, Components)
    return context


Context = Annotated[Components, Depends(context_of)]
"""The application's components, as a parameter of a request handler."""


async def tenant_of(request: Request, context: Context) -> str:
    """Return the tenant; GET and HEAD need a key with scope `read`, everything else `write`.

    Raises Refusal: unauthorized if no valid key was given, forbidden, too-many-requests.
    """
    return _admitted(
        request, context, "read" if request.method in ("GET", "HEAD") else "write"
    ).tenant


async def writer_of(request: Request, context: Context) -> str:
    """Return the tenant of a GET request that needs the scope `write`.

    Raises Refusal as `tenant_of` does.
    """
    return _admitted(request, context, "write").tenant


async def admin(request: Request, context: Context) -> None:
    """Check for a key with scope `admin`. Raises Refusal as `tenant_of` does."""
    _admitted(request, context, "admin")


def _admitted(request: Request, context: Context, scope: str) -> Key:
    key = _key_of(request, context)
    request.scope["allowance"] = context.admission.request(key.id)
    if scope not in key.scopes:
        raise Refusal(
            "forbidden",
            f"This API key lacks the scope `{scope}`.",
            f"The operator creates keys with python -m service.access new --scope {scope}.",
        )
    return key


def still_admitted(request: Request, context: Context, tenant: str) -> bool:
    """Return whether the key of a long request may still read: it may have been revoked since."""
    try:
        key = _key_of(request, context)
    except Refusal:
        return False
    return key.tenant == tenant and "read" in key.scopes


def _key_of(request: Request, context: Context) -> Key:
    keys = context.keys.current()
    if not keys and context.settings.on_loopback and _is_local(request):
        return _LOCAL_KEY
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    key = keys.holder(given.strip()) if scheme.lower() == "bearer" else None
    if key is None:
        raise unauthorized()
    return key


def unauthorized() -> Refusal:
    """Build the refusal of a request without a valid API key."""
    return Refusal(
        "unauthorized",
        "This address requires a valid API key.",
        "Send Authorization: Bearer <key>. "
        "The operator creates keys with python -m service.access new.",
        "While no keys exist, only requests to http://127.0.0.1 and http://localhost are answered.",
        headers={"WWW-Authenticate": 'Bearer realm="itoscope"'},
    )


def _is_local(request: Request) -> bool:
    """Return whether the host and, if given, the origin of a request name this machine.

    What a page from elsewhere embeds, such as an image, has no origin but says `cross-site`; a link
    that somebody follows is `navigate`.

    A web page from anywhere can make a browser on this machine send requests to a loopback address
    (cross-site requests, DNS rebinding).
    """
    embedded = request.headers.get("sec-fetch-mode") != "navigate"
    if embedded and request.headers.get("sec-fetch-site") == "cross-site":
        return False
    addresses = [f"http://{request.headers.get('host', '')}", *request.headers.getlist("origin")]
    try:
        return all(is_loopback(urlsplit(address).hostname or "") for address in addresses)
    except ValueError:
        return False


Tenant = Annotated[str, Depends(tenant_of)]
Administered = Depends(admin)
