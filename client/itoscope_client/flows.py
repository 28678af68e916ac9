"""The client's procedures as generators, written once for blocking and for asynchronous use.

A flow yields a `Call` to send, a `Pause` to sleep or a `Listen` to hear, is given the answer, and
returns its outcome. `client.py` only drives flows.
"""

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import httpx

from itoscope_client.calls import Call
from itoscope_client.errors import InvalidAnswer, Unreachable, problem_of, retry_after

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


class NeverReached(httpx.ConnectError):
    """Nothing listens at the address, and nothing has ever answered there."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause [s]."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Listen:
    """A call whose stream of events is given to `hear`, piece by piece, until `hear` returns False.

    silence   seconds without a piece after which to give up
    """

    call: Call
    silence: float
    hear: Callable[[bytes], bool]


T = TypeVar("T")
Step = Call | Pause | Listen
Flow = Generator[Step, httpx.Response | None, T]


def answered(call: Call, retries: Retries) -> Flow[httpx.Response]:
    """Send a call, again where that is harmless, until its answer is final.

    Raises Unreachable, and Problem where the service refused.
    """
    paused = 0.0
    attempt = 0
    while True:
        attempt += 1
        response: httpx.Response | None = None
        failure: httpx.TransportError | None = None
        try:
            response = yield call
        except httpx.TransportError as error:
            failure = error
        if response is not None and response.is_success:
            return response
        if (
            response is not None
            and attempt > 1
            and call.gone_is_done
            and response.status_code in (404, 410)
        ):
            return response
        policy = retries.before_the_first_answer() if isinstance(failure, NeverReached) else retries
        may_repeat = _may_repeat(call, response, failure)
        pause = policy.pause(attempt, paused, response) if may_repeat else None
        if pause is None:
            if response is not None:
                raise problem_of(response)
            raise Unreachable(_in_words(call, failure, attempt)) from failure
        yield Pause(pause)
        paused += pause


def document(call: Call, retries: Retries) -> Flow[dict[str, Any]]:
    """Return the JSON object of the answer. Raises InvalidAnswer and what `answered` raises."""
    response = yield from answered(call, retries)
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InvalidAnswer(
            f"{response.url} did not return a JSON object: "
            "check that this is the address of Itoscope"
        )
    return body


def text(call: Call, retries: Retries) -> Flow[str]:
    """Return the text of the answer."""
    return (yield from answered(call, retries)).text


def nothing(call: Call, retries: Retries) -> Flow[None]:
    """Send a call whose answer has no content."""
    yield from answered(call, retries)


def limited(retries: Retries, seconds: float | None) -> Retries:
    """Limit a policy's patience to the remaining time [s]."""
    if seconds is None:
        return retries
    return replace(retries, patience=min(retries.patience, max(0.0, seconds)))


def clock() -> float:
    """Return the seconds of a clock that never goes back."""
    return time.monotonic()


def _may_repeat(
    call: Call, response: httpx.Response | None, failure: httpx.TransportError | None
) -> bool:
    if response is not None:
        return response.status_code in (RETRYABLE if call.repeatable else UNPROCESSED)
    # Without a connection no request was sent, and nothing was done.
    return call.repeatable or isinstance(
        failure, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout
    )


def _in_words(call: Call, failure: httpx.TransportError | None, attempts: int) -> str:
    tried = "once" if attempts == 1 else f"{attempts} times"
    why = str(failure) or type(failure).__name__
    message = f"No response to {call.method} {call.path} (tried {tried}): {why}."
    if isinstance(failure, httpx.ConnectError):
        check = "Check that the service is running and its address"
        return f"{message} {check}: Client(url), --url or ITOSCOPE_URL."
    if not call.repeatable:
        unknown = "It may have been processed; without an idempotency key it was not sent again."
        return f"{message} {unknown}"
    return message
