"""The two ways in which `standalone` gives up, and the ends of logs that they quote."""

from pathlib import Path


class CannotStart(Exception):
    """The machine or the settings do not allow a start. Exit status 2."""


class Failed(Exception):
    """A part that had been started ended by itself, or never became ready. Exit status 1.

    log      file in which the part may have written the cause
    log_end  last lines of that file, read at once, as a demonstration deletes its logs with its
             folder
    status   exit status of the part, where it has one
    """

    def __init__(self, message: str, log: Path | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.log = log
        self.log_end = last_lines(log, 15)
        self.status = status


def last_lines(log: Path | None, count: int) -> str:
    """Return the last lines of a log file, or an empty string where there is none."""
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 100_000))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])
