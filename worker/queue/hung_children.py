"""Children that hang are killed, so that what they were given goes to others: nothing else would ever notice.

- A child that does not take up its message: it hung, or something stopped it. The message keeps its place at the worker,
  which with one process has no other.
- A child that goes on with what is not its own: it hung before its claim, or computes, for hours perhaps, for a job that was
  cancelled or given to another.
"""

import os
import signal
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import structlog

_log = structlog.get_logger(__name__)
_Seen = TypeVar("_Seen", bound=Hashable)


class PersistenceCounter(Generic[_Seen]):
    """Counts in how many looks in a row each thing was seen. Looks are counted, not seconds: a process that was stopped, with
    its children, has seen nothing of that time.
    """

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self._counts: dict[_Seen, int] = {}

    def look(self, seen: Iterable[_Seen]) -> Sequence[_Seen]:
        """Return what has now been seen in enough looks in a row; its count begins anew."""
        self._counts = {each: self._counts.get(each, 0) + 1 for each in seen}
        lasting = [each for each, looks in self._counts.items() if looks >= self._looks]
        for each in lasting:
            del self._counts[each]
        return lasting


def waits_for(request: Any) -> int | None:
    """The process that was sent this message, and has not taken it up; None where it has, or none was sent it yet."""
    result = request._apply_result() if request._apply_result is not None else None
    if result is None or result._accepted or result.ready() or result._write_to is None:
        return None
    return int(result._write_to.pid)


def kill(pid: int, why: str) -> None:
    """End a child that will not end by itself; Celery starts another, and hands its message on."""
    _log.error("a child hangs and is killed", pid=pid, why=why)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
