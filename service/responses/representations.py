"""Documents as responses, with a strong ETag, a digest, and 304 for callers that have them."""

import base64
import hashlib
from collections.abc import Mapping

from fastapi import Request, Response

from contract.base import Document

FOREVER = "private, max-age=31536000, immutable"
REVALIDATE = "private, no-cache"


def document(
    request: Request,
    value: Document,
    status: int = 200,
    *,
    headers: Mapping[str, str] | None = None,
    cache: str = REVALIDATE,
) -> Response:
    """Respond with a document as JSON, or 304 if the request names its ETag."""
    return json_bytes(
        request, value.model_dump_json(by_alias=True).encode(), status, headers=headers, cache=cache
    )


def json_bytes(
    request: Request,
    body: bytes,
    status: int = 200,
    *,
    headers: Mapping[str, str] | None = None,
    cache: str = REVALIDATE,
) -> Response:
    """Respond with encoded JSON, or 304 without a body if a safe request names its ETag."""
    fields = {"ETag": etag_of(body), "Cache-Control": cache, **(headers or {})}
    if unchanged(request, fields["ETag"]):
        return Response(status_code=304, headers=fields)
    return Response(
        body, status, headers={**fields, **digest_of(body)}, media_type="application/json"
    )


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
