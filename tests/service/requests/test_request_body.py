"""Hostile and broken bodies: a clear problem, never a 500, never the value itself."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn

DEEP = 100_000
JOB = '{"kind": "identification", "dataset": "d", "timeout_seconds": %s}'

HOSTILE_JSON = {
    "empty": b"",
    "not JSON": b"kind=generator",
    "cut off": b'{"kind": "generator"',
    "trailing text": b'{"kind": "generator"} x',
    "NaN": (JOB % "NaN").encode(),
    "Infinity": (JOB % "-Infinity").encode(),
    "1e400": (JOB % "1e400").encode(),
    "integer of 5 000 digits": (JOB % ("7" * 5000)).encode(),
    "integer of 400 digits": (JOB % ("7" * 400)).encode(),
    "duplicate key": b'{"kind": "generator", "kind": "identification"}',
    "deep list": b"[" * DEEP + b"]" * DEEP,
    "deep object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "byte order mark": b"\xef\xbb\xbf" + (JOB % "1").encode(),
    "UTF-16": (JOB % "1").encode("utf-16"),
    "Latin-1": b'{"kind": "\xe9"}',
    "lone surrogate as value": rb'{"kind": "identification", "dataset": "\ud800"}',
    "lone surrogate as key": rb'{"kind": "identification", "\udfff": 1}',
    "control character": b'{"kind": "a\x00b"}',
}


@pytest.mark.parametrize("body", HOSTILE_JSON.values(), ids=HOSTILE_JSON)
def test_json_that_parsers_disagree_on_is_refused(service: Any, body: bytes) -> None:
    answer = service.client.post(
        "/v1/jobs", content=body, headers={"Content-Type": "application/json"}
    )
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "invalid-json")
    assert len(problem["detail"]) < 200
    assert "7" * 20 not in answer.text


ODD_VALUES = {
    "integer of 300 digits": (JOB % ("7" * 300)).encode(),
    "escaped zero": rb'{"kind": "identification", "dataset": "ds_\u0000"}',
    "a long unknown name": b'{"kind": "identification", "' + b"k" * 10_000 + b'": 1}',
    "a long kind": b'{"kind": "' + b"k" * 10_000 + b'"}',
    "kind is an object": b'{"kind": {"a": []}}',
    "preset is a list": b'{"kind": "identification", "preset": ["paper"]}',
    "1 000 unknown names": json.dumps(
        {"kind": "generator", **{f"k{n}": n for n in range(1000)}}
    ).encode(),
    "inline data of nothing": b'{"kind": "identification", "data": {"trajectories": null, "k": 1}}',
    "inline data twice removed": b'{"kind": "identification", "data": {"data": {"data": []}}}',
}


@pytest.mark.parametrize("body", ODD_VALUES.values(), ids=ODD_VALUES)
def test_odd_values_are_refused_without_being_repeated(service: Any, body: bytes) -> None:
    answer = service.client.post(
        "/v1/jobs", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.text) < 10_000
    assert "7" * 20 not in answer.text


def test_no_depth_lies_between_what_is_read_and_what_can_be_written_again(service: Any) -> None:
    for kind in (b'"generator", "model": ', b'"identification", "data": '):
        for depth in range(400, 1100, 25):
            body = b'{"kind": ' + kind + b'{"trajectories": ' + b"[" * depth + b"]" * depth + b"}}"
            answer = service.client.post(
                "/v1/jobs", content=body, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (202, 400, 422), (depth, answer.text)


def test_a_job_without_data_is_small(service: Any) -> None:
    body = {"kind": "identification", "labels": {"a": "b" * service.settings.max_job_bytes}}
    answer = service.client.post("/v1/jobs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")


@pytest.mark.parametrize("path", ["/v1/datasets", "/v1/jobs"])
def test_announced_size_is_refused_before_the_body_is_read(service: Any, path: str) -> None:
    headers = {"Content-Length": "10000000000", "Content-Type": "application/json"}
    answer = service.client.post(path, content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")


def test_unannounced_size_is_counted(service: Any) -> None:
    answer = service.client.post("/v1/datasets", content=(b"0" * 100_000 for _ in range(20)))
    assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")
    assert service.reader.seen == []


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
def test_compressed_bodies_are_not_mistaken_for_data(service: Any, encoding: str) -> None:
    answer = service.client.post(
        "/v1/datasets", content=b"x", headers={"Content-Encoding": encoding}
    )
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")


def _form(*parts: bytes, boundary: bytes = b"B") -> bytes:
    return (
        b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts)
        + b"--"
        + boundary
        + b"--\r\n"
    )


FIELD = b'Content-Disposition: form-data; name="layout"\r\n\r\n{}'
FILE = b'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n1'
FORMS = {
    "no boundary": (b"multipart/form-data", _form(FILE)),
    "wrong boundary": (b"multipart/form-data; boundary=Z", _form(FILE)),
    "empty": (b"multipart/form-data; boundary=B", b""),
    "cut off": (b"multipart/form-data; boundary=B", _form(FILE)[:40]),
    "17 fields": (b"multipart/form-data; boundary=B", _form(*[FIELD] * 17)),
    "5 files": (b"multipart/form-data; boundary=B", _form(*[FILE] * 5)),
    "1 500 parts": (b"multipart/form-data; boundary=B", _form(*[FIELD] * 1500)),
    "no name": (
        b"multipart/form-data; boundary=B",
        _form(b"Content-Disposition: form-data\r\n\r\n1"),
    ),
    "no header": (b"multipart/form-data; boundary=B", _form(b"\r\n1")),
    "odd charset": (
        b"multipart/form-data; boundary=B; charset=idna",
        _form(b'Content-Disposition: form-data; name="\xff.."\r\n\r\n1'),
    ),
    "codec that is none": (b"multipart/form-data; boundary=B; charset=rot13", _form(FIELD, FIELD)),
    "escapes as charset": (
        b"multipart/form-data; boundary=B; charset=unicode_escape",
        _form(b'Content-Disposition: form-data; name="\\\\ud800"\r\n\r\n1'),
    ),
    "layout is not JSON": (b"multipart/form-data; boundary=B", _form(FILE, FIELD[:-1])),
    "layout is a list": (b"multipart/form-data; boundary=B", _form(FILE, FIELD[:-2] + b"[]")),
    "layout too long": (b"multipart/form-data; boundary=B", _form(FILE, FIELD + b" " * 30_000)),
    "10 000 headers": (b"multipart/form-data; boundary=B", _form(b"X: y\r\n" * 10_000 + FILE)),
}


@pytest.mark.parametrize("path", ["/v1/datasets", "/v1/jobs"])
@pytest.mark.parametrize(("content_type", "body"), FORMS.values(), ids=FORMS)
def test_broken_forms_are_refused(
    service: Any, path: str, content_type: bytes, body: bytes
) -> None:
    answer = service.client.post(path, content=body, headers={b"Content-Type": content_type})
    assert answer.status_code in (400, 413, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert service.client.get("/v1/datasets").json()["items"] == []


NAMES = (
    b"../../etc/passwd",
    b"a\x00b.csv",
    b"\xff\xfe.csv",
    b"x" * 5000,
    "ünïcode.csv".encode(),
    b"..",
    b"C:\\con",
    b"",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_are_labels_and_never_paths(service: Any, name: bytes) -> None:
    part = b'Content-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\n1'
    answer = service.client.post(
        "/v1/datasets",
        content=_form(part),
        headers={"Content-Type": "multipart/form-data; boundary=B"},
    )
    assert answer.status_code in (201, 400)
    if answer.status_code == 201:
        label = answer.json()["label"] or ""
        assert "/" not in label
        assert "\x00" not in label
        assert len(label) <= 200
    assert list(service.settings.scratch.iterdir()) == []


@pytest.fixture
def address(service: Any) -> Iterator[tuple[str, int]]:
    """The same application behind a real socket."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(service.client.app, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()
    server.should_exit = True
    thread.join(10)


