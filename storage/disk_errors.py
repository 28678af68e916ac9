"""Errors of the operating system that are the disk's trouble.

The module imports next to nothing, because the child process that reads uploads imports it too.
"""

import errno

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_PASSING = (
    *_NO_ROOM, errno.EIO, errno.ESTALE, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOTCONN,
    errno.EHOSTDOWN, errno.ETIMEDOUT,
)  # fmt: skip


def is_full(error: OSError) -> bool:
    """Return whether there is no room left, on the disk or for this user."""
    return error.errno in _NO_ROOM


def is_passing(error: OSError) -> bool:
    """Return whether a later attempt may succeed: disk, network or too many open files."""
    return error.errno in _PASSING
