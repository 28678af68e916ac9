"""What the client does, step by step, written once for blocking and for asynchronous use.

A flow is a generator: it yields a `Call` to be sent, a `Pause` to be slept or a `Listen` to be heard, is given the answer, and
returns its outcome.
`client.py` and `async_client.py` only drive them.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import httpx

from itoscope_client.calls import Call
from itoscope_client.errors import InvalidAnswer, Unreachable, problem_of
from itoscope_client.retries import NOTHING_WAS_DONE, WORTH_ANOTHER_TRY, Retries


class NobodyYet(httpx.ConnectError):
    """Nobody listens there, and nobody ever did."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Sleep so long [s]."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Listen:
    """Send, and give every piece of a stream of events to `hear` as it comes, until that has heard enough.

    silence   seconds without a piece after which to give up
    """

    call: Call
    silence: float
    hear: Callable[[bytes], bool]


T = TypeVar("T")
Flow = Generator[Call | Pause | Listen, httpx.Response | None, T]


def answered(call: Call, retries: Retries) -> Flow[httpx.Response]:
    """Send, and again where that cannot do harm, until there is an answer that stands.

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
        policy = retries.before_the_first_answer() if isinstance(failure, NobodyYet) else retries
        pause = (
            policy.pause(attempt, paused, response)
            if _may_repeat(call, response, failure)
            else None
        )
        if pause is None:
            if response is not None:
                raise problem_of(response)
            raise Unreachable(_in_words(call, failure, attempt)) from failure
        yield Pause(pause)
        paused += pause


def document(call: Call, retries: Retries) -> Flow[dict[str, Any]]:
    """The JSON object that answers. Raises InvalidAnswer besides."""
    response = yield from answered(call, retries)
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InvalidAnswer(
            f"{response.url} did not return a JSON object: check that this is the address of Itoscope"
        )
    return body


def text(call: Call, retries: Retries) -> Flow[str]:
    """The text that answers."""
    return (yield from answered(call, retries)).text


def nothing(call: Call, retries: Retries) -> Flow[None]:
    """Only that it was done."""
    yield from answered(call, retries)


def patient(retries: Retries, seconds: float | None) -> Retries:
    """The same policy within a time that is left [s]."""
    return (
        retries
        if seconds is None
        else replace(retries, patience=min(retries.patience, max(0.0, seconds)))
    )


def clock() -> float:
    """Seconds of a clock that never goes back."""
    return time.monotonic()


def _may_repeat(
    call: Call, response: httpx.Response | None, failure: httpx.TransportError | None
) -> bool:
    if response is not None:
        return response.status_code in (WORTH_ANOTHER_TRY if call.repeatable else NOTHING_WAS_DONE)
    # No connection, no request: nothing was done.
    return call.repeatable or isinstance(
        failure, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout
    )


def _in_words(call: Call, failure: httpx.TransportError | None, attempts: int) -> str:
    tried = "once" if attempts == 1 else f"{attempts} times"
    why = str(failure) or type(failure).__name__
    message = f"No response to {call.method} {call.path} (tried {tried}): {why}."
    if isinstance(failure, httpx.ConnectError):
        return (
            message
            + " Check that the service is running and its address: Client(url), --url or ITOSCOPE_URL."
        )
    if not call.repeatable:
        return (
            message
            + " It may have been processed; without an idempotency key it was not sent again."
        )
    return message
