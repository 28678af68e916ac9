"""Webhooks of a job's end: receivers can verify the sender, and only allowed hosts are called."""

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from standardwebhooks import Webhook, WebhookVerificationError

from contract.kinds import JOB_REQUEST
from contract.records import JobRecord
from storage.names import result_name
from storage.redis.jobs import JobStore
from storage.stores import WEBHOOKS_AT_ONCE
from worker.queue.webhooks import AddressRefused, WebhookSender, is_permitted, permitted_addresses

TENANT = "lab"
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1"))


@dataclass
class Receiver:
    """What was received, and with which statuses to answer: the last one for ever."""

    port: int
    statuses: list[int]
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def receiving(
    *statuses: int, delay: float = 0.0, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.received.append(
                ({name.lower(): value for name, value in self.headers.items()}, body)
            )
            time.sleep(delay)
            status = (
                receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
            )
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver = Receiver(server.server_address[1], list(statuses or (204,)))
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


BRIEF = (0.05, 0.05)
"""How long to wait before a webhook is sent again [s]."""


@pytest.fixture
def jobs(open_jobs: Callable[..., JobStore]) -> JobStore:
    return open_jobs(webhook_waits=BRIEF)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's, of the name `localhost` and signed by itself; and what trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = (
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")]),
        datetime.now(UTC),
    )
    signed = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(hours=1)
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    place = tmp_path_factory.mktemp("tls") / "server.pem"
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    place.write_bytes(private + signed.public_bytes(pem))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(place)
    return server, ssl.create_default_context(cafile=str(place))


def ended(jobs: JobStore, url: str | None, tenant: str = TENANT, **fields: Any) -> str:
    """The id of a job that has succeeded."""
    job = {"kind": "identification", "dataset": "ds_abc", "labels": {"trap": "µ"}, **fields}
    job_id = jobs.submit(
        tenant, JOB_REQUEST.validate_python({**job, "webhook": {"url": url} if url else None})
    ).record.id
    jobs.claim(job_id, "worker", 30.0)
    assert jobs.succeed(job_id, 1, result_name(job_id, 1))
    return job_id


def sender(
    jobs: JobStore, hosts: tuple[str, ...] = ("*",), networks: Any = LOOPBACK, **options: Any
) -> WebhookSender:
    return WebhookSender(jobs, hosts, networks, **options)


def test_the_record_is_sent_as_a_get_would_give_it_and_signed(jobs: JobStore) -> None:
    with receiving(200) as receiver:
        job_id = ended(jobs, f"http://localhost:{receiver.port}/hooks?lab=1")
        sender(jobs).send_due()
        sender(jobs).send_due()
    ((headers, body),) = receiver.received
    assert headers["host"] == f"localhost:{receiver.port}"
    assert headers["content-type"] == "application/json"
    assert headers["webhook-id"] == f"msg_{job_id.removeprefix('job_')}"
    checker = Webhook(jobs.webhook_secret(TENANT))
    assert checker.verify(body, headers) == json.loads(body)
    record = jobs.get(TENANT, job_id)
    assert record is not None
    assert JobRecord.model_validate_json(body) == record.linked
    for twisted in (body.replace(b"succeeded", b"cancelled"), body + b" "):
        with pytest.raises(WebhookVerificationError):
            checker.verify(twisted, headers)
    for other in ({"webhook-id": "msg_0"}, {"webhook-timestamp": str(int(time.time()) - 60)}):
        with pytest.raises(WebhookVerificationError):
            checker.verify(body, {**headers, **other})
    with pytest.raises(WebhookVerificationError):
        Webhook(jobs.webhook_secret("stranger")).verify(body, headers)
    assert jobs.tally().happened["webhook_delivered"] == 1


def test_every_end_is_told_and_no_job_is_told_of_that_did_not_ask(jobs: JobStore) -> None:
    with receiving() as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        ended(jobs, None)
        job = JOB_REQUEST.validate_python(
            {"kind": "identification", "dataset": "ds_abc", "webhook": {"url": url}}
        )
        cancelled, running = (jobs.submit(TENANT, job).record.id for _ in range(2))
        sender(jobs).send_due()
        assert receiver.received == [], "none has ended"
        jobs.cancel(TENANT, cancelled)
        jobs.claim(running, "worker", 30.0)
        sender(jobs).send_due()
    assert [json.loads(body)["state"] for _, body in receiver.received] == ["cancelled"]