def _talk(address: tuple[str, int], *sent: bytes) -> bytes:
    with socket.create_connection(address, timeout=10) as connection:
        for piece in sent:
            connection.sendall(piece)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
    return received


@pytest.mark.parametrize(
    "content_type", [b"application/json", b"text/csv", b"multipart/form-data; boundary=B"]
)
def test_a_body_that_stops_coming_is_given_up(
    service: Any, address: tuple[str, int], content_type: bytes
) -> None:
    head = (
        b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nContent-Type: "
        + content_type
        + b"\r\n\r\n"
    )
    if content_type == b"text/csv":
        head = head.replace(b"/v1/jobs", b"/v1/datasets")
    started = time.monotonic()
    answer = _talk(address, head, b"--B\r\n")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"body-timeout"' in answer
    assert time.monotonic() - started < 25 * service.settings.body_idle_seconds


def test_a_body_that_trickles_is_given_up(service: Any, address: tuple[str, int]) -> None:
    """Four hundred uploads of a byte every 3.5 s went on for ever."""
    started, status = time.monotonic(), b""
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(
            b"POST /v1/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n"
        )
        connection.settimeout(0.2 * service.settings.body_idle_seconds)
        while not status and time.monotonic() - started < 60 * service.settings.body_idle_seconds:
            connection.sendall(b"1")
            with suppress(TimeoutError):
                status = connection.recv(65_536)
        connection.settimeout(10)
        # Its body may come in a piece of its own.
        while b"\r\n\r\n" in status and (more := connection.recv(65_536)):
            status += more
    assert status.startswith(b"HTTP/1.1 408 ")
    assert b"Only " in status


def test_a_tenant_sends_so_many_bodies_at_once(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.access.admission.MOST_BODIES", 0)
    for path in ("/v1/datasets", "/v1/jobs", "/v1/jobs/validate"):
        answer = service.client.post(path, content=b"{}")
        assert (answer.status_code, answer.json()["code"]) == (429, "too-many-requests")
        assert answer.headers["retry-after"] == "5"


def test_a_caller_who_hangs_up_leaves_nothing_behind(
    service: Any, address: tuple[str, int]
) -> None:
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(
            b"POST /v1/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n1"
        )
    deadline = time.monotonic() + 5
    while any(service.settings.scratch.glob("*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(service.settings.scratch.glob("*"))
    assert _talk(
        address, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    ).startswith(b"HTTP/1.1 200 ")


def test_too_large_an_upload_hears_so_although_it_is_still_sending(
    address: tuple[str, int],
) -> None:
    head = b"POST /v1/datasets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"
    assert _talk(address, head, b"0" * 1000).startswith(b"HTTP/1.1 413 ")


def test_a_request_with_two_lengths_is_refused_and_its_rest_is_not_served(
    address: tuple[str, int],
) -> None:
    """A proxy that trusts the length would pass on what we took for a request of its own."""
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 44\r\n%s\r\n"
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    # In one piece: it is answered, and the connection closed, while a second one is still sent.
    sent = head % b"Transfer-Encoding: chunked\r\n" + b"0\r\n\r\n" + smuggled
    answer = _talk(address, sent)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    alone = head.replace(b"Content-Length: 44\r\n", b"Connection: close\r\n")
    answer = _talk(address, alone % b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 415 ")
