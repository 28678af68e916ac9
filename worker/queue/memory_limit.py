"""A memory limit: a job that wants more gets MemoryError, and its worker lives.

The limit is on private writable memory (`RLIMIT_DATA`). Datasets, which are mapped read-only from
their files, do not count, however long; nor do stacks and arenas that threads reserve and never
touch.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_limited(most_bytes: float) -> Iterator[None]:
    """Limit this process, with its libraries, to `most_bytes` while inside; `inf`: no limit."""
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
        # Recording the job's end must not run out of memory too.
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
