"""Guard that kills the supervisor's children when the supervisor is gone, however it ended.

It runs as a script of its own, with the standard library only. Standard input is a pipe whose other
end only the supervisor holds. A line `+N` puts the process group N under guard, `-N` releases it.
End of file means that the supervisor has ended; every group under guard is killed then, the
children's own children too. This works on every Unix, where PR_SET_PDEATHSIG is Linux only and does
not reach grandchildren.
"""

import contextlib
import os
import signal
import sys


def hold() -> None:
    """Read the pipe until it ends, then kill every group under guard."""
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line.startswith("+"):
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    hold()
