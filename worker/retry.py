"""What every piece of work of a worker does: wait for a store that is away, and end when it no longer counts."""

import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from storage.disk_errors import is_passing
from storage.stores import StoreUnavailable

CLAIM_PATIENCE_SECONDS = 10.0
"""An unclaimed job loses nothing by waiting for the reaper."""
COMMIT_PATIENCE_SECONDS = 300.0
"""A finished computation is worth waiting for the store to come back."""

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")


class LeaseLost(Exception):
    """The job was cancelled, or given to another worker: what this one computes no longer counts."""


def is_away(error: Exception) -> bool:
    """Whether a store is away, or a disk in trouble, which is no fault of the job's."""
    return isinstance(error, StoreUnavailable) or (isinstance(error, OSError) and is_passing(error))


def retry_while_unavailable(
    call: Callable[[], _T], patience: float = COMMIT_PATIENCE_SECONDS
) -> _T:
    """The call's answer, tried again while the store is away. Raises StoreUnavailable when patience ends."""
    end, wait = time.monotonic() + patience, 0.05
    while True:
        try:
            return call()
        except StoreUnavailable as error:
            if time.monotonic() + wait > end:
                raise
            _log.warning("store unavailable", reason=str(error))
        time.sleep(wait)
        wait = min(2 * wait, 2.0)
