"""The reading child process: one request from standard input, one answer to standard output."""

import gc
import json
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

from storage.disk_errors import is_full

PARENT_LOOK_SECONDS = 0.5
"""Interval at which the child checks that the service still runs."""


def main() -> int:
    """Read one upload, or the body of one job; the answer holds what was asked for or a problem."""
    gc.disable()  # one file, then the end: collecting cycles only costs time
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    request = json.load(sys.stdin)
    _bind(request["limits"])
    from service.readers.errors import UnreadableData, too_large

    try:
        answer: dict[str, Any] = {"answer": _job(request) if "kinds" in request else _data(request)}
    except UnreadableData as error:
        answer = {"problem": error.to_json()}
    except MemoryError:
        answer = {
            "problem": too_large(
                "The data need more memory than one upload may take.", "Upload fewer samples."
            ).to_json()
        }
    except RecursionError:
        answer = {"problem": UnreadableData("The document is nested too deeply.").to_json()}
    except OSError as error:
        if not is_full(error):
            raise
        answer = {"no_room": error.errno}
    json.dump(answer, sys.stdout)
    return 0


def _data(request: dict[str, Any]) -> Any:
    """Read an upload and return its report."""
    # NumPy is imported after the limits are set, because its memory counts against them, too.
    from service.readers.options import Layout, Limits
    from service.readers.reading import read

    return read(
        Path(request["path"]),
        request["format"],
        Layout.from_json(request["layout"]),
        Limits(**request["limits"]),
        Path(request["folder"]),
    )


def _job(request: dict[str, Any]) -> Any:
    """Take a job apart and return it without its data."""
    from service.readers.strict_json import take_apart

    return take_apart(
        Path(request["path"]),
        request["kinds"],
        request["most_bytes"],
        Path(request["data_file"]),
    )


def _end_with(parent: int) -> None:
    """End this process once the service is gone, because nobody waits for the answer then."""
    while os.getppid() == parent:
        time.sleep(PARENT_LOOK_SECONDS)
    os._exit(1)


def _bind(limits: dict[str, int]) -> None:
    for kind, most in (
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_CPU, limits["cpu_seconds"]),
        (resource.RLIMIT_FSIZE, 16 * limits["numbers"] + 2**20),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            # At the soft limit of CPU time the kernel sends SIGXCPU, which names the limit, and at
            # the hard limit SIGKILL. One second between the two lets the first signal arrive.
            grace = kind == resource.RLIMIT_CPU and hard == resource.RLIM_INFINITY
            resource.setrlimit(kind, (value, value + grace))
        except (ValueError, OSError):  # macOS refuses some of them
            continue


if __name__ == "__main__":
    sys.exit(main())
