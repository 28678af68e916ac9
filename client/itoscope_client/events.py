"""A job's events as they happen (server-sent events), over as many connections as it takes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from itoscope_client import calls, flows
from itoscope_client.progress import TERMINAL, Listener

SILENCE = 5.0
"""Seconds without a sound after which a stream is given up: the service says something every second, or somebody on the way keeps
it back."""
VAIN = 2
"""After so many streams in a row that said nothing at all there is no point in opening another."""

TOLD = ("state", "attempt", "progress")
"""What an event says of a record."""


class News:
    """Tells a listener how a job gets on. What it says is an ornament: whether the job has ended its record tells.

    comes   whether it is worth listening
    """

    def __init__(self, job_id: str, listener: Listener) -> None:
        self._job_id = job_id
        self._listener = listener
        self._record: Mapping[str, Any] = {}
        self._last: str | None = None
        self._rest = b""
        self._vain = 0

    @property
    def comes(self) -> bool:
        return self._vain < VAIN

    def look(self, record: Mapping[str, Any]) -> None:
        """The record as it was just read."""
        self._record = record
        self._listener(record)

    def followed(self, until: float) -> flows.Flow[None]:
        """Listen until the stream ends or breaks, or the clock says `until`."""
        self._rest, before = b"", self._vain
        self._vain += 1

        def hear(piece: bytes) -> bool:
            self._vain = 0
            self._take(piece)
            return flows.clock() < until

        try:
            response = yield flows.Listen(calls.follow_job(self._job_id, self._last), SILENCE, hear)
        except httpx.TransportError:
            return
        if response is not None and response.status_code == 204:
            self._vain = before  # all is known: no fault of the stream

    def _take(self, piece: bytes) -> None:
        """Tell what is new in a piece of the stream, and once more what is known where there is nothing: time passes."""
        *blocks, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in _events(blocks):
            self._last = event["id"]
            # The end is told by the record, with all that belongs to it.
            if event["state"] not in TERMINAL and _order(event) >= _order(self._record):
                self._record = {**self._record, **{name: event[name] for name in TOLD}}
        self._listener(self._record)


def _events(blocks: list[bytes]) -> Iterator[dict[str, Any]]:
    """What the blocks of a stream say of a job; comments say nothing."""
    for block in blocks:
        lines = [line.partition(":") for line in block.decode("utf-8", "replace").split("\n")]
        try:
            event = json.loads(
                "\n".join(rest.removeprefix(" ") for name, _, rest in lines if name == "data")
            )
        except ValueError:
            continue
        if isinstance(event, dict) and event.keys() >= {"id", *TOLD}:
            yield event


def _order(said: Mapping[str, Any]) -> tuple[int, int, float]:
    """Grows as a job goes on, also where a worker is lost: its job is queued again, and then another attempt runs."""
    state = ("running", "queued").index(said["state"]) if said["state"] not in TERMINAL else 2
    return said.get("attempt", 0), state, (said.get("progress") or {}).get("fraction", 0.0)
