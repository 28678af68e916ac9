"""When a request is tried again, and after how long."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import httpx

from itoscope_client.errors import retry_after

WORTH_ANOTHER_TRY = frozenset({408, 429, 502, 503, 504})
NOTHING_WAS_DONE = frozenset({408, 429, 503})
"""Answers by which the service says that it decided nothing: even what is not repeatable may be sent again."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Exponential backoff with full jitter: before try n + 1 a pause between 0 and min(longest, base · 2ⁿ), at least what
    `Retry-After` asks for.

    attempts   tries in all; 1 never tries again
    base, longest, patience   [s]; with pauses longer than `patience` altogether the last answer stands
    """

    attempts: int = 10
    base: float = 0.5
    longest: float = 30.0
    patience: float = 300.0
    draw: Callable[[], float] = random.random

    def before_the_first_answer(self) -> "Retries":
        """Where nobody has ever answered and nobody listens, the address is likelier wrong than the service away for a moment."""
        return replace(self, attempts=min(self.attempts, 4))

    def pause(self, attempt: int, paused: float, response: httpx.Response | None) -> float | None:
        """Seconds until the next try; None where there is to be none.

        attempt    of the one that just failed, from 1
        paused     so far [s]
        response   its answer; None where none came
        """
        if attempt >= self.attempts:
            return None
        asked = None if response is None else retry_after(response)
        seconds = (asked or 0.0) + self.draw() * min(self.longest, self.base * 2 ** (attempt - 1))
        return seconds if paused + seconds <= self.patience else None
