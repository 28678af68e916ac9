"""`python -m service`, the HTTP process.

The exit status is 2, with one line on standard error, if it cannot start.
"""

import asyncio
import gc
import resource
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import structlog
import uvicorn

from service.access.keyring import BadKeyFile
from service.app import create_app
from service.dependencies import Context
from service.requests import uploads
from service.settings import ServiceSettings
from storage.configuration import BadSettings, read
from storage.disk import PRIVATE
from storage.periodic import every
from storage.redis.connection import WeakDurability, check_durability, connect
from storage.retention_sweep import SWEEP_SECONDS, keep_swept
from storage.stores import StoreUnavailable
from storage.telemetry import TracingMissing, configure_logs

KEEP_ALIVE_SECONDS = 75
"""Seconds after which an idle connection is closed.

Proxies (60 s) and client libraries (5 to 60 s) must close it first. Otherwise a request would now
and then be sent into a connection that is just being closed.
"""
MOST_OPEN_FILES = 65_536
"""Open files, connections among them, that the process may have where the system allows it."""
_log = structlog.get_logger("service")


class CannotStart(Exception):
    """Error for what the operator must put right before the service can start."""


REASONS = (CannotStart, BadSettings, BadKeyFile, WeakDurability, TracingMissing)
"""Errors that the operator can put right; each names the setting or the file."""


class AcceptErrors:
    """Handler of an event loop's errors that reports refused connections once a second.

    Without free files, asyncio reports each attempt, 219 029 tracebacks (106 MB) in 76 s.
    """

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, error: dict[str, Any]) -> None:
        """Report one error."""
        if not str(error.get("message", "")).startswith("socket.accept()"):
            loop.default_exception_handler(error)
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + 1
            _log.error("connections refused", reason=str(error.get("exception")))


class Server(uvicorn.Server):
    """Uvicorn server that ends the requests waiting for jobs before it stops."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as Uvicorn does, but let a lack of files fill no log."""
        asyncio.get_running_loop().set_exception_handler(AcceptErrors())
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Set the flag that waiting requests watch, then stop as Uvicorn does."""
        self._context.stopping.set()
        super().handle_exit(sig, frame)


def prepare_folder(settings: ServiceSettings) -> None:
    """Create the data folder, check that it is writable, and remove what a killed process left.

    Raises CannotStart.
    """
    try:
        settings.data_dir.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        settings.scratch.mkdir(mode=PRIVATE, exist_ok=True)
        with (
            tempfile.TemporaryFile(dir=settings.data_dir),
            tempfile.TemporaryFile(dir=settings.scratch),
        ):
            uploads.sweep(settings.scratch, settings.data_dir)
    except OSError as error:
        raise CannotStart(
            f"cannot write to the data folder {settings.data_dir}: {error.strerror}"
        ) from None


def allow_open_files() -> None:
    """Raise this process's limit on open files as far as it may: the usual 1 024 are 400 uploads.

    Beyond the limit every connection is refused, and each refusal is a traceback in the log.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    with suppress(ValueError, OSError):  # macOS allows fewer than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def bind(settings: ServiceSettings) -> socket.socket:
    """Open the listening socket. Raises CannotStart if the address is taken or not available."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (settings.host, settings.port), family=family, backlog=2048
        )
    except OSError as error:
        raise CannotStart(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}"
        ) from None
    # Connections inherit the option. asyncio sets it only if the protocol is named, which
    # create_server does not. Without it, a response's body waits 40 ms until the caller
    # acknowledges the header.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def check_store(settings: ServiceSettings) -> None:
    """Check that the store is durable. Raises WeakDurability if it is not.

    A store that does not answer yet is no reason to stop: requests are answered with 503 until it
    does.
    """
    client = connect(settings.redis_url)
    try:
        check_durability(client, allow_weak=settings.allow_weak_durability)
    except StoreUnavailable as error:
        _log.warning("the store does not answer yet", error=str(error))
    finally:
        client.close()


def serve() -> None:
    """Serve until SIGINT or SIGTERM. Raises whatever `REASONS` names."""
    settings = read(ServiceSettings)
    allow_open_files()
    prepare_folder(settings)
    configure_logs()
    check_store(settings)
    # Large parts of forms are written here too, not into a small /tmp.
    tempfile.tempdir = str(settings.scratch.resolve())
    try:
        app = create_app(settings)
    except OSError as error:  # of the key file
        raise CannotStart(str(error)) from None
    context: Context = app.state.context
    if not settings.on_loopback and not context.keys.current():
        raise CannotStart(
            f"{settings.host} can be reached from outside and no API key is set; "
            "run python -m service.access new first"
        )
    listening = bind(settings)
    host, port = listening.getsockname()[:2]
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    _log.info("listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}")
    # The objects that exist now stay. Scanning them again would hold up every request for 0.07 s
    # whenever many callers arrive.
    gc.collect()
    gc.freeze()
    keep_swept(context.stores, settings.retention)
    # A process without free files could not delete the folders of its uploads either.
    sweep = partial(uploads.sweep, settings.scratch, settings.data_dir)
    every(SWEEP_SECONDS, "deleting left folders", sweep)
    # Uvicorn raises the signal again that ended it; the exit status is 0 all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        Server(config, context).run(sockets=[listening])
    finally:
        context.traces.close()


def main() -> int:
    """Run the service and return the exit status."""
    try:
        serve()
    except REASONS as error:
        print(f"itoscope: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
