"""Retries while a store is away, and the end of work whose lease is lost."""

import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from storage.disk_errors import is_passing
from storage.stores import StoreUnavailable

CLAIM_PATIENCE_SECONDS = 10.0
"""Patience before a claim: an unclaimed job loses nothing by waiting for the reaper."""
COMMIT_PATIENCE_SECONDS = 300.0
"""Patience before a commit: a finished computation is worth waiting for the store."""

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")


class LeaseLost(Exception):
    """The job was cancelled or given to another worker, and this result no longer counts."""


def is_away(error: Exception) -> bool:
    """Return whether a store is away or a disk in trouble, which is not the job's fault."""
    return isinstance(error, StoreUnavailable) or (isinstance(error, OSError) and is_passing(error))


def retry_while_unavailable(
    call: Callable[[], _T], patience: float = COMMIT_PATIENCE_SECONDS
) -> _T:
    """Repeat a call while the store is away. Raises StoreUnavailable after `patience` seconds."""
    end = time.monotonic() + patience
    wait = 0.05
    while True:
        try:
            return call()
        except StoreUnavailable as error:
            if time.monotonic() + wait > end:
                raise
            _log.warning("store unavailable", reason=str(error))
        time.sleep(wait)
        wait = min(2 * wait, 2.0)
