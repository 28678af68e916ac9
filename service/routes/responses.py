"""Declarations of the operations' responses for the OpenAPI document."""

from typing import Any

from contract.problems import Problem

_WHEN = {
    400: "The body cannot be parsed.",
    401: "A valid API key is required.",
    403: "The API key lacks the required scope.",
    404: "Not found, or owned by another tenant.",
    406: "Not available in a format that `Accept` names.",
    408: "The upload stalled.",
    409: "The job is in a state that does not allow this.",
    410: "The result is no longer available.",
    413: "The body or the dataset is too large.",
    415: "The content type is not supported.",
    422: "The request is invalid; `errors` names the fields.",
    429: "Too many requests, or too many of your jobs are waiting or running. Repeat after "
    "`Retry-After` seconds.",
    503: "The job store is unavailable, or no worker is running. Repeat after `Retry-After` "
    "seconds.",
    507: "The storage is full, or your quota is exceeded.",
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Declare the problem responses.

    An operation that needs a key (401) may also refuse its scope (403) or its frequent use (429).
    """
    if 401 in statuses:
        statuses = tuple(sorted({*statuses, 403, 429}))
    return {status: {"model": Problem, "description": _WHEN[status]} for status in statuses}


def headers(**meanings: str) -> dict[str, Any]:
    """Declare response headers; `Retry_After` stands for `Retry-After`."""
    return {
        name.replace("_", "-"): {"description": meaning, "schema": {"type": "string"}}
        for name, meaning in meanings.items()
    }


def json_content(schema: str) -> dict[str, Any]:
    """Declare JSON content by the name of its component schema."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
