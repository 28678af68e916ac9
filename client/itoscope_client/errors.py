"""The client's exceptions: `except NotFound`, `except InvalidRequest as error: error.errors`."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

__all__ = [
    "Busy", "Conflict", "Fault", "Gone", "InputError", "InvalidAnswer", "InvalidRequest",
    "ItoscopeError", "JobCancelled", "JobFailed", "MissingDependency", "NoModel", "NotFound",
    "Problem", "ServerError", "TooLarge", "Unauthorized", "Unreachable", "UnreadableData",
]  # fmt: skip


class ItoscopeError(Exception):
    """The base of every exception that this client raises."""


class InputError(ItoscopeError, ValueError):
    """The given data cannot be turned into an upload; the message names the option to give."""


class MissingDependency(ItoscopeError, ImportError):
    """A required package is not installed; the message says how to install it."""


class Unreachable(ItoscopeError):
    """The service did not answer, however often it was tried."""


class InvalidAnswer(ItoscopeError):
    """Something answered that is not Itoscope."""


class JobCancelled(ItoscopeError):
    """The job was cancelled and has no result."""


class NoModel(ItoscopeError):
    """The job's result is not one model; the kind `rolling` has many."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault at one place of the request."""

    detail: str
    pointer: str | None = None
    """JSON Pointer, e.g. `#/parameters/kernels/count`."""


class Problem(ItoscopeError):
    """The service refused the request and says why (RFC 9457).

    code          stable code for programs: `unreadable-data`
    status        HTTP status
    detail        explanation in a sentence
    errors        each fault with its place
    hints         what to try
    request_id    identifier of the request for the service's operator
    retry_after   seconds until a retry is worthwhile
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

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls the class with its message; other processes need the same exception.
        return _unpickled, (type(self), str(self)), self.__dict__


def _unpickled(kind: type[Problem], message: str) -> Problem:
    return kind.__new__(kind, message)


class InvalidRequest(Problem):
    """A field, parameter or reference was refused; `errors` names each."""


class UnreadableData(Problem):
    """The file cannot be read safely; `errors` names the row or field, `hints` the option."""


class TooLarge(Problem):
    """The data have more bytes or samples than the service accepts."""


class Unauthorized(Problem):
    """The API key is missing, unknown or without the necessary scope.

    The key is read from ITOSCOPE_API_KEY.
    """


class NotFound(Problem):
    """You have no such dataset or job."""


class Gone(NotFound):
    """The dataset or job existed and is no longer kept."""


class Conflict(Problem):
    """The job is not in the state that the request needs."""


class Busy(Problem):
    """The service is busy or its store away; `retry_after` says when to try again."""


class ServerError(Problem):
    """The service has an error; tell its operator the `request_id`."""


class JobFailed(Problem):
    """The job ended without a result; the problem says why."""

    def __init__(self, job_id: str, document: Mapping[str, Any]) -> None:
        self.job_id = job_id
        super().__init__(document)


_BY_CODE: Mapping[str, type[Problem]] = {
    "unreadable-data": UnreadableData, "empty-file": UnreadableData,
    "layout-mismatch": UnreadableData, "too-few-samples": UnreadableData,
    "constant-data": UnreadableData, "unsupported-media-type": UnreadableData, "gone": Gone,
}  # fmt: skip
_BY_STATUS: Mapping[int, type[Problem]] = {
    401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict, 410: Gone, 413: TooLarge,
    429: Busy, 502: Busy, 503: Busy, 504: Busy, 507: TooLarge,
}  # fmt: skip


def problem_of(response: httpx.Response) -> Problem:
    """Return the exception for an unsuccessful answer whose body has been read."""
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
    """Read the seconds of `Retry-After`; None where it is missing or a date."""
    text = response.headers.get("retry-after", "").strip()
    return float(text) if text.isdigit() else None


def in_words(problem: Problem) -> str:
    """Write a problem as lines of text: what is wrong, where, and what to try."""
    detail = f": {problem.detail}" if problem.detail else ""
    lines = [f"{problem.title}{detail} ({problem.code})"]
    lines += [f"  at {fault.pointer}: {fault.detail}" for fault in problem.errors if fault.pointer]
    lines += [f"  try: {hint}" for hint in problem.hints]
    if problem.status >= 500 and problem.request_id:
        lines.append(f"  request {problem.request_id}")
    return "\n".join(lines)


def needed(module: str, what: str, extra: str = "convert") -> Any:
    """Import the module. Raise MissingDependency, with its purpose and its installation."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        message = (
            f"{what} needs {package}: pip install {package}, "
            f"or pip install 'itoscope-client[{extra}]'"
        )
        raise MissingDependency(message) from None
