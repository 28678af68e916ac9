"""Documents as answers: one spelling, a strong ETag, and 304 for who has it already."""

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
    """The JSON of a document."""
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
    """JSON that is spelled already; 304 without a body where a safe request names its ETag."""
    fields = {"ETag": etag_of(body), "Cache-Control": cache, **(headers or {})}
    if unchanged(request, fields["ETag"]):
        return Response(status_code=304, headers=fields)
    return Response(
        body, status, headers={**fields, **digest_of(body)}, media_type="application/json"
    )


def etag_of(body: bytes, representation: str = "") -> str:
    """A strong ETag of a document, or of another representation that is made from it."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}{representation}"'


def digest_of(body: bytes) -> dict[str, str]:
    """The header field that lets a caller check what arrived (RFC 9530)."""
    return {
        "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    }


def unchanged(request: Request, etag: str) -> bool:
    """Whether a safe request names this ETag, so that 304 without a body will do."""
    return request.method in ("GET", "HEAD") and _names(request.headers.get("if-none-match"), etag)


def _names(if_none_match: str | None, etag: str) -> bool:
    given = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in given or given == ["*"]
