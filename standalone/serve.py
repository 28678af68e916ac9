"""The whole installation on one machine: its settings, store, worker and service."""

import contextlib
import http.client
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from standalone import valkey
from standalone.errors import CannotStart, Failed, last_lines
from standalone.preflight import require_folder, require_port, sole_user
from standalone.supervisor import REFUSED, Program, Supervisor
from storage.configuration import Settings

ROOT = Path(__file__).resolve().parents[1]
FALSE_STARTS = 3
"""Number of deaths of a worker before all is ready after which another start is pointless."""
READY_SECONDS = 60.0
"""Longest time for the store to read its log, and for the service to answer [s]."""


class StandaloneSettings(Settings):
    """Settings of the supervisor, which hands them on to the service and the worker, resolved."""

    host: str = "127.0.0.1"
    """Address the service listens on."""
    port: int = Field(default=8000, ge=1, le=65535)
    data_dir: Path = Path("data")
    """Folder of datasets, results, the embedded server's log of writes, and logs."""
    redis_url: str | None = None
    """Redis or Valkey server to be used instead of an embedded one."""
    api_key_file: Path | None = None
    """The service's key file, where it is not `<data dir>/api-keys`."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Installation that is running."""

    supervisor: Supervisor
    url: str
    data_dir: Path
    logs: Path


def serve(settings: StandaloneSettings, *, verbose: bool) -> None:
    """Run everything until a signal asks to stop. Raise CannotStart, Failed."""
    with installation(settings, verbose=verbose) as running:
        if running.supervisor.stopping:
            return
        print(
            f"Itoscope is ready at {running.url} "
            f"(documentation: {running.url}/docs, data: {running.data_dir})",
            flush=True,
        )
        running.supervisor.watch(until=lambda: False, interval=0.2)
        print("Stopping.", file=sys.stderr, flush=True)


@contextlib.contextmanager
def installation(settings: StandaloneSettings, *, verbose: bool) -> Iterator[Installation]:
    """Start store, worker and service, yield them once the service answers, and stop them.

    Where a signal comes before that, `supervisor.stopping` is set on entry. Raise CannotStart
    before anything was started, or where the service refuses its settings; Failed where a part ends
    by itself or does not become ready.
    """
    data_dir = settings.data_dir.absolute()
    require_folder(data_dir)
    with sole_user(data_dir) as lock:
        require_port(settings.host, settings.port)
        server = valkey.find_server() if settings.redis_url is None else None
        if settings.redis_url is not None and not valkey.answers(settings.redis_url):
            shown = valkey.without_password(settings.redis_url)
            raise CannotStart(
                f"no Redis server answers at {shown}; start it, "
                "or unset ITOSCOPE_REDIS_URL to use the embedded one"
            )
        with Supervisor(_say, keep_open=(lock,)) as supervisor:
            parts = _Parts(supervisor, settings, data_dir, verbose)
            redis_url = parts.start_store(server) if server is not None else str(settings.redis_url)
            parts.start_worker_and_service(redis_url)
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            yield Installation(supervisor, f"http://{host}:{settings.port}", data_dir, parts.logs)


class _Parts:
    """Parts of the installation: how each is started, and when it counts as ready."""

    def __init__(
        self, supervisor: Supervisor, settings: StandaloneSettings, data_dir: Path, verbose: bool
    ) -> None:
        self.logs = data_dir / "logs"
        self._supervisor = supervisor
        self._settings = settings
        self._data_dir = data_dir
        self._verbose = verbose
        self.logs.mkdir(mode=0o700, exist_ok=True)

    def start_store(self, server: Path) -> str:
        """Start the embedded store, wait until it answers, and return its URL."""
        folder = self._data_dir / "valkey"
        folder.mkdir(mode=0o700, exist_ok=True)
        store = valkey.embedded(server, folder, self._log("valkey"), os.environ)
        child = self._supervisor.start(store.program)
        self._wait(lambda: child.failures > 0 or valkey.answers(store.url), "valkey")
        if child.failures:
            raise Failed("the embedded store ended while it started", self.logs / "valkey.log")
        return store.url

    def start_worker_and_service(self, redis_url: str) -> None:
        """Start both and wait until jobs can run. Raise CannotStart if one refuses its settings."""
        # A part that is killed leaves its temporary files; in this folder the next start, or the
        # end of a demonstration, deletes them.
        temporary = self._data_dir / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(mode=0o700)
        environment = {
            **_environment(self._settings, self._data_dir, redis_url),
            "TMPDIR": str(temporary),
        }

        def program(name: str, *, restart: bool) -> Program:
            return Program(
                name,
                (sys.executable, "-P", "-m", name),
                environment,
                ROOT,
                self._log(name),
                restart=restart,
            )

        if self._supervisor.stopping:
            return
        self._supervisor.start(program("service", restart=False))
        worker = self._supervisor.start(program("worker", restart=True))
        try:
            self._wait(
                lambda: worker.failures == FALSE_STARTS or _is_ready(self._settings), "service"
            )
        except Failed as failure:
            if failure.status == REFUSED:
                raise CannotStart(
                    re.sub(r"^itoscope[^:]*: ", "", last_lines(failure.log, 1)) or str(failure)
                ) from failure
            raise
        if worker.failures == FALSE_STARTS:
            raise Failed(
                f"the worker ended {FALSE_STARTS} times while it started", self.logs / "worker.log"
            )

    def _log(self, name: str) -> Path | int:
        return sys.stderr.fileno() if self._verbose else self.logs / f"{name}.log"

    def _wait(self, ready: Callable[[], bool], name: str) -> None:
        if (
            not self._supervisor.watch(ready, seconds=READY_SECONDS)
            and not self._supervisor.stopping
        ):
            raise Failed(
                f"the {name} was not ready after {READY_SECONDS:.0f} s", self.logs / f"{name}.log"
            )


def _is_ready(settings: StandaloneSettings) -> bool:
    # The address to listen on may be the wildcard, which cannot be connected to everywhere.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    connection = http.client.HTTPConnection(host, settings.port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _environment(settings: StandaloneSettings, data_dir: Path, redis_url: str) -> dict[str, str]:
    """Return the environment of service and worker: our settings resolved, all others unchanged."""
    return {
        # One person's machine: nobody waits for long requests of others.
        "ITOSCOPE_SHUTDOWN_SECONDS": "3",
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ITOSCOPE_HOST": settings.host,
        "ITOSCOPE_PORT": str(settings.port),
        "ITOSCOPE_DATA_DIR": str(data_dir),
        "ITOSCOPE_REDIS_URL": redis_url,
        "ITOSCOPE_API_KEY_FILE": str((settings.api_key_file or data_dir / "api-keys").absolute()),
        **(
            {"ITOSCOPE_SECRETS_DIR": str(settings.secrets_dir.absolute())}
            if settings.secrets_dir is not None
            else {}
        ),
    }


def _say(line: str) -> None:
    print(f"itoscope: {line}", file=sys.stderr, flush=True)
