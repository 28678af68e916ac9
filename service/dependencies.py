"""What a request handler can ask for: the application's parts, and whose request this is."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol
from urllib.parse import urlsplit

from anyio import CapacityLimiter
from fastapi import Depends, Request

from contract.datasets import DatasetReport, Layout
from contract.messages import Message
from service.access.admission import Admission
from service.access.keyring import SCOPES, Key, KeyRing
from service.errors import Refusal
from service.job_polling import JobWatch
from service.metrics import Metrics
from service.settings import ServiceSettings, is_loopback
from storage.stores import Stores
from storage.telemetry import Traces

DEFAULT_TENANT = "default"
_NOBODY_ELSE = Key(DEFAULT_TENANT, sha256="0" * 64, scopes=frozenset(SCOPES))
"""Who asks on this very machine where there are no keys."""

Reader = Callable[[Path, str | None, str | None, Layout, Path], DatasetReport]
"""(upload, media type, file name, layout, folder to fill) → report of what was read. Raises UnreadableData."""


class Queue(Protocol):
    """Where the ids of accepted jobs go."""

    def publish(self, message: Message) -> None:
        """Tell a worker. May raise anything: the reaper publishes again what did not arrive."""
        ...


@dataclass(frozen=True, slots=True)
class Components:
    """The application's parts, put together in service/app.py."""

    settings: ServiceSettings
    stores: Stores
    reader: Reader
    queue: Queue
    keys: KeyRing
    admission: Admission
    metrics: Metrics
    reading: CapacityLimiter
    """Uploads read at the same time."""
    watch: JobWatch
    """Who waits for which job."""
    traces: Traces
    """What is told of jobs, where the operator asks for it."""
    stopping: threading.Event
    """Set when the process is asked to stop: whoever waits answers at once."""


# Coroutines that wait for nothing: as plain functions, each would cost every request a change of threads.


async def context_of(request: Request) -> Components:
    """The parts of the application that serves this request."""
    context = request.app.state.context
    assert isinstance(context, Components)
    return context


Context = Annotated[Components, Depends(context_of)]
"""The parts of the application, wherever a request is handled."""


async def tenant_of(request: Request, context: Context) -> str:
    """Whose request this is: to look needs a key that may `read`, all else one that may `write`.

    Raises Refusal: unauthorized where a key is needed and none known was given, forbidden, too-many-requests.
    """
    return _admitted(
        request, context, "read" if request.method in ("GET", "HEAD") else "write"
    ).tenant


async def writer_of(request: Request, context: Context) -> str:
    """Whose request this is, which needs a key that may `write` though it only looks. Raises Refusal as `tenant_of`."""
    return _admitted(request, context, "write").tenant


async def admin(request: Request, context: Context) -> None:
    """Only for keys that may `admin`. Raises Refusal as `tenant_of`."""
    _admitted(request, context, "admin")


def _admitted(request: Request, context: Context, scope: str) -> Key:
    key = _key_of(request, context)
    request.scope["allowance"] = context.admission.request(key.id)
    if scope not in key.scopes:
        raise Refusal(
            "forbidden",
            f"This API key lacks the scope `{scope}`.",
            hints=(
                f"The operator creates keys with python -m service.access.keys new --scope {scope}.",
            ),
        )
    return key


def still_admitted(request: Request, context: Context, tenant: str) -> bool:
    """Whether the key of a request that has been open for a while may still look: it may have been revoked since."""
    try:
        key = _key_of(request, context)
    except Refusal:
        return False
    return key.tenant == tenant and "read" in key.scopes


def _key_of(request: Request, context: Context) -> Key:
    keys = context.keys.current()
    if not keys and context.settings.on_loopback and _said_on_this_machine(request):
        return _NOBODY_ELSE
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    key = keys.holder(given.strip()) if scheme.lower() == "bearer" else None
    if key is None:
        raise unauthorized()
    return key


def unauthorized() -> Refusal:
    """As it is everywhere."""
    return Refusal(
        "unauthorized",
        "This address requires a valid API key.",
        hints=(
            "Send Authorization: Bearer <key>. The operator creates keys with python -m service.access.keys new.",
            "While no keys exist, only requests to http://127.0.0.1 and http://localhost are answered.",
        ),
        headers={"WWW-Authenticate": 'Bearer realm="itoscope"'},
    )


def _said_on_this_machine(request: Request) -> bool:
    """Whether neither the name we were called by nor the page that calls is another machine's.

    A web page from anywhere can make a browser here send requests to a loopback address (cross-site requests, DNS rebinding).
    """
    addresses = [f"http://{request.headers.get('host', '')}", *request.headers.getlist("origin")]
    try:
        return all(is_loopback(urlsplit(address).hostname or "") for address in addresses)
    except ValueError:
        return False


Tenant = Annotated[str, Depends(tenant_of)]
Administered = Depends(admin)
