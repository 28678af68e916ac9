"""The whole installation on one machine: store, worker and service."""

import contextlib
import http.client
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from standalone import valkey
from standalone.errors import CannotStart, Failed
from standalone.preflight import require_folder, require_port, sole_user
from standalone.settings import StandaloneSettings
from standalone.supervisor import Program, Supervisor

ROOT = Path(__file__).resolve().parents[1]
READY_SECONDS = 60.0
"""The store must have read its log, and the service must answer, within this long [s]."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What is running."""

    supervisor: Supervisor
    url: str
    data_dir: Path
    logs: Path


def serve(settings: StandaloneSettings, *, verbose: bool) -> None:
    """Run everything until a signal asks to stop. Raises CannotStart, Failed."""
    with installation(settings, verbose=verbose) as running:
        if running.supervisor.stopping:
            return
        print(f"Itoscope is ready at {running.url} (documentation: {running.url}/docs, data: {running.data_dir})", flush=True)
        running.supervisor.watch(until=lambda: False, interval=0.2)
        print("Stopping.", file=sys.stderr, flush=True)


@contextlib.contextmanager
def installation(settings: StandaloneSettings, *, verbose: bool) -> Iterator[Installation]:
    """Start store, worker and service, hand them over once the service answers, and stop them.

    Where a signal comes before that, `supervisor.stopping` is set on entry. Raises CannotStart before anything was started, or
    where the service refuses its settings; Failed where a part ends by itself or does not get ready.
    """
    data_dir = settings.data_dir.absolute()
    require_folder(data_dir)
    with sole_user(data_dir) as lock:
        require_port(settings.host, settings.port)
        if settings.redis_url is not None:
            if not valkey.answers(settings.redis_url):
                shown = valkey.without_password(settings.redis_url)
                raise CannotStart(
                    f"no Redis server answers at {shown}; start it, or unset ITOSCOPE_REDIS_URL to use the embedded one"
                )
            server = None
        else:
            server = valkey.find_server()

        logs, store_folder = data_dir / "logs", data_dir / "valkey"
        for folder in (logs, store_folder):
            folder.mkdir(mode=0o700, exist_ok=True)

        def log(name: str) -> Path | int:
            return sys.stderr.fileno() if verbose else logs / f"{name}.log"

        with Supervisor(_say, keep_open=(lock,)) as supervisor:
            url = settings.redis_url
            if server is not None:
                store = valkey.embedded(server, store_folder, log("valkey"), os.environ)
                supervisor.start(store.program)
                url = store.url
                _get_ready(supervisor, "embedded store", lambda: valkey.answers(store.url), logs / "valkey.log")

            environment = _environment(settings, data_dir, str(url))
            service = Program("service", (sys.executable, "-P", "-m", "service"), environment, ROOT, log("service"))
            worker = Program("worker", (sys.executable, "-P", "-m", "worker"), environment, ROOT, log("worker"), restart=True)
            if not supervisor.stopping:
                supervisor.start(service)
                supervisor.start(worker)
                try:
                    _get_ready(supervisor, "service", lambda: _is_ready(settings), logs / "service.log")
                except Failed as failure:
                    if failure.status == 2:  # the service's own word for settings it refuses
                        raise CannotStart(last_lines(failure.log, 1) or str(failure)) from failure
                    raise
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            yield Installation(supervisor, f"http://{host}:{settings.port}", data_dir, logs)


def last_lines(log: Path | None, count: int) -> str:
    """The end of a log file, as far as there is one."""
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 100_000))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])


def _get_ready(supervisor: Supervisor, name: str, ready: Callable[[], bool], log: Path) -> None:
    if not supervisor.watch(ready, seconds=READY_SECONDS) and not supervisor.stopping:
        raise Failed(f"the {name} was not ready after {READY_SECONDS:.0f} s", log)


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
    """What the service and the worker are given: ours resolved, the caller's other settings as they are."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ITOSCOPE_HOST": settings.host,
        "ITOSCOPE_PORT": str(settings.port),
        "ITOSCOPE_DATA_DIR": str(data_dir),
        "ITOSCOPE_REDIS_URL": redis_url,
        "ITOSCOPE_API_KEY_FILE": str((settings.api_key_file or data_dir / "api-keys").absolute()),
    }
    return environment


def _say(line: str) -> None:
    print(f"itoscope: {line}", file=sys.stderr, flush=True)
