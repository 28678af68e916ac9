"""Actions that a process repeats beside its work, in threads; no process forks while one acts.

A child forked meanwhile would inherit every lock that the action holds, of imports, of connections,
and wait for it for ever: its parent's threads do not live in it. Measured: of 40 children forked
beside a thread that sent its first message, 13 hung.
"""

import os
import threading
import time
from collections.abc import Callable

import structlog

from storage.stores import StoreUnavailable

FORK_PATIENCE_SECONDS = 5.0
"""Longest time that a fork waits.

An action that takes longer waits for something else, and then holds no lock that a child needs.
"""

_log = structlog.get_logger(__name__)
_turns: set[threading.Lock] = set()
"""Locks of the threads, one each, held while the thread acts."""
_taken: list[threading.Lock] = []
"""Locks that a fork holds."""


def every(
    seconds: float,
    name: str,
    act: Callable[[], None],
    *,
    since: threading.Event | None = None,
    until: threading.Event | None = None,
) -> threading.Thread:
    """Act every `seconds` seconds in a thread of its own, whatever happens.

    since   event that the first action waits for; it must not wait inside the action, as a fork
            would wait with it. None: now
    until   event after which it acts once more and ends. None: it ends with the process
    """
    end = until or threading.Event()
    turn = threading.Lock()
    _turns.add(turn)

    def loop() -> None:
        away = False
        if since is not None:
            since.wait()
        while True:
            last = end.is_set()
            with turn:
                try:
                    act()
                    away = False
                except StoreUnavailable as error:
                    if not away:
                        _log.warning("store unavailable", doing=name, reason=str(error))
                    away = True
                except Exception:
                    _log.exception("unexpected", doing=name)
            if last:
                _turns.discard(turn)
                return
            end.wait(seconds)

    thread = threading.Thread(target=loop, name=name, daemon=True)
    thread.start()
    return thread


def _before_fork() -> None:
    end = time.monotonic() + FORK_PATIENCE_SECONDS
    for turn in tuple(_turns):
        if turn.acquire(timeout=max(0.0, end - time.monotonic())):
            _taken.append(turn)


def _after_fork_in_parent() -> None:
    while _taken:
        _taken.pop().release()


def _after_fork_in_child() -> None:
    _turns.clear()
    _taken.clear()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)
