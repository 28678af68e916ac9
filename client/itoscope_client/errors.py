"""What can go wrong, as types: `except NotFound`, `except InvalidRequest as error: error.errors`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx


class ItoscopeError(Exception):
    """Everything this client raises."""


class InputError(ItoscopeError, ValueError):
    """The data given cannot be turned into an upload; the message names the option to give."""


class MissingDependency(ItoscopeError, ImportError):
    """A package is needed that is not installed; the message says how to install it."""


class Unreachable(ItoscopeError):
    """The service did not answer, however often it was tried."""


class InvalidAnswer(ItoscopeError):
    """Something answered that is not Itoscope."""


class JobCancelled(ItoscopeError):
    """The job was cancelled and has no result."""


class NoModel(ItoscopeError):
    """The job's result is not one model, as of the kind `rolling`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at one place of what was sent."""

    detail: str
    pointer: str | None = None
    """JSON Pointer, e.g. `#/parameters/kernels/count`."""


class Problem(ItoscopeError):
    """The service said no, and why (RFC 9457).

    code          stable, for programs: `unreadable-data`
    status        HTTP status
    detail        a sentence
    errors        each fault with its place
    hints         what to try
    request_id    to be told to whoever runs the service
    retry_after   seconds until it is worth asking again
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.code = str(document.get("code", "unknown"))
        self.title = str(document.get("title", "The request failed"))
        self.status = int(document.get("status", 0))
        self.detail = str(document.get("detail", ""))
        self.errors = tuple(
            Fault(str(e.get("detail", "")), e.get("pointer")) for e in document.get("errors") or ()
        )
        self.hints = tuple(str(hint) for hint in document.get("hints") or ())
        self.request_id = request_id
        self.retry_after = retry_after
        super().__init__(in_words(self))


class InvalidRequest(Problem):
    """A field, parameter or reference was refused; `errors` names each."""


class UnreadableData(Problem):
    """The file has no safe reading; `errors` names the row or field, `hints` the option to give."""


class TooLarge(Problem):
    """More bytes or samples than the service takes."""


class Unauthorized(Problem):
    """No API key, or none that is known, or without the scope for this. The key is read from ITOSCOPE_API_KEY."""


class NotFound(Problem):
    """There is no such dataset or job among yours."""


class Gone(NotFound):
    """It was there, and is no longer kept."""


class Conflict(Problem):
    """Not in the state this needs."""


class Busy(Problem):
    """Too many jobs or requests, or the store is away; `retry_after` says when to come back."""


class ServerError(Problem):
    """The service made a mistake; tell its operator the `request_id`."""


class JobFailed(Problem):
    """The job ended without a result; this is why."""

    def __init__(self, job_id: str, document: Mapping[str, Any]) -> None:
        self.job_id = job_id
        super().__init__(document)


_BY_CODE: Mapping[str, type[Problem]] = {
    "unreadable-data": UnreadableData,
    "empty-file": UnreadableData,
    "layout-mismatch": UnreadableData,
    "too-few-samples": UnreadableData,
    "constant-data": UnreadableData,
    "unsupported-media-type": UnreadableData,
    "gone": Gone,
}
_BY_STATUS: Mapping[int, type[Problem]] = {
    401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict, 410: Gone, 413: TooLarge, 429: Busy, 502: Busy, 503: Busy,
    504: Busy, 507: TooLarge,
}  # fmt: skip


def problem_of(response: httpx.Response) -> Problem:
    """The exception that an answer stands for, which is not a success and has been read."""
    document: Any = None
    if "json" in response.headers.get("content-type", ""):
        try:
            document = response.json()
        except ValueError:
            document = None
    if not isinstance(document, dict):
        document = {
            "title": f"{response.status_code} {response.reason_phrase}",
            "detail": response.text[:200].strip(),
        }
    document = {**document, "status": response.status_code}
    kind = _BY_CODE.get(str(document.get("code"))) or _BY_STATUS.get(response.status_code)
    if kind is None:
        kind = ServerError if response.status_code >= 500 else InvalidRequest
    return kind(
        document, request_id=response.headers.get("x-request-id"), retry_after=retry_after(response)
    )


def retry_after(response: httpx.Response) -> float | None:
    """Seconds of `Retry-After`; None where there is none, or a date instead."""
    text = response.headers.get("retry-after", "").strip()
    return float(text) if text.isdigit() else None


def in_words(problem: Problem) -> str:
    """A problem as lines of text: what, where, what to try."""
    lines = [
        f"{problem.title}: {problem.detail} ({problem.code})"
        if problem.detail
        else f"{problem.title} ({problem.code})"
    ]
    lines += [f"  at {fault.pointer}: {fault.detail}" for fault in problem.errors if fault.pointer]
    lines += [f"  try: {hint}" for hint in problem.hints]
    if problem.status >= 500 and problem.request_id:
        lines.append(f"  request {problem.request_id}")
    return "\n".join(lines)
