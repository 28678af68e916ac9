"""Limits on requests, jobs and stored bytes, and on the memory and disk that hold them.

Every refusal comes before anything breaks, changes nothing, and says when or how to go on.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from service.errors import Refusal
from service.settings import ServiceSettings
from storage.disk import free_bytes
from storage.stores import Stores

MEMORY_MARK = 0.9
"""Used fraction of the job store's memory above which new jobs are refused.

The rest lets the stored jobs end.
"""
CROWDED_MARK = 0.8
"""Used fraction above which new jobs of the tenant are refused whose records take most."""
MINUTE = 60.0
LOOK_SECONDS = 1.0
"""Time for which a reading of the store's memory is valid."""
TALLY_SECONDS = 30.0
"""Time for which a count of a tenant's bytes is valid; bytes stored since are added."""
SMALL_BYTES = 1_000_000
"""Size of a body from which it must find room beside what is being read."""
MOST_BODIES = 1000
"""Bodies of one tenant that one process receives at the same time."""
BYTES_PER_NUMBER = 40
"""Bytes that a reader may write for each number: the state, a time, and a segment of one sample."""


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
        self._lock, self._quota_lock = threading.Lock(), threading.Lock()
        self._being_read = 0
        self._being_kept: Counter[str] = Counter()
        self._being_received: Counter[str] = Counter()

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

    def job(self, tenant: str) -> None:
        """Check that the store has memory for another job of the tenant.

        Whoever takes most of it is refused before all others are. Raises Refusal (storage-full,
        quota-exceeded), StoreUnavailable.
        """
        self.memory()
        if self._used() > CROWDED_MARK and self._stores.jobs.keeps_most(tenant):
            raise _crowded("Your jobs fill the job store.")
        with self._quota_lock:
            self._check_quota(tenant, 0)

    def memory(self) -> None:
        """Check that the store has memory for jobs. Raises Refusal (storage-full)."""
        if self._used() > MEMORY_MARK:
            raise _crowded("The job store is nearly full.")

    def _used(self) -> float:
        return self._memory.value("", self._stores.jobs.memory_used)

    def body(self, size: int) -> None:
        """Check that the disk has room for so many further bytes of a body.

        To a body of a megabyte, the space that open reservations of `reading` may take counts as
        taken; a small one is absorbed by the space that stays free. Raises Refusal (storage-full).
        """
        with self._lock:
            self._check_room(size, self._being_read if size >= SMALL_BYTES else 0)

    @contextmanager
    def receiving(self, tenant: str) -> Iterator[None]:
        """Count a body that is received inside. Raises Refusal (too-many-requests).

        Each holds a connection and a file or two, of which the process has so many. All calls come
        from one event loop, which needs no lock.
        """
        if self._being_received[tenant] >= MOST_BODIES:
            raise Refusal(
                "too-many-requests",
                f"{MOST_BODIES} of your requests are being received.",
                "Send them one after the other.",
                headers={"Retry-After": "5"},
            )
        self._being_received[tenant] += 1
        try:
            yield
        finally:
            self._being_received[tenant] -= 1

    @contextmanager
    def reading(self, tenant: str) -> Iterator[int]:
        """Reserve disk space for what a reader makes of an upload; yield the bytes it may write.

        A body says little about it: 1.2 MB of NPZ became 384 MB. A reader gets what the largest
        dataset may need, but only half of what is left, so that there is room beside it. Raises
        Refusal: storage-full, quota-exceeded if the tenant's quota is used up already.
        """
        with self._quota_lock:
            self._check_quota(tenant, 0)
        with self._lock:
            left = self._check_room(1, self._being_read)
            room = min(BYTES_PER_NUMBER * self._settings.max_upload_numbers, (left + 1) // 2)
            self._being_read += room
        try:
            yield room
        finally:
            with self._lock:
                self._being_read -= room

    @contextmanager
    def keeping(self, tenant: str, size: int) -> Iterator[None]:
        """Count `size` bytes that the tenant stores inside against its quota.

        Several at once know of each other. The bytes stay counted unless an exception says that
        they were not stored. Raises Refusal (quota-exceeded).
        """
        with self._quota_lock:
            self._check_quota(tenant, size)
            self._being_kept[tenant] += size
        kept = 0
        try:
            yield
            kept = size
        finally:
            with self._quota_lock:
                self._being_kept[tenant] -= size
                # A count made meanwhile may hold these bytes already; the next one is right again.
                self._bytes.add(tenant, kept)

    def _check_quota(self, tenant: str, size: int) -> None:
        stored = self._bytes.value(tenant, lambda: self._bytes_stored(tenant))
        stored += self._being_kept[tenant]
        quota = self._settings.max_stored_bytes
        if stored + max(size, 1) > quota:
            more = f", and this one would take {size / 1e6:.3g} MB more" if size else ""
            raise Refusal(
                "quota-exceeded",
                f"Your datasets and results use {stored / 1e6:.0f} MB{more}; the quota is "
                f"{quota / 1e6:.0f} MB.",
                "Delete datasets with DELETE /v1/datasets/{id}; results computed from them are "
                "kept until you delete their jobs with DELETE /v1/jobs/{id}.",
            )

    def _bytes_stored(self, tenant: str) -> float:
        stores = self._stores
        return stores.datasets.bytes_stored(tenant) + stores.jobs.result_bytes(tenant)

    def _check_room(self, size: int, reserved: int) -> int:
        """Return the free bytes beyond the guard and what is reserved, `size` at least."""
        left = free_bytes(self._settings.data_dir) - self._settings.min_free_bytes - reserved
        if left < size:
            raise Refusal(
                "storage-full",
                "The disk is nearly full.",
                "Nothing was saved. Delete datasets that are no longer needed, or contact the "
                "operator.",
                headers={"Retry-After": "60"},
            )
        return left

    def freed(self, tenant: str) -> None:
        """Record that a tenant has deleted data."""
        self._bytes.forget(tenant)


def _crowded(detail: str) -> Refusal:
    return Refusal(
        "storage-full",
        detail,
        "Delete jobs that are no longer needed (DELETE /v1/jobs/{id}), or contact the operator.",
        headers={"Retry-After": "60"},
    )


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
