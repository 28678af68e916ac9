"""A proxy over which everything goes wrong that can: it drops, cuts, delays and refuses, by chance,
and counts what it did."""

import http.client
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

FAULTS = ("dropped before", "dropped after", "half an answer", "429", "503", "too late")
_OFTEN = (*4 * FAULTS[:-1], FAULTS[-1])
"""Waiting for an answer that is too late takes long, so there are few."""


class FaultyProxy:
    """Forwards HTTP to `url`; of the requests the `share` meets a fault.

    delay        seconds that a late answer takes
    keeps_back   of a stream of events nothing is passed on before its end; else half of them break
                 off after an event or two
    kept_away    headers that are not forwarded
    counts       what happened, by name; `forwarded` is what the service saw
    """

    def __init__(
        self,
        url: str,
        *,
        share: float = 0.5,
        faults: Sequence[str] = _OFTEN,
        delay: float = 1.0,
        kept_away: Sequence[str] = (),
        retry_after: str = "0",
        keeps_back: bool = True,
        seed: int = 0,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._to = urlsplit(url)
        self._share, self._faults, self._delay = share, faults, delay
        self._kept_away = {name.lower() for name in kept_away}
        self._retry_after = retry_after
        self._keeps_back = keeps_back
        self._draw = random.Random(seed)
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                proxy._handle(self)

            do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A caller that hung up is no news here."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, exchange: BaseHTTPRequestHandler) -> None:
        with self._lock:
            fault = self._draw.choice(self._faults) if self._draw.random() < self._share else "none"
            self.counts[fault] += 1
        body = exchange.rfile.read(int(exchange.headers.get("Content-Length", 0)))
        if fault == "dropped before":
            return _hang_up(exchange)
        if fault in ("429", "503"):
            problem = (
                f'{{"code": "made-up", "title": "Refused", "status": {fault}, '
                '"detail": "by the proxy"}'
            ).encode()
            return _answer(
                exchange,
                int(fault),
                {"Content-Type": "application/problem+json", "Retry-After": self._retry_after},
                problem,
            )
        if exchange.path.endswith("/events") and not self._keeps_back:
            return self._pass_on(exchange)
        status, headers, content = self._forward(exchange, body)
        if fault == "dropped after":
            return _hang_up(exchange)
        if fault == "too late":
            time.sleep(self._delay)
        if fault == "half an answer":
            _answer(exchange, status, headers, content, cut=len(content) // 2)
            return _hang_up(exchange)
        _answer(exchange, status, headers, content)

    def _pass_on(self, exchange: BaseHTTPRequestHandler) -> None:
        """A stream, as it comes; by chance it breaks off in the middle of an event."""
        with self._lock:
            left = self._draw.randint(1, 2) if self._draw.random() < 0.5 else None
            self.counts["stream"] += 1
            self.counts["resumed"] += exchange.headers.get("Last-Event-ID") is not None
            self.counts["broken off"] += left is not None
        connection = http.client.HTTPConnection(self._to.hostname or "", self._to.port, timeout=60)
        with closing(connection), suppress(OSError):
            connection.request("GET", exchange.path, headers=dict(exchange.headers.items()))
            answer = connection.getresponse()
            exchange.send_response_only(answer.status)
            exchange.send_header("Content-Type", answer.getheader("Content-Type", ""))
            exchange.send_header("Connection", "close")
            exchange.end_headers()
            for line in answer:
                if left is not None and line.startswith(b"data"):
                    left -= 1
                    if left == 0:
                        exchange.wfile.write(line[: len(line) // 2])
                        break
                exchange.wfile.write(line)
        _hang_up(exchange)

    def _forward(
        self, exchange: BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            self.counts["forwarded"] += 1
        headers = {
            name: value
            for name, value in exchange.headers.items()
            if name.lower() not in self._kept_away
        }
        connection = http.client.HTTPConnection(self._to.hostname or "", self._to.port, timeout=60)
        try:
            connection.request(exchange.command, exchange.path, body or None, headers)
            answer = connection.getresponse()
            kept = {
                name: value
                for name, value in answer.getheaders()
                if name.lower() not in ("connection", "transfer-encoding")
            }
            return answer.status, kept, answer.read()
        finally:
            connection.close()


def _answer(
    exchange: BaseHTTPRequestHandler,
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    cut: int | None = None,
) -> None:
    try:
        exchange.send_response_only(status)
        for name, value in headers.items():
            if name.lower() != "content-length":
                exchange.send_header(name, value)
        exchange.send_header("Content-Length", str(len(content)))
        exchange.end_headers()
        exchange.wfile.write(content[:cut])
        exchange.wfile.flush()
    except OSError:
        exchange.close_connection = True  # the caller had enough of waiting


def _hang_up(exchange: BaseHTTPRequestHandler) -> None:
    exchange.close_connection = True
    with suppress(OSError):
        exchange.connection.shutdown(socket.SHUT_RDWR)
