"""Children that hang are killed, so that their work goes to others: nothing else would notice them.

- A child does not accept its message: it hung, or something stopped it. The message keeps its place
  in the worker's prefetch limit, which with one process has no other.
- A child works on a job that is no longer its own: it hung before its claim, or computes, for hours
  perhaps, for a job that was cancelled or given to another worker.
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
    """A counter of the consecutive checks in which each thing was seen.

    Checks are counted, not seconds: while a process is stopped with its children, no check is made.
    """

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self._counts: dict[_Seen, int] = {}

    def look(self, seen: Iterable[_Seen]) -> Sequence[_Seen]:
        """Return what has now been seen in enough consecutive checks; its count begins anew."""
        self._counts = {each: self._counts.get(each, 0) + 1 for each in seen}
        lasting = [each for each, looks in self._counts.items() if looks >= self._looks]
        for each in lasting:
            del self._counts[each]
        return lasting


def waits_for(request: Any) -> int | None:
    """Return the id of the process that was sent this message and has not accepted it, or None."""
    result = request._apply_result() if request._apply_result is not None else None
    if result is None or result._accepted or result.ready() or result._write_to is None:
        return None
    return int(result._write_to.pid)


def kill(pid: int, why: str) -> None:
    """Kill a child that will not end by itself; Celery starts another and hands its message on."""
    _log.error("a child hangs and is killed", pid=pid, why=why)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
