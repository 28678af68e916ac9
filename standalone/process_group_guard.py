"""Ends the supervisor's children when the supervisor is gone, however it went. Run as a script of its own, standard library only.

Standard input is a pipe whose other end only the supervisor holds. Each line `+N` puts the process group N on the tether, `-N`
takes it off. End of file means that the supervisor has ended; what is still on the tether then is killed, the children's own
children too.
This works on every Unix, where PR_SET_PDEATHSIG is Linux only and does not reach grandchildren.
"""

import contextlib
import os
import signal
import sys


def hold() -> None:
    """Read the pipe until it ends, then kill what is on the tether."""
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
