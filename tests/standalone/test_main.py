"""The command line: one clear line and a status, before anything is started."""

import os
import socket
import threading
from pathlib import Path

import pytest

from standalone.__main__ import main
from standalone.preflight import free_port, sole_user


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ITOSCOPE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ITOSCOPE_DATA_DIR", str(tmp_path / "my data"))
    monkeypatch.setenv("ITOSCOPE_PORT", str(free_port()))


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> "Line":
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr("standalone.supervisor.subprocess.Popen", never)
    return Line(capsys)


class Line:
    """The one line that `serve` leaves on standard error with status 2."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def of_serve(self) -> str:
        assert main(["serve"]) == 2
        out, err = self._capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith("itoscope: ")
        return err


def test_a_taken_port(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setenv("ITOSCOPE_PORT", str(port))
        assert f"port {port} is taken" in line.of_serve()


@pytest.mark.parametrize("port", ["eighty", "-1", "65536", ""])
def test_a_port_that_is_none(line: Line, monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("ITOSCOPE_PORT", port)
    assert "ITOSCOPE_PORT" in line.of_serve()


def test_a_folder_that_cannot_be_written(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ITOSCOPE_DATA_DIR", str(tmp_path / "file" / "data"))
    assert "cannot write to the data folder" in line.of_serve()


def test_a_folder_in_use(line: Line, tmp_path: Path) -> None:
    (tmp_path / "my data").mkdir()
    with sole_user(tmp_path / "my data"):
        assert "in use by another Itoscope" in line.of_serve()


def test_a_redis_server_that_does_not_answer_is_named_without_its_password(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITOSCOPE_REDIS_URL", "redis://:hush@127.0.0.1:1/0")
    said = line.of_serve()
    assert "redis://127.0.0.1:1/0" in said
    assert "hush" not in said


def test_a_redis_server_that_wants_another_password(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            connection, _ = server.accept()
            with connection:
                while connection.recv(4096):
                    connection.sendall(
                        b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
                    )

        threading.Thread(target=refuse, daemon=True).start()
        monkeypatch.setenv(
            "ITOSCOPE_REDIS_URL", f"redis://:hush@127.0.0.1:{server.getsockname()[1]}/0"
        )
        said = line.of_serve()
    assert "refuses the user or password" in said
    assert "hush" not in said
