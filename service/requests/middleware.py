"""Middleware that gives every request an id, a log line, a place in the metrics and an answer."""

import re
import time
import uuid

import structlog
from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import Refusal, answer
from service.responses import deprecation

_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
"""Headers that restrict what a response may do in a browser, unless its route sets them."""
_TWO_LENGTHS = Refusal(
    "invalid-request",
    "The request has both a Content-Length and a Transfer-Encoding.",
    "Send one of the two.",
    headers={"Connection": "close"},
)
_log = structlog.get_logger("service")


class ExchangeMiddleware:
    """ASGI middleware around every request.

    It takes over or creates `X-Request-Id`, logs one event per request, and answers
    `internal-error` if everything else failed.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        given = request.headers.get("x-request-id", "")
        request_id = given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        scope["request_id"] = request_id
        status: int | None = None
        started = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in _GUARDS.items():
                    headers.setdefault(name, value)
                allowance = scope.get("allowance")
                if allowance is not None:
                    headers.update(allowance.headers)
                for name, value in deprecation.headers(scope):
                    headers.append(name, value)
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                if "transfer-encoding" in request.headers and "content-length" in request.headers:
                    # A proxy that trusts the length sees two requests where we see one.
                    await answer(request, _TWO_LENGTHS, status=400)(scope, receive, send_with_id)
                    return
                await self.app(scope, receive, send_with_id)
            except Exception:
                _log.exception("internal error", method=request.method, path=scope["path"])
                if status is not None:
                    raise
                refusal = Refusal(
                    "internal-error",
                    "An error occurred in the service. Your request may be correct.",
                    f"Report the request id {request_id} to the operator.",
                )
                await answer(request, refusal)(scope, receive, send_with_id)
            finally:
                seconds = time.perf_counter() - started
                request.app.state.context.metrics.request(
                    request.method, getattr(scope.get("route"), "path", None), status, seconds
                )
                _log.info(
                    "request",
                    method=request.method,
                    path=scope["path"],
                    status=status,
                    seconds=round(seconds, 4),
                )
