"""The two ways in which `standalone` gives up."""

from pathlib import Path

from standalone.logs import last_lines


class CannotStart(Exception):
    """The machine or the settings are not as they must be. Exit status 2."""


class Failed(Exception):
    """Something that had been started ended by itself, or never got ready. Exit status 1.

    log      where it said why
    log_end  the last lines of that, read at once: the log of a demonstration goes with its folder
    status   its exit status, where it has one
    """

    def __init__(self, message: str, log: Path | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.log = log
        self.log_end = last_lines(log, 15)
        self.status = status
