"""Reading of a request's body, with a limit on its size and on the time without new bytes."""

from collections.abc import AsyncGenerator

import anyio
from fastapi import Request

from service.errors import Refusal


async def chunks(request: Request, limit: int, idle_seconds: float) -> AsyncGenerator[bytes]:
    """Yield the body in pieces.

    Raises Refusal: body-too-large (by the announced length or by counting), body-timeout,
    unsupported-media-type.
    """
    if announced(request) > limit:
        raise too_large(limit)
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        raise Refusal(
            "unsupported-media-type",
            "Compressed bodies are not accepted.",
            hints=("Send the content without Content-Encoding.",),
        )
    size = 0
    stream = request.stream()
    while True:
        try:
            with anyio.fail_after(idle_seconds):
                chunk = await anext(stream, b"")
        except TimeoutError:
            detail = f"No data arrived for {idle_seconds:g} seconds after the first {size} bytes."
            raise Refusal(
                "body-timeout",
                detail,
                hints=("Send the request again.",),
                headers={"Connection": "close"},
            ) from None
        if not chunk:
            return
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        yield chunk


def announced(request: Request) -> int:
    """Return the body's announced number of bytes; 0 if none is announced."""
    said = request.headers.get("content-length", "")
    return int(said[:20]) if said.isdecimal() else 0


async def whole(request: Request, limit: int, idle_seconds: float) -> bytes:
    """Return the body of a small document in one piece. Raises Refusal as `chunks` does."""
    return b"".join([chunk async for chunk in chunks(request, limit, idle_seconds)])


def too_large(limit: int) -> Refusal:
    """Build the refusal of a body that is larger than `limit` bytes."""
    detail = f"The body may not exceed {limit / 1e6:g} MB."
    hints = (
        "Split the trajectories over several datasets, or upload a denser format such as NPY or "
        "Parquet.",
    )
    return Refusal("body-too-large", detail, hints=hints, headers={"Connection": "close"})
