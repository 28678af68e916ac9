"""Starting and stopping the real process."""

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from contract.jobs import IdentificationJob
from service.__main__ import AcceptErrors, allow_open_files, bind, main
from service.settings import ServiceSettings
from storage.blobs import ResultStore
from storage.local_blobs import Folder
from storage.redis.connection import connect
from storage.redis.jobs import JobStore

ROOT = Path(__file__).resolve().parents[2]


def _environment(data: Path, **more: str) -> dict[str, str]:
    # Port 1 is nobody's: the process must start, and say 503, while the store is away.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ITOSCOPE_")}
    return {
        **kept,
        "ITOSCOPE_DATA_DIR": str(data),
        "ITOSCOPE_REDIS_URL": "redis://127.0.0.1:1/0",
        "ITOSCOPE_PORT": "0",
        **more,
    }


def _complaint(status: int, said: str) -> str:
    assert status == 2, said
    complaint = [line for line in said.splitlines() if not line.startswith("{")]
    assert len(complaint) == 1, said
    assert complaint[0].startswith("itoscope: ")
    return complaint[0]


@pytest.fixture
def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[dict[str, str]], str]:
    """What `python -m service` complains of, asked in this process: to start one takes a second."""
    monkeypatch.setattr("service.__main__.configure_logs", lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", None)

    def ask(environment: dict[str, str]) -> str:
        monkeypatch.setattr(os, "environ", environment)
        return _complaint(main(), capsys.readouterr().err)

    return ask


@contextmanager
def _running(environment: dict[str, str]) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "service"],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        url = next(json.loads(line)["url"] for line in process.stderr if '"listening"' in line)
        yield url, process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.slow
def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        environment = _environment(tmp_path, ITOSCOPE_PORT=str(port))
        command = [sys.executable, "-m", "service"]
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert str(port) in _complaint(ended.returncode, ended.stderr)


def test_a_folder_that_cannot_be_written_is_one_clear_line(
    refused: Callable[[dict[str, str]], str], tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file, not a folder")
    assert "data" in refused(_environment(tmp_path / "data"))


@pytest.mark.parametrize(("name", "value"), [("ITOSCOPE_PORT", "http"), ("ITOSCOPE_READERS", "0")])
def test_a_bad_setting_is_named(
    refused: Callable[[dict[str, str]], str], tmp_path: Path, name: str, value: str
) -> None:
    assert name in refused(_environment(tmp_path, **{name: value}))


def test_an_open_address_without_keys_is_refused(
    refused: Callable[[dict[str, str]], str], tmp_path: Path
) -> None:
    assert "python -m service.access new" in refused(
        _environment(tmp_path, ITOSCOPE_HOST="0.0.0.0")
    )


@pytest.mark.slow
def test_it_runs_without_redis_says_so_and_stops_when_asked(tmp_path: Path) -> None:
    with _running(_environment(tmp_path)) as (url, process):
        assert httpx.get(f"{url}/healthz").status_code == 200
        assert httpx.get(f"{url}/readyz").json()["code"] == "store-unavailable"
        answer = httpx.post(
            f"{url}/v1/jobs",
            json={
                "kind": "generator",
                "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}},
            },
        )
        assert (answer.status_code, answer.json()["code"]) == (503, "store-unavailable")
        assert int(answer.headers["retry-after"]) > 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0


@pytest.mark.slow
def test_serving_process_never_loads_the_numerical_libraries(tmp_path: Path) -> None:
    code = (
        "import sys, service.__main__; print(sorted(set(sys.modules) & "
        "{'scipy', 'sklearn', 'numba', 'pyarrow', 'pandas', 'worker'}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout.strip() == "[]"


def test_the_body_of_an_answer_does_not_wait_for_its_header_to_be_acknowledged() -> None:
    with (
        bind(ServiceSettings(port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.slow
def test_the_limit_on_open_files_is_raised_as_far_as_it_may() -> None:
    """400 uploads that trickled took all 1 024 files, and refusals filled the log: 1.4 MB/s."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        allow_open_files()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert hard == before[1]
        assert soft > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_refused_for_want_of_files_fill_no_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They filled it with 106 MB of tracebacks in 76 s."""
    reported: list[dict[str, Any]] = []

    class Loop(asyncio.SelectorEventLoop):
        def default_exception_handler(self, context: dict[str, Any]) -> None:
            reported.append(context)

    handler, loop = AcceptErrors(), Loop()
    refused = {"message": "socket.accept() out of system resource", "exception": OSError(24, "x")}
    with structlog.testing.capture_logs() as lines:
        for _ in range(1000):
            handler(loop, refused)
    handler(loop, {"message": "another"})
    loop.close()
    assert [line["event"] for line in lines] == ["connections refused"]
    assert reported == [{"message": "another"}], "all else is reported as before"


def test_what_is_older_than_anyone_needs_is_deleted(empty_redis_url: str, tmp_path: Path) -> None:
    jobs, results = JobStore(connect(empty_redis_url)), ResultStore(Folder(tmp_path))

    job_id = jobs.submit(
        "lab", IdentificationJob(kind="identification", dataset="ds_abc")
    ).record.id
    assert jobs.claim(job_id, "worker", 30)
    assert jobs.succeed(job_id, 1, results.put("lab", job_id, 1, b"{}"))
    settings = {"ITOSCOPE_REDIS_URL": empty_redis_url, "ITOSCOPE_KEEP_RECORDS_DAYS": "1"}
    for days, kept in (("1", True), ("0", False)):
        with _running(_environment(tmp_path, ITOSCOPE_KEEP_RESULTS_DAYS=days, **settings)):
            end = time.monotonic() + (0.5 if kept else 10)
            while time.monotonic() < end and any(tmp_path.rglob(f"{job_id}*")):
                time.sleep(0.02)
        assert any(tmp_path.rglob(f"{job_id}*")) is kept
    assert jobs.get("lab", job_id) is not None
