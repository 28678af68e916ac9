"""Problem responses: the one table that maps exceptions to problem codes and HTTP statuses."""

from collections.abc import Mapping

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from contract.problems import ProblemError, problem
from service.readers.errors import UnreadableData
from service.validation_errors import parameter_faults
from storage.disk_errors import is_full, is_passing
from storage.stores import (
    Forgotten,
    IdempotencyMismatch,
    InvalidCursor,
    QueueFull,
    StorageFull,
    StoreUnavailable,
    TooManyJobs,
)

PROBLEM_JSON = "application/problem+json"

CODES: dict[str, tuple[int, str]] = {
    "invalid-request": (422, "Invalid request"),
    "invalid-json": (400, "The body is not valid JSON"),
    "invalid-multipart": (400, "The body is not a valid multipart form"),
    "digest-mismatch": (400, "The body does not match its digest"),
    "unauthorized": (401, "API key required"),
    "forbidden": (403, "Not permitted with this API key"),
    "not-found": (404, "Not found"),
    "method-not-allowed": (405, "Method not allowed"),
    "not-acceptable": (406, "Requested format not available"),
    "body-timeout": (408, "The upload stalled"),
    "job-not-finished": (409, "The job is not finished"),
    "job-failed": (409, "The job failed"),
    "job-cancelled": (409, "The job was cancelled"),
    "no-draws": (409, "No models can be drawn"),
    "gone": (410, "No longer available"),
    "body-too-large": (413, "The body is too large"),
    "too-large-data": (413, "The data are too large"),
    "unsupported-media-type": (415, "Unsupported content type"),
    "unreadable-data": (422, "The data cannot be read"),
    "empty-file": (422, "The file is empty"),
    "layout-mismatch": (422, "The layout does not fit the data"),
    "idempotency-mismatch": (422, "The idempotency key was used for another request"),
    "too-many-jobs": (429, "Too many of your jobs are waiting or running"),
    "too-many-requests": (429, "Too many requests"),
    "internal-error": (500, "Internal error"),
    "queue-full": (503, "The job queue is full"),
    "store-unavailable": (503, "The job store is unavailable"),
    "not-ready": (503, "The service is not ready"),
    "quota-exceeded": (507, "Storage quota exceeded"),
    "storage-full": (507, "Storage full"),
}
"""Status and title of every problem code of this service; docs/problems.md explains them."""

_log = structlog.get_logger("service")
RETRY_SECONDS = 2
"""Seconds after which to try again while the store is unavailable."""


class Refusal(Exception):
    """Error that becomes a problem response; its `code` decides the status and title."""

    def __init__(
        self,
        code: str,
        detail: str,
        *hints: str,
        errors: tuple[ProblemError, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = errors
        self.hints = hints
        self.headers = dict(headers or {})


def answer(request: Request, refusal: Refusal, *, status: int | None = None) -> Response:
    """Build the response with the problem document of a refusal."""
    usual_status, title = CODES.get(refusal.code, (422, "The data cannot be used"))
    status = status or usual_status
    request_id = request.scope.get("request_id")
    said = problem(
        status, refusal.code, title, refusal.detail, *refusal.hints, errors=refusal.errors
    )
    instance = f"urn:itoscope:request:{request_id}" if request_id else None
    body = said.model_copy(update={"instance": instance})
    return Response(
        body.model_dump_json(), status, headers=refusal.headers, media_type=PROBLEM_JSON
    )


_STORE_AWAY = Refusal(
    "store-unavailable",
    "The job store is not responding, so the request was not processed.",
    f"Repeat the request in {RETRY_SECONDS} seconds. "
    "For new jobs, an Idempotency-Key makes this safe.",
    headers={"Retry-After": str(RETRY_SECONDS)},
)
_STORAGE_FULL = Refusal(
    "storage-full",
    "The disk or the memory of the job store is full. Nothing was saved.",
    "Delete datasets and jobs that are no longer needed, or contact the operator.",
    headers={"Retry-After": "60"},
)
_REFUSALS: dict[type[Exception], Refusal] = {
    StoreUnavailable: _STORE_AWAY,
    StorageFull: _STORAGE_FULL,
    IdempotencyMismatch: Refusal(
        "idempotency-mismatch",
        "This Idempotency-Key was already used for another job.",
        "Use a new key for a new job.",
    ),
    InvalidCursor: Refusal(
        "invalid-request",
        "This cursor is not valid.",
        "Start again without a cursor.",
        errors=(ProblemError(detail="query parameter `cursor`: is not a cursor of this service"),),
    ),
    QueueFull: Refusal(
        "queue-full",
        "Too many jobs are waiting or running. This job was not accepted.",
        "Submit it again later.",
        headers={"Retry-After": "10"},
    ),
    TooManyJobs: Refusal(
        "too-many-jobs",
        "Too many of your jobs are waiting or running. This job was not accepted.",
        "Submit it again when some of them have ended, or cancel some.",
        headers={"Retry-After": "5"},
    ),
    Forgotten: Refusal("gone", "This job was deleted or has expired.", "Submit the job again."),
    ClientDisconnect: Refusal(
        "body-timeout", "The connection closed before the body was complete."
    ),
}
"""Refusals of the exceptions that always mean the same."""


def _answered(request: Request, error: Exception) -> Response:
    """Build the response to an exception. Raises it where it is the disk's, but no known trouble.

    service/requests/middleware.py turns every other exception into `internal-error`.
    """
    match error:
        case Refusal():
            return answer(request, error)
        case UnreadableData():
            refusal = Refusal(error.code, error.detail, *error.hints, errors=error.errors)
            return answer(request, refusal, status=error.status)
        case RequestValidationError():
            faults = parameter_faults(error.errors())
            detail = "; ".join(fault.detail for fault in faults)
            return answer(request, Refusal("invalid-request", detail, errors=faults))
        case HTTPException(status_code=404):
            nothing = "There is nothing at this address."
            return answer(request, Refusal("not-found", nothing, "GET /docs lists the addresses."))
        case HTTPException(status_code=405):
            detail = f"This address does not support {request.method}."
            return answer(request, Refusal("method-not-allowed", detail, headers=error.headers))
        case HTTPException():
            refusal = Refusal("invalid-request", str(error.detail), headers=error.headers)
            return answer(request, refusal, status=error.status_code)
        case OSError() if is_full(error):
            return answer(request, _STORAGE_FULL)
        case OSError() if is_passing(error):
            _log.warning("the disk is in trouble", error=str(error))
            return answer(request, _STORE_AWAY)
        case OSError():
            raise error
    return answer(request, next(_REFUSALS[kind] for kind in type(error).mro() if kind in _REFUSALS))


def install(app: FastAPI) -> None:
    """Register the exception handler."""
    kinds = (Refusal, UnreadableData, RequestValidationError, OSError, HTTPException, *_REFUSALS)
    app.exception_handlers.update(dict.fromkeys(kinds, _answered))
