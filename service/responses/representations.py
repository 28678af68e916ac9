"""Responses: what they declare, what is chosen by Accept, ETag and digest, 304 without a body."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request, Response

from contract.base import Document
from contract.problems import Problem
from service.errors import Refusal

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


BINARY = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}


def form_content(required: str, **documents: str) -> dict[str, Any]:
    """Declare a form with a `file` and JSON parts, each by the name of its component schema."""
    parts = {name: {"$ref": f"#/components/schemas/{schema}"} for name, schema in documents.items()}
    form = {"type": "object", "required": [required], "properties": {"file": BINARY, **parts}}
    encoding = {name: {"contentType": "application/json"} for name in documents}
    return {"multipart/form-data": {"schema": form, "encoding": encoding}}


FOREVER = "private, max-age=31536000, immutable"
REVALIDATE = "private, no-cache"


def document(
    request: Request,
    value: Document | bytes,
    status: int = 200,
    *,
    headers: Mapping[str, str] | None = None,
    cache: str = REVALIDATE,
) -> Response:
    """Respond with a document, or one already encoded, as JSON; 304 if the request names its ETag.

    Only a safe request is answered with 304.
    """
    body = value if isinstance(value, bytes) else value.model_dump_json(by_alias=True).encode()
    fields = {"ETag": etag_of(body), "Cache-Control": cache, **(headers or {})}
    if unchanged(request, fields["ETag"]):
        return Response(status_code=304, headers=fields)
    fields |= digest_of(body)
    return Response(body, status, headers=fields, media_type="application/json")


def etag_of(body: bytes, representation: str = "") -> str:
    """Return a strong ETag of a document, or of another representation made from it."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}{representation}"'


def digest_of(body: bytes) -> dict[str, str]:
    """Return the header field that lets a caller check the body it received (RFC 9530)."""
    return {
        "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    }


def unchanged(request: Request, etag: str) -> bool:
    """Return whether a safe request names this ETag, so that 304 without a body is enough."""
    return request.method in ("GET", "HEAD") and _names(request.headers.get("if-none-match"), etag)


def _names(if_none_match: str | None, etag: str) -> bool:
    given = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in given or given == ["*"]


def chosen(request: Request, offered: Sequence[str]) -> str:
    """Choose the offered media type that `Accept` prefers (RFC 9110 §12.5.1); the first of equals.

    Raises Refusal (not-acceptable).
    """
    ranges = [
        _range(text)
        for text in ",".join(request.headers.getlist("accept")).split(",")
        if text.strip()
    ]
    if not ranges:
        return offered[0]
    quality = {kind: _quality(kind, ranges) for kind in offered}
    best = max(offered, key=lambda kind: quality[kind])  # the first of equals
    if quality[best] == 0:
        raise Refusal(
            "not-acceptable",
            f"This is available as {' and as '.join(offered)}.",
            f"Send Accept: {offered[0]}, or no Accept header.",
            headers={"Vary": "Accept"},
        )
    return best


def _range(text: str) -> tuple[str, float]:
    """Parse a media range and its quality from 0 to 1; an invalid `q` counts as 1."""
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = min(max(float(value), 0.0), 1.0)
            except ValueError:
                quality = 1.0
    return kind, quality if quality == quality else 1.0


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Return the quality of a media type: that of the most specific range that matches it."""
    for fitting in (kind, kind.partition("/")[0] + "/*", "*/*"):
        found = [quality for name, quality in ranges if name == fitting]
        if found:
            return max(found)
    return 0.0
