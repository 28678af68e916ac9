"""Supervisor of processes that start and end together."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from standalone.errors import Failed

MAX_LOG_BYTES = 10_000_000
"""Size above which a log is copied to `<name>.log.1` and begins anew."""
STABLE_SECONDS = 60.0
"""Time after which a program that dies starts again after 1 s; others wait 1, 2, 4 … 30 s."""
REFUSED = 2
"""Exit status of a program that refuses its settings; its last line gives the reason."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Program:
    """Command to run, and the way in which it ends.

    log            file to append its output to, or a descriptor; None: the supervisor's own output
    stdin          bytes for its standard input, which is then closed
    restart        whether it starts again when it dies, unless it refuses its settings (status 2);
                   the death of any other program ends everything
    ends           whether it is meant to end by itself
    stop_last      whether others need it until they have ended
    grace_seconds  time from SIGTERM to SIGKILL [s]
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path | int | None
    stdin: bytes = b""
    restart: bool = False
    ends: bool = False
    stop_last: bool = False
    grace_seconds: float = 6.0


@dataclass(slots=True, eq=False)
class Child:
    """Program that was started."""

    program: Program
    process: subprocess.Popen[bytes]
    started: float = field(default_factory=time.monotonic)
    failures: int = 0
    restart_at: float | None = None
    """Time of its next start; None while it runs [s, monotonic]."""


class Supervisor:
    """Context manager, used once, that starts programs, watches them and stops them all.

    Inside, SIGTERM, SIGINT and SIGHUP only set `stopping`; a second one also ends the children's
    grace. Each child leads a session of its own: Ctrl-C in the terminal reaches the supervisor
    alone, which ends the children in order, and killing a child's process group ends its own
    children too. When the supervisor itself is killed, the guard ends them
    (`standalone.process_group_guard`).

    say         function that receives a line about every restart
    keep_open   descriptors that every child inherits (a lock that must hold as long as any lives)
    """

    def __init__(self, say: Callable[[str], None], keep_open: Sequence[int] = ()) -> None:
        self.stopping = False
        self._urgent = False
        self._say = say
        self._keep_open = tuple(keep_open)
        self._children: list[Child] = []
        self._guard: subprocess.Popen[bytes] | None = None
        self._previous_handlers: dict[int, object] = {}

    def __enter__(self) -> "Supervisor":
        script = Path(__file__).with_name("process_group_guard.py")
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=self._keep_open,
        )
        for number in _SIGNALS:
            # Under nohup a hang-up stays ignored. SIGINT, which `command &` in a shell script
            # ignores, is handled again.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._previous_handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop([child for child in self._children if not child.program.stop_last])
        self.stop(list(self._children))
        if self._guard is not None:
            self._guard.communicate()
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def start(self, program: Program) -> Child:
        """Run a program. Raise Failed where it cannot be run at all."""
        child = Child(program, self._spawn(program))
        self._children.append(child)
        return child

    def watch(
        self, until: Callable[[], bool], *, seconds: float | None = None, interval: float = 0.05
    ) -> bool:
        """Watch the children until the condition holds; return whether it does.

        It is False where a signal asked to stop or the time was over before. Raise Failed where a
        child that may not be restarted has ended.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self.stopping and (deadline is None or time.monotonic() < deadline):
            for child in self._children:
                self._look_after(child)
            if until():
                return True
            time.sleep(interval)
        return False

    def stop(self, children: Sequence[Child]) -> None:
        """Send SIGTERM to all children at once, after their grace SIGKILL to their groups."""
        for child in children:
            if child.process.poll() is None:
                child.process.terminate()
        asked = time.monotonic()
        for child in children:
            while (
                child.process.poll() is None
                and not self._urgent
                and time.monotonic() < asked + child.program.grace_seconds
            ):
                time.sleep(0.02)
            self._end_group(child)
            child.process.wait()
            self._children.remove(child)

    def _look_after(self, child: Child) -> None:
        program = child.program
        if isinstance(program.log, Path):
            _rotate(program.log)
        if child.restart_at is not None:
            if time.monotonic() >= child.restart_at:
                child.process = self._spawn(program)
                child.started = time.monotonic()
                child.restart_at = None
            return
        status = child.process.poll()
        if status is None or program.ends:
            return
        self._end_group(child)
        what = f"the {program.name} ended unexpectedly ({_in_words(status)})"
        if not program.restart or status == REFUSED:
            raise Failed(what, program.log if isinstance(program.log, Path) else None, status)
        child.failures = (
            1 if time.monotonic() - child.started > STABLE_SECONDS else child.failures + 1
        )
        delay = min(2.0 ** (child.failures - 1), 30.0)
        child.restart_at = time.monotonic() + delay
        self._say(
            f"{what}; it starts again in {delay:.0f} s"
            + (f" (see {program.log})" if isinstance(program.log, Path) else "")
        )

    def _spawn(self, program: Program) -> subprocess.Popen[bytes]:
        supervisor = os.getpid()

        def die_with_the_supervisor() -> None:
            # This is the second safeguard beside the guard, for the case that both are killed at
            # once.
            if _libc is not None:
                _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != supervisor:
                    os._exit(1)

        with contextlib.ExitStack() as stack:
            output: int | None
            if isinstance(program.log, Path):
                output = stack.enter_context(program.log.open("ab")).fileno()
            else:
                output = program.log
            try:
                process = subprocess.Popen(
                    program.command,
                    env=program.environment,
                    cwd=program.folder,
                    stdin=subprocess.PIPE if program.stdin else subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    pass_fds=self._keep_open,
                    preexec_fn=die_with_the_supervisor,
                )
            except OSError as error:
                raise Failed(f"the {program.name} cannot be run: {error}") from error
        self._notify_guard(f"+{process.pid}")
        if process.stdin is not None:
            # The program may have ended already; the next look finds out.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(program.stdin)
                process.stdin.close()
        return process

    def _end_group(self, child: Child) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, signal.SIGKILL)
        self._notify_guard(f"-{child.process.pid}")

    def _notify_guard(self, line: str) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._guard.stdin.write(line.encode() + b"\n")
                self._guard.stdin.flush()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._urgent = self.stopping
        self.stopping = True


def _rotate(log: Path) -> None:
    # The program keeps its descriptor, which appends: it goes on at the log's new end. A line
    # written between copy and truncation is lost, and all of it on a full disk, which it would fill
    # further.
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        with contextlib.suppress(OSError):
            shutil.copyfile(log, log.with_name(log.name + ".1"))
        os.truncate(log, 0)


def _in_words(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
