"""Reader of the children's logs."""

from pathlib import Path


def last_lines(log: Path | None, count: int) -> str:
    """Return the last lines of a log file, or an empty string where there is none."""
    if log is None or not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 100_000))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])
