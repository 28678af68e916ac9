"""A progress bar on the terminal; nothing where there is no terminal."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

Listener = Callable[[Mapping[str, Any]], None]
"""A function of a job's record, called when the record changes or else about once a second."""
WIDTH = 30
TERMINAL = frozenset({"succeeded", "failed", "cancelled"})


class ProgressBar:
    """A `Listener` that draws `fitting  ━━━━━───── 47 % 0:03` over itself on a terminal.

    shown   whether the bar is drawn
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.shown = self._stream.isatty()
        self._began = time.monotonic()

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Draw the bar for the job's record."""
        if not self.shown:
            return
        over = record["state"] in TERMINAL
        self._stream.write(
            f"\r\x1b[K{line(record, time.monotonic() - self._began)}" + ("\n" if over else "")
        )
        self._stream.flush()
        self.shown = not over


def line(record: Mapping[str, Any], seconds: float) -> str:
    """Return the bar as text."""
    progress = record.get("progress") or {}
    state = str(record["state"])
    fraction = min(1.0, max(0.0, float(progress.get("fraction", 0.0))))
    if state == "succeeded":
        fraction = 1.0
    what = str(progress.get("message") or progress.get("stage") or state)
    if state in TERMINAL or state == "queued":
        what = state
    filled = round(WIDTH * fraction)
    minutes, rest = divmod(int(seconds), 60)
    bar = "━" * filled + "─" * (WIDTH - filled)
    return f"{what[:32]:<32} {bar} {100 * fraction:3.0f} % {minutes}:{rest:02d}"


def silent(record: Mapping[str, Any]) -> None:
    """Ignore the record: a `Listener` that shows nothing."""