def test_a_receiver_that_is_down_is_told_when_it_is_up_again_by_whoever_then_runs(
    open_jobs: Any,
) -> None:
    jobs = open_jobs(webhook_waits=BRIEF)
    with receiving() as receiver:
        port = receiver.port
    ended(jobs, f"http://127.0.0.1:{port}/")
    sender(jobs).send_due()
    time.sleep(0.06)
    with receiving(500, 204, port=port) as receiver:
        another = open_jobs(webhook_waits=BRIEF)  # nothing is remembered outside the store
        for _ in range(4):
            sender(another).send_due()
            time.sleep(0.06)
    assert len(receiver.received) == 2, "refused once, then told, then not again"
    assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 1
    assert len({body for _, body in receiver.received}) == 1


def test_tenants_share_what_is_sent_at_once(open_jobs: Callable[..., JobStore]) -> None:
    """300 receivers of one tenant that did not answer held up another's webhook for 40 s."""
    jobs = open_jobs()
    many = [ended(jobs, "https://silent.example/") for _ in range(WEBHOOKS_AT_ONCE + 10)]
    other = ended(jobs, "https://prompt.example/", tenant="other")
    first = [(each.tenant, each.record.id) for each in jobs.webhooks_due()]
    assert first == [
        ("other", other),
        *((TENANT, job_id) for job_id in many[: WEBHOOKS_AT_ONCE - 1]),
    ]
    jobs.webhook_ended(other, delivered=True)
    second = [each.record.id for each in jobs.webhooks_due()]
    assert second == many[WEBHOOKS_AT_ONCE - 1 :]
    assert not jobs.webhooks_due()


def test_a_sender_that_dies_is_followed_by_another(jobs: JobStore) -> None:
    with receiving() as receiver:
        ended(jobs, f"http://127.0.0.1:{receiver.port}/")
        assert len(jobs.webhooks_due()) == 1, "taken by who then dies"
        sender(jobs).send_due()
        assert receiver.received == [], "a sender gets time to finish"
        time.sleep(0.06)
        sender(jobs).send_due()
    assert len(receiver.received) == 1


@pytest.mark.parametrize(("status", "times"), [(500, 3), (302, 3), (410, 1)])
def test_it_is_given_up_after_the_last_attempt_or_when_told_to(
    jobs: JobStore, status: int, times: int
) -> None:
    with receiving(status) as receiver:
        ended(jobs, f"http://127.0.0.1:{receiver.port}/")
        for _ in range(5):
            sender(jobs).send_due()
            time.sleep(0.06)
    assert len(receiver.received) == times, "and no redirect was followed"
    assert jobs.tally().happened["webhook_given_up"] == 1


def test_a_forgotten_job_is_not_told_of(jobs: JobStore) -> None:
    with receiving() as receiver:
        job_id = ended(jobs, f"http://127.0.0.1:{receiver.port}/")
        jobs.forget(TENANT, job_id, 30.0)
        sender(jobs).send_due()
    assert receiver.received == []


