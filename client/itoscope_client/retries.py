"""The policy by which requests are tried again."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import httpx

from itoscope_client.errors import retry_after

RETRYABLE = frozenset({408, 429, 502, 503, 504})
UNPROCESSED = frozenset({408, 429, 503})
"""Statuses of unprocessed requests: even a call that is not repeatable may be sent again."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Exponential backoff with full jitter, at least as long as `Retry-After` demands.

    The pause before try n + 1 is between 0 and min(longest, base · 2ⁿ⁻¹).

    attempts   number of tries in all; 1: no second try
    base       first upper bound of the pause [s]
    longest    largest upper bound of the pause [s]
    patience   largest sum of the pauses [s], after which the last answer is final
    """

    attempts: int = 10
    base: float = 0.5
    longest: float = 30.0
    patience: float = 300.0
    draw: Callable[[], float] = random.random

    def before_the_first_answer(self) -> "Retries":
        """Return a shorter policy for an address that never answered, which is probably wrong."""
        return replace(self, attempts=min(self.attempts, 4))

    def pause(self, attempt: int, paused: float, response: httpx.Response | None) -> float | None:
        """Return the seconds until the next try, or None where there is to be none.

        attempt    number of the failed try, from 1
        paused     sum of the pauses so far [s]
        response   the failed try's answer; None where none came
        """
        if attempt >= self.attempts:
            return None
        asked = None if response is None else retry_after(response)
        seconds = (asked or 0.0) + self.draw() * min(self.longest, self.base * 2 ** (attempt - 1))
        return seconds if paused + seconds <= self.patience else None
