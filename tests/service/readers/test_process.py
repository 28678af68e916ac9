"""The reading child process: its limits, and what the serving process never loads."""

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.datasets import Layout
from contract.problems import ProblemError
from service.readers import process
from service.readers.__main__ import PARENT_LOOK_SECONDS
from service.readers.errors import UnreadableData
from service.readers.options import Limits
from service.readers.process import read_upload

ROOT = Path(__file__).resolve().parents[3]
TABLE = "t,x\n" + "".join(f"{0.1 * k:.1f},{(k * 7919) % 13}.5\n" for k in range(100))


@pytest.fixture
def upload(tmp_path: Path) -> Callable[[bytes], tuple[Path, Path]]:
    """The path of an upload and an empty folder."""

    def write(data: bytes) -> tuple[Path, Path]:
        path, folder = tmp_path / "upload", tmp_path / "dataset"
        path.write_bytes(data)
        folder.mkdir()
        return path, folder

    return write


def test_a_child_reads_as_this_process_does(upload: Any, read_data: Callable[..., Any]) -> None:
    path, folder = upload(TABLE.encode())
    report = read_upload(path, "text/csv", "a.csv", Layout(), folder)
    here = read_data(TABLE)
    assert report == here.report
    assert np.array_equal(np.load(folder / "states.npy"), here.states)
    assert np.array_equal(np.load(folder / "times.npy"), here.times)
    assert np.array_equal(np.load(folder / "segments.npy"), here.segments)
    assert sorted(file.name for file in folder.iterdir()) == [
        "segments.npy",
        "states.npy",
        "times.npy",
    ]


@pytest.mark.slow
def test_a_child_writes_nothing_where_its_room_is_too_small(upload: Any) -> None:
    path, folder = upload(TABLE.encode())
    needed = 8 * 100 + 8 * 100 + 8 * 3 + 3 * 128
    with pytest.raises(OSError, match=r"space") as full:
        read_upload(path, "text/csv", "a.csv", Layout(), folder, needed - 1)
    assert full.value.errno == errno.ENOSPC
    assert list(folder.iterdir()) == []
    read_upload(path, "text/csv", "a.csv", Layout(), folder, needed)
    assert sum(file.stat().st_size for file in folder.iterdir()) == needed


@pytest.mark.slow
def test_a_refusal_comes_back_whole(upload: Any) -> None:
    path, folder = upload(TABLE.encode())
    with pytest.raises(UnreadableData) as caught:
        read_upload(path, "text/csv", None, Layout(time_column="voltage"), folder)
    assert (caught.value.code, caught.value.status) == ("layout-mismatch", 422)
    assert isinstance(caught.value.errors[0], ProblemError)
    assert caught.value.errors[0].pointer == "#/layout/time_column"
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("name", ["states.npy", "segments.npy"])
def test_a_full_disk_is_no_fault_of_the_data(name: str, upload: Any) -> None:
    path, folder = upload(TABLE.encode())
    (folder / name).symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space") as raised:
        read_upload(path, "text/csv", "a.csv", Layout(), folder)
    assert raised.value.errno == errno.ENOSPC
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_data_beyond_the_memory_of_a_child_cost_one_request(upload: Any) -> None:
    path, folder = upload(b"")
    header = np.lib.format.header_data_from_array_1_0(np.empty(0, np.float32)) | {
        "shape": (40_000_000,)
    }
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 160_000_000)
    with pytest.raises(UnreadableData) as caught:
        read_upload(path, None, None, Layout(), folder, limits=Limits(memory_bytes=500 * 2**20))
    assert (caught.value.code, caught.value.status) == ("too-large-data", 413)
    assert "memory" in caught.value.detail


def test_for_more_numbers_a_child_has_more_memory_and_time_and_for_fewer_no_less() -> None:
    more, fewer = Limits().for_numbers(100_000_000), Limits().for_numbers(1000)
    assert (more.numbers, more.memory_bytes, more.cpu_seconds, more.wall_seconds) == (
        100_000_000,
        6 * 2**30,
        180,
        720.0,
    )
    assert fewer == Limits(numbers=1000)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [Limits(wall_seconds=0.01), Limits(cpu_seconds=1)])
def test_a_child_that_takes_too_long_is_ended(
    limits: Limits, upload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = upload(TABLE.encode())
    stub = (
        "import json,sys; from service.readers.__main__ import _bind; "
        "_bind(json.load(sys.stdin)['limits'])\nwhile True: pass"
    )
    monkeypatch.setattr(process, "_COMMAND", (sys.executable, "-c", stub))
    with pytest.raises(UnreadableData) as caught:
        read_upload(path, None, None, Layout(), folder, limits=limits)
    assert (caught.value.code, caught.value.status) == ("too-large-data", 413)
    assert "longer than" in caught.value.detail


@pytest.mark.parametrize(
    ("stub", "status"),
    [
        ("import os; os.kill(os.getpid(), 9)", 413),
        ("import os; os.abort()", 422),
        ("raise RuntimeError", 422),
        ("print('{')", 422),
    ],
)
def test_a_child_that_dies_is_a_problem_not_a_crash(
    stub: str, status: int, upload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = upload(TABLE.encode())
    monkeypatch.setattr(process, "_COMMAND", (sys.executable, "-c", stub))
    with pytest.raises(UnreadableData) as caught:
        read_upload(path, None, None, Layout(), folder)
    assert caught.value.status == status


def test_a_child_does_not_outlive_its_service(tmp_path: Path) -> None:
    never_ends = tmp_path / "upload"
    os.mkfifo(never_ends)
    request = {
        "path": str(never_ends),
        "format": "csv",
        "layout": {},
        "folder": str(tmp_path),
        "limits": asdict(Limits()),
    }
    given = f"input={json.dumps(request)!r}.encode()"
    code = f"import subprocess; subprocess.run({process._COMMAND!r}, {given})"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)
    with parent, never_ends.open("wb", buffering=0) as data:  # from here on the child reads
        child = int(Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text())
        time.sleep(3 * PARENT_LOOK_SECONDS)
        os.kill(child, 0)
        parent.kill()
        gone = time.monotonic() + 5
        with suppress(BrokenPipeError):
            while time.monotonic() < gone:
                data.write(b"0,1\n")
                time.sleep(0.05)
            pytest.fail("the child still reads")


def test_the_child_sees_none_of_the_service_s_environment(
    upload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITOSCOPE_REDIS_URL", "redis://:secret@store/0")
    assert "ITOSCOPE_REDIS_URL" not in process._environment()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("service.readers.process", {"numpy", "scipy", "pyarrow", "numba", "sklearn"}),
        ("service.readers.reading", {"scipy", "pyarrow", "numba", "sklearn", "pydantic"}),
    ],
)
def test_heavy_libraries_are_loaded_only_where_they_are_needed(
    module: str, absent: set[str]
) -> None:
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert absent.isdisjoint(loaded)
