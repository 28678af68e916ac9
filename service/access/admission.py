"""Limits on requests, jobs and stored bytes, and on the memory and disk that hold them.

Every refusal comes before anything breaks, changes nothing, and says when or how to go on.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from service.errors import Refusal
from service.settings import ServiceSettings
from storage.stores import Stores

MEMORY_MARK = 0.9
"""Used fraction of the job store's memory above which new jobs are refused.

The rest lets the stored jobs end.
"""
MINUTE = 60.0
LOOK_SECONDS = 1.0
"""Time for which a reading of the store's memory is valid."""
TALLY_SECONDS = 30.0
"""Time for which a count of a tenant's bytes is valid; bytes stored since are added."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Number of requests left to a key in a minute (draft-ietf-httpapi-ratelimit-headers)."""

    limit: int
    remaining: int
    reset: int
    """Seconds until the next minute begins."""

    @property
    def headers(self) -> dict[str, str]:
        """Header fields that report the allowance in every response."""
        return {
            "RateLimit-Policy": f'"requests";q={self.limit};w=60',
            "RateLimit": f'"requests";r={self.remaining};t={self.reset}',
        }


class Admission:
    """The limits of one service process.

    Requests are counted in this process, everything else where it is stored.
    """

    def __init__(self, settings: ServiceSettings, stores: Stores) -> None:
        self._settings = settings
        self._stores = stores
        self._minutes: dict[str, tuple[float, int]] = {}
        self._memory = _Remembered(LOOK_SECONDS)
        self._bytes = _Remembered(TALLY_SECONDS)

    def request(self, key_id: str) -> Allowance:
        """Count a request. Raises Refusal (too-many-requests)."""
        limit, now = self._settings.max_requests_per_minute, time.monotonic()
        end, count = self._minutes.get(key_id, (0.0, 0))
        end, count = (end, count + 1) if now < end else (now + MINUTE, 1)
        self._minutes[key_id] = end, count  # one entry a key, and only known keys come here
        allowance = Allowance(limit, max(0, limit - count), max(1, round(end - now)))
        if count > limit:
            raise Refusal(
                "too-many-requests",
                f"This API key is limited to {allowance.limit} requests per minute.",
                "Wait for jobs with Prefer: wait=60 instead of frequent requests.",
                headers={**allowance.headers, "Retry-After": str(allowance.reset)},
            )
        return allowance

    def job(self) -> None:
        """Check that the store has memory for another job.

        Raises Refusal (storage-full), StoreUnavailable.
        """
        if self._memory.value("", self._stores.jobs.memory_used) > MEMORY_MARK:
            raise Refusal(
                "storage-full",
                "The job store is nearly full.",
                "Delete jobs that are no longer needed (DELETE /v1/jobs/{id}), or contact the "
                "operator.",
                headers={"Retry-After": "60"},
            )

    def body(self, size: int) -> None:
        """Check that the disk has room for a body of so many bytes.

        Raises Refusal (storage-full).
        """
        # The body is on disk three times: as received, as read, and as copied into place.
        if (
            shutil.disk_usage(_existing(self._settings.data_dir)).free
            < self._settings.min_free_bytes + 3 * size
        ):
            raise Refusal(
                "storage-full",
                "The disk is nearly full. Nothing was saved.",
                "Delete datasets that are no longer needed, or contact the operator.",
                headers={"Retry-After": "60"},
            )

    def dataset(self, tenant: str, size: int) -> None:
        """Check that the tenant may store `size` more bytes. Raises Refusal (quota-exceeded)."""
        stored = self._bytes.value(tenant, lambda: self._stores.datasets.bytes_stored(tenant))
        quota = self._settings.max_stored_bytes
        if stored + size > quota:
            raise Refusal(
                "quota-exceeded",
                f"Your datasets use {stored / 1e6:.0f} MB; the quota is {quota / 1e6:.0f} MB.",
                "Delete datasets with DELETE /v1/datasets/{id}; results computed from them are "
                "kept.",
            )

    def kept(self, tenant: str, size: int) -> None:
        """Record that a tenant has stored `size` more bytes."""
        self._bytes.add(tenant, size)

    def freed(self, tenant: str) -> None:
        """Record that a tenant has deleted data."""
        self._bytes.forget(tenant)


class _Remembered:
    """Numbers that are expensive to find, each looked up again only after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._found: dict[str, tuple[float, float]] = {}

    def value(self, name: str, look: Callable[[], float]) -> float:
        known, until = self._found.get(name, (0.0, 0.0))
        if until <= time.monotonic():
            known = look()
            self._found[name] = known, time.monotonic() + self._seconds
        return known

    def add(self, name: str, change: float) -> None:
        if name in self._found:
            known, until = self._found[name]
            self._found[name] = known + change, until

    def forget(self, name: str) -> None:
        self._found.pop(name, None)


def _existing(folder: Path) -> Path:
    return folder if folder.exists() else _existing(folder.absolute().parent)
