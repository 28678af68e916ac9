"""`rediss://`: the connection of the stores and Celery's, through a TLS end in front of a real
server.

The bundled Valkey speaks no TLS itself; what is tested here is our side of it.
"""

import datetime
import ipaddress
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from redis import Redis
from redis.exceptions import ConnectionError

from contract.messages import Message
from storage.redis.connection import broker_url, connect
from storage.redis.queue import CeleryQueue
from storage.stores import StoreUnavailable
from worker.queue.app import computation_of, create_app
from worker.queue.settings import WorkerSettings


@dataclass(frozen=True)
class Tls:
    """A server behind TLS, whose certificate is signed by itself."""

    url: str
    certificate: Path

    @property
    def trusted(self) -> str:
        return f"{self.url}?ssl_ca_certs={self.certificate}"


def certificate(folder: Path) -> Path:
    """Key and certificate of 127.0.0.1, good for an hour."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(
            name,
            name,
            key.public_key(),
            x509.random_serial_number(),
            now,
            now + datetime.timedelta(hours=1),
        )
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    place = folder / "server.pem"
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    place.write_bytes(private + signed.public_bytes(pem))
    return place


class TlsEnd(socketserver.ThreadingTCPServer):
    """Takes TLS connections and hands what comes in on to the server behind it."""

    def __init__(self, context: ssl.SSLContext, behind: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.context, self.behind = context, behind
        self.open: list[socket.socket] = []

    def handle_error(self, *_: object) -> None:
        """A handshake that fails is what some tests are about."""


class Connection(socketserver.BaseRequestHandler):
    server: TlsEnd

    def handle(self) -> None:
        with (
            self.server.context.wrap_socket(self.request, server_side=True) as outer,
            socket.create_connection(self.server.behind) as inner,
        ):
            self.server.open += [outer, inner]
            back = threading.Thread(target=relay, args=(inner, outer))
            back.start()
            relay(outer, inner)
            back.join()


def relay(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def tls(restricted_url: str, tmp_path: Path) -> Iterator[Tls]:
    parts = urlsplit(restricted_url)
    assert parts.port is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    place = certificate(tmp_path)
    context.load_cert_chain(place)
    with TlsEnd(context, ("127.0.0.1", parts.port)) as end:
        serving = threading.Thread(target=end.serve_forever, args=(0.05,))
        serving.start()
        yield Tls(
            restricted_url.replace("redis://", "rediss://").replace(
                f":{parts.port}/", f":{end.server_address[1]}/"
            ),
            place,
        )
        end.shutdown()
        serving.join()
        for one in end.open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def test_the_stores_reach_a_server_whose_certificate_is_good(tls: Tls) -> None:
    with connect(tls.trusted) as client:
        assert client.ping()


def test_the_stores_refuse_one_that_nobody_vouches_for(tls: Tls) -> None:
    with (
        connect(tls.url) as client,
        pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        client.ping()


def test_the_service_publishes_through_tls(tls: Tls, empty_redis_url: str) -> None:
    queue = CeleryQueue(tls.trusted)
    queue.publish(Message("job_1", 60))
    queue.close()
    assert Redis.from_url(empty_redis_url).llen("celery-small") == 1


def test_the_service_publishes_nothing_to_a_server_that_nobody_vouches_for(
    tls: Tls, empty_redis_url: str
) -> None:
    queue = CeleryQueue(tls.url)
    with pytest.raises(StoreUnavailable):
        queue.publish(Message("job_1", 60))
    queue.close()
    assert Redis.from_url(empty_redis_url).llen("celery-small") == 0


def test_the_worker_listens_through_tls(tls: Tls, tmp_path: Path) -> None:
    settings = WorkerSettings(redis_url=tls.trusted, data_dir=tmp_path)
    app = create_app(settings, computation_of(settings))
    with app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, timeout=5)
        assert connection.default_channel.client.ping()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("redis://redis/0", "redis://redis/0"),
        ("rediss://redis/0", "rediss://redis/0?ssl_cert_reqs=required"),
        (
            "rediss://redis/0?ssl_ca_certs=/ca.pem",
            "rediss://redis/0?ssl_ca_certs=/ca.pem&ssl_cert_reqs=required",
        ),
        ("rediss://redis/0?ssl_cert_reqs=none", "rediss://redis/0?ssl_cert_reqs=none"),
    ],
)
def test_celery_is_told_to_ask_for_a_certificate(given: str, used: str) -> None:
    assert broker_url(given) == used
