"""Documents as answers: one spelling, a strong ETag, and 304 for who has it already."""

import base64
import hashlib
from collections.abc import Mapping

from fastapi import Request, Response

from contract.base import Document

FOREVER = "private, max-age=31536000, immutable"
REVALIDATE = "private, no-cache"


def document(
    request: Request, value: Document, status: int = 200, *, headers: Mapping[str, str] | None = None, cache: str = REVALIDATE
) -> Response:
    """The JSON of a document."""
    return json_bytes(request, value.model_dump_json(by_alias=True).encode(), status, headers=headers, cache=cache)


def json_bytes(
    request: Request, body: bytes, status: int = 200, *, headers: Mapping[str, str] | None = None, cache: str = REVALIDATE
) -> Response:
    """JSON that is spelled already; 304 without a body where a safe request names its ETag."""
    digest = hashlib.sha256(body).digest()
    etag = f'"{digest.hex()[:32]}"'
    fields = {"ETag": etag, "Cache-Control": cache, **(headers or {})}
    if request.method in ("GET", "HEAD") and _names(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=fields)
    fields["Content-Digest"] = f"sha-256=:{base64.b64encode(digest).decode()}:"
    return Response(body, status, headers=fields, media_type="application/json")


def _names(if_none_match: str | None, etag: str) -> bool:
    given = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in given or given == ["*"]
