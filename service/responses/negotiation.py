"""Content negotiation by `Accept` (RFC 9110 §12.5.1)."""

from collections.abc import Sequence

from fastapi import Request

from service.errors import Refusal


def chosen(request: Request, offered: Sequence[str]) -> str:
    """Choose the offered media type that the caller prefers; the first of equals.

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
            hints=(f"Send Accept: {offered[0]}, or no Accept header.",),
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
