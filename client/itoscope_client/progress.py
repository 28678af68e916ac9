"""Progress of a job: its server-sent events, over as many connections as necessary, and a bar."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

import httpx

from itoscope_client import calls, flows

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


SILENCE = 5.0
"""Seconds of silence after which a stream is given up.

The service sends something every second, unless something between keeps it back.
"""
SILENT_STREAMS = 2
"""Number of consecutive silent streams after which no other is opened."""

EVENT_FIELDS = ("state", "attempt", "progress")
"""Fields of a job's record that an event contains."""


class EventFollower:
    """Progress of a job for a listener; only the job's record says whether it has ended."""

    def __init__(self, job_id: str, listener: Listener) -> None:
        self._job_id = job_id
        self._listener = listener
        self._record: Mapping[str, Any] = {}
        self._last: str | None = None
        self._rest = b""
        self._n_silent = 0

    @property
    def worthwhile(self) -> bool:
        """Whether events are worth listening for: not after several silent streams."""
        return self._n_silent < SILENT_STREAMS

    def update(self, record: Mapping[str, Any]) -> None:
        """Take the record as it was just read, and tell it to the listener."""
        self._record = record
        self._listener(record)

    def follow(self, until: float) -> flows.Flow[None]:
        """Listen until the stream ends or breaks, or the clock says `until`."""
        self._rest, before = b"", self._n_silent
        self._n_silent += 1

        def hear(piece: bytes) -> bool:
            self._n_silent = 0
            self._take(piece)
            return flows.clock() < until

        try:
            response = yield flows.Listen(calls.follow_job(self._job_id, self._last), SILENCE, hear)
        except httpx.TransportError:
            return
        if response is not None and response.status_code == 204:
            self._n_silent = before  # no events remain, which is not the stream's fault

    def _take(self, piece: bytes) -> None:
        """Tell the listener the record after a piece of the stream, even an unchanged one."""
        *blocks, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in _events(blocks):
            self._last = event["id"]
            # The end is taken from the job's record, which has all that belongs to it.
            if event["state"] not in TERMINAL and _order(event) >= _order(self._record):
                self._record = {**self._record, **{name: event[name] for name in EVENT_FIELDS}}
        self._listener(self._record)


def _events(blocks: list[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events in blocks of a stream; comments are skipped."""
    for block in blocks:
        lines = [line.partition(":") for line in block.decode("utf-8", "replace").split("\n")]
        try:
            event = json.loads(
                "\n".join(rest.removeprefix(" ") for name, _, rest in lines if name == "data")
            )
        except ValueError:
            continue
        if isinstance(event, dict) and event.keys() >= {"id", *EVENT_FIELDS}:
            yield event


def _order(said: Mapping[str, Any]) -> tuple[int, int, float]:
    """Return a key that grows as a job proceeds, also through a lost worker and another attempt."""
    state = ("running", "queued").index(said["state"]) if said["state"] not in TERMINAL else 2
    return said.get("attempt", 0), state, (said.get("progress") or {}).get("fraction", 0.0)
