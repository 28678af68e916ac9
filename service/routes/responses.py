"""What the operations declare about their answers besides success."""

from typing import Any

from contract.problems import Problem

_WHEN = {
    400: "The body cannot be parsed.",
    401: "An API key is needed.",
    403: "The key may not do that.",
    404: "There is no such thing, or it is another tenant's.",
    406: "It is not there in a form that `Accept` names.",
    408: "The body stopped coming.",
    409: "The job has no result (yet).",
    410: "The result is no longer kept.",
    413: "The body or the data are too large.",
    415: "This kind of content is not accepted.",
    422: "Something in the request cannot be done; `errors` names the fields.",
    429: "Too many requests, or too many of your jobs wait or run. Try again after `Retry-After` seconds.",
    503: "The store does not answer, or no worker does. Try again after `Retry-After` seconds.",
    507: "There is no room to keep it.",
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Declarations of problem answers. Where a key is needed, it may lack a scope, or be used too often."""
    if 401 in statuses:
        statuses = tuple(sorted({*statuses, 403, 429}))
    return {status: {"model": Problem, "description": _WHEN[status]} for status in statuses}


def headers(**meanings: str) -> dict[str, Any]:
    """Declarations of response headers; `Retry_After` stands for `Retry-After`."""
    return {name.replace("_", "-"): {"description": meaning, "schema": {"type": "string"}} for name, meaning in meanings.items()}


def json_content(schema: str) -> dict[str, Any]:
    """Content of a named component schema."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
