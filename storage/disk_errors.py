"""Which errors of the operating system are the disk's trouble. Imports next to nothing: the reading child asks, too."""

import errno

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_PASSING = (
    *_NO_ROOM,
    errno.EIO,
    errno.ESTALE,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOTCONN,
    errno.EHOSTDOWN,
    errno.ETIMEDOUT,
)


def is_full(error: OSError) -> bool:
    """Whether there is no room left, on the disk or for this user."""
    return error.errno in _NO_ROOM


def is_passing(error: OSError) -> bool:
    """Whether it is the disk's or the network's trouble, or too many files are open: the same may go well later."""
    return error.errno in _PASSING