def test_a_receiver_that_does_not_answer_costs_five_seconds_at_most(
    jobs: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.queue.webhooks.SECONDS", 0.2)
    with receiving(delay=2.0) as slow, receiving() as quick:
        ended(jobs, f"http://127.0.0.1:{slow.port}/")
        ended(jobs, f"http://127.0.0.1:{quick.port}/")
        started = time.monotonic()
        sender(jobs).send_due()
        assert time.monotonic() - started < 1.5
    assert len(quick.received) == 1


def test_a_name_server_that_does_not_answer_costs_no_more(
    jobs: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.queue.webhooks.SECONDS", 0.2)
    look = socket.getaddrinfo

    def mute(host: str, *given: Any, **more: Any) -> Any:
        if host == "localhost":
            time.sleep(1.5)
        return look(host, *given, **more)

    monkeypatch.setattr(socket, "getaddrinfo", mute)
    with receiving() as receiver:
        ended(jobs, f"http://localhost:{receiver.port}/")
        ended(jobs, f"http://127.0.0.1:{receiver.port}/")
        started = time.monotonic()
        sender(jobs).send_due()
        assert time.monotonic() - started < 1.2
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "[::]",
    ],
)
def test_an_address_that_is_not_public_is_not_told(open_jobs: Any, host: str) -> None:
    jobs = open_jobs(webhook_waits=())
    with receiving() as receiver:
        ended(jobs, f"http://{host}:{receiver.port}/")
        # A network must be allowed, or http would not be; not this one.
        sender(jobs, networks=(ip_network("10.9.8.0/24"),)).send_due()
        assert receiver.received == []
        assert jobs.tally().happened["webhook_given_up"] == 1
        ended(jobs, f"http://127.0.0.1:{receiver.port}/")
        sender(jobs).send_due()
    assert len(receiver.received) == 1, "the receiver could have been told"


@pytest.mark.parametrize(
    ("address", "permitted"),
    [
        ("93.184.215.14", True), ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False), ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.1.1", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("255.255.255.255", False), ("240.0.0.1", False), ("::1", False), ("::", False),
        ("fe80::1", False), ("fe80::1%eth0", False), ("fc00::1", False), ("fec0::1", False),
        ("ff02::1", False), ("::ffff:10.0.0.1", False), ("::ffff:93.184.215.14", True),
        ("64:ff9b::7f00:1", False), ("64:ff9b::5db8:d70e", True), ("2002:7f00:1::", False),
        ("2001:db8::1", False), ("192.0.2.1", False), ("198.18.0.1", False),
    ],
)  # fmt: skip
def test_only_public_addresses_may_be_told_unless_the_operator_says_so(
    address: str, permitted: bool
) -> None:
    assert is_permitted(ip_address(address), ()) == permitted
    network = ip_network(address.partition("%")[0])
    assert is_permitted(ip_address(address.partition("%")[0]), [network]), "allowed by name"


def test_a_name_with_an_address_inside_is_refused_whatever_else_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(*_: Any, **__: Any) -> Any:
        return [(0, 0, 0, "", (text, 443)) for text in ("93.184.215.14", "10.0.0.1")]

    async def ask(networks: Any) -> Any:
        monkeypatch.setattr("worker.queue.webhooks.socket.getaddrinfo", found)
        return await permitted_addresses("rebound.example", 443, networks)

    with pytest.raises(AddressRefused):
        asyncio.run(ask(()))
    assert asyncio.run(ask((ip_network("10.0.0.0/8"),))) == ["93.184.215.14", "10.0.0.1"]


def test_the_operators_list_holds_when_it_is_sent_too(open_jobs: Any) -> None:
    jobs = open_jobs(webhook_waits=(0.0, 0.0))
    with receiving() as receiver:
        ended(jobs, f"http://localhost:{receiver.port}/")
        for hosts, told in (
            ((), 0),
            (("127.0.0.1", "*.localhost"), 0),
            (("example.org", "LocalHost."), 1),
        ):
            sender(jobs, hosts).send_due()
            assert len(receiver.received) == told


@pytest.mark.slow
def test_by_tls_the_certificate_must_be_the_names(open_jobs: Any, certificates: Any) -> None:
    server, trusted = certificates
    jobs = open_jobs(webhook_waits=())
    with receiving(tls=server) as receiver:
        ended(jobs, f"https://localhost:{receiver.port}/")
        sender(jobs, trusted=trusted).send_due()
        assert len(receiver.received) == 1, (
            "connected to the address, by the certificate of the name"
        )
        for host, known in (("127.0.0.1", trusted), ("localhost", None)):
            ended(jobs, f"https://{host}:{receiver.port}/")
            sender(jobs, trusted=known).send_due()
    assert len(receiver.received) == 1
    assert jobs.tally().happened["webhook_given_up"] == 2
