"""Processes that live and die together."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from standalone.errors import Failed
from standalone.supervisor import Program, Supervisor

ROOT = Path(__file__).resolve().parents[2]


def shell(folder: Path, script: str, name: str = "child", **options: bool | float) -> Program:
    return Program(
        name, ("/bin/sh", "-c", script), dict(os.environ), folder, folder / f"{name}.log", **options
    )  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """Whether the process runs; one that waits for its parent to take note of its end does not."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout.strip()
    return state != "" and not state.startswith("Z")


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def pids_in(log: Path, count: int) -> list[int]:
    assert within(10, lambda: log.exists() and len(log.read_text().split()) >= count), (
        f"{log} never held {count} process ids"
    )
    return [int(word) for word in log.read_text().split()]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    with Supervisor(said.append) as running:
        yield running


def test_output_of_a_child_goes_to_its_log(supervisor: Supervisor, tmp_path: Path) -> None:
    child = supervisor.start(shell(tmp_path, "echo out; echo err >&2", ends=True))
    assert supervisor.watch(lambda: child.process.poll() == 0, seconds=10)
    assert (tmp_path / "child.log").read_text().split() == ["out", "err"]


def test_a_log_that_grows_long_is_put_aside_while_its_program_runs(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standalone.supervisor.MAX_LOG_BYTES", 4)
    long = tmp_path / "child.log.1"
    child = supervisor.start(
        shell(tmp_path, f"echo long; until [ -e {long} ]; do sleep 0.05; done; echo new", ends=True)
    )
    assert supervisor.watch(lambda: child.process.poll() == 0, seconds=20)
    assert long.read_text() == "long\n"
    assert (tmp_path / "child.log").read_text() == "new\n"


def test_death_of_a_child_that_others_need_is_a_failure_with_its_status_and_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(shell(tmp_path, "echo why; exit 3", name="store"))
    with pytest.raises(Failed, match=r"the store ended unexpectedly \(exit status 3\)") as failure:
        supervisor.watch(lambda: False, seconds=10)
    assert failure.value.status == 3
    assert failure.value.log == tmp_path / "store.log"
    assert failure.value.log_end == "why"


def test_a_program_that_cannot_be_run_is_a_failure(supervisor: Supervisor, tmp_path: Path) -> None:
    with pytest.raises(Failed, match="the ghost cannot be run"):
        supervisor.start(Program("ghost", (str(tmp_path / "none"),), {}, tmp_path, None))


def test_a_restartable_child_starts_again_and_waits_longer_each_time(
    supervisor: Supervisor, tmp_path: Path, said: list[str]
) -> None:
    supervisor.start(shell(tmp_path, "echo start; kill -9 $$", name="worker", restart=True))
    supervisor.watch(lambda: len(said) == 2, seconds=10)
    assert (tmp_path / "worker.log").read_text().split() == ["start", "start"]
    assert "signal SIGKILL" in said[0]
    assert "again in 1 s" in said[0]
    assert "again in 2 s" in said[1]


def test_a_child_that_refuses_its_settings_is_not_started_again(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    supervisor.start(shell(tmp_path, "exit 2", name="worker", restart=True))
    with pytest.raises(Failed, match="exit status 2"):
        supervisor.watch(lambda: False, seconds=10)


def test_restarting_takes_the_children_of_the_dead_along(
    supervisor: Supervisor, tmp_path: Path, said: list[str]
) -> None:
    supervisor.start(
        shell(tmp_path, "sleep 600 & echo $!; kill -9 $$", name="worker", restart=True)
    )
    supervisor.watch(lambda: len(said) == 1, seconds=10)
    [grandchild] = pids_in(tmp_path / "worker.log", 1)
    assert within(5, lambda: not alive(grandchild))


def test_a_child_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    started = time.monotonic()
    with Supervisor(print) as supervisor:
        child = supervisor.start(
            shell(tmp_path, "trap '' TERM; echo $$; while :; do sleep 1; done", grace_seconds=0.3)
        )
        pids_in(tmp_path / "child.log", 1)
    assert child.process.returncode == -signal.SIGKILL
    assert time.monotonic() - started < 5


def test_the_store_ends_after_those_that_write_to_it(tmp_path: Path) -> None:
    script = "trap 'sleep {}; echo {} >> ends; exit' TERM; echo $$; while :; do sleep 0.01; done"
    with Supervisor(print) as supervisor:
        supervisor.start(shell(tmp_path, script.format(0, "store"), name="store", stop_last=True))
        supervisor.start(shell(tmp_path, script.format(0.3, "worker"), name="worker"))
        pids_in(tmp_path / "store.log", 1)
        pids_in(tmp_path / "worker.log", 1)
    assert (tmp_path / "ends").read_text().split() == ["worker", "store"]


@pytest.fixture
def hang_up() -> Iterator[Callable[[signal.Handlers], object]]:
    """What a hang-up does to this process, which may itself run under nohup."""
    before = signal.getsignal(signal.SIGHUP)
    yield partial(signal.signal, signal.SIGHUP)
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_asks_to_stop_and_the_handlers_are_put_back(
    tmp_path: Path, number: signal.Signals, hang_up: Callable[[signal.Handlers], object]
) -> None:
    hang_up(signal.SIG_DFL)
    before = signal.getsignal(number)
    with Supervisor(print) as supervisor:
        child = supervisor.start(shell(tmp_path, "sleep 600"))
        os.kill(os.getpid(), number)
        assert supervisor.watch(lambda: False, seconds=10) is False
        assert supervisor.stopping
    assert child.process.poll() is not None
    assert signal.getsignal(number) == before


def test_under_nohup_a_hang_up_is_nothing(
    tmp_path: Path, hang_up: Callable[[signal.Handlers], object]
) -> None:
    hang_up(signal.SIG_IGN)
    with Supervisor(print) as supervisor:
        supervisor.start(shell(tmp_path, "sleep 600"))
        os.kill(os.getpid(), signal.SIGHUP)
        assert supervisor.watch(lambda: True, seconds=10) is True
        assert not supervisor.stopping


PARENT = """
import os, sys
from pathlib import Path
from standalone.supervisor import Program, Supervisor
folder = Path(sys.argv[1])
with Supervisor(print) as supervisor:
    script = "sleep 600 & echo $$ $!; wait"
    command, log = ("/bin/sh", "-c", script), folder / "child.log"
    supervisor.start(Program("child", command, dict(os.environ), folder, log))
    print(supervisor._guard.pid, flush=True)
    supervisor.watch(lambda: False)
"""


@pytest.fixture
def family(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int, list[int]]]:
    """A supervisor in a process of its own, its guard, and its child and grandchild."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    guard = int(parent.stdout.readline())
    descendants = pids_in(tmp_path / "child.log", 2)
    yield parent, guard, descendants
    for pid in (parent.pid, guard, *descendants):
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()


def test_nothing_outlives_a_supervisor_that_is_killed(
    family: tuple[subprocess.Popen[str], int, list[int]],
) -> None:
    parent, guard, descendants = family
    parent.kill()
    parent.wait()
    assert within(5, lambda: not any(alive(pid) for pid in (guard, *descendants)))


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux only")
def test_children_end_also_when_the_guard_is_killed_at_the_same_time(
    family: tuple[subprocess.Popen[str], int, list[int]],
) -> None:
    parent, guard, (child, _) = family
    os.kill(guard, signal.SIGKILL)
    parent.kill()
    parent.wait()
    assert within(5, lambda: not alive(child))
