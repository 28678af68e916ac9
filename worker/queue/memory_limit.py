"""A job that wants more memory than it may have gets MemoryError, and its worker lives.

The limit is on what the process may write and shares with nobody (`RLIMIT_DATA`): datasets are mapped from their files and read
only, and count for nothing, however long; nor do stacks and arenas that threads reserve and never touch.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_limited(most_bytes: float) -> Iterator[None]:
    """While inside, this process has no more than that, with its libraries; `inf`: no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if most_bytes == float("inf"):
        yield
        return
    wanted = int(most_bytes)
    resource.setrlimit(
        resource.RLIMIT_DATA,
        (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard),
    )
    try:
        yield
    finally:
        # What follows, telling of the end, must not fail for want of memory too.
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
