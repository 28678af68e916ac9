"""Whatever goes wrong is a problem document with an id."""

import errno
import re
from pathlib import Path
from typing import Any

import pytest
import structlog

from contract.problems import Problem
from service.errors import CODES
from storage.stores import StoreUnavailable

REQUESTS = [
    ("GET", "/nowhere", 404, "not-found"),
    ("GET", "/v1/jobs/job_none", 404, "not-found"),
    ("GET", "/v1/jobs/..%2f..%2fetc%2fpasswd", 404, "not-found"),
    ("GET", "/v1/jobs/%00%ff%ed%a0%80", 404, "not-found"),
    ("GET", "/v1/datasets/%F0%9F%98%80", 404, "not-found"),
    ("GET", "/v1/schemas/none", 404, "not-found"),
    ("PUT", "/v1/jobs", 405, "method-not-allowed"),
    ("GET", "/v1/jobs?limit=ten", 422, "invalid-request"),
    ("GET", "/v1/jobs?limit=%ff&cursor=%ed%a0%80", 422, "invalid-request"),
    ("POST", "/v1/jobs", 415, "unsupported-media-type"),
]


@pytest.mark.parametrize(("method", "path", "status", "code"), REQUESTS)
def test_every_refusal_is_a_problem(
    service: Any, method: str, path: str, status: int, code: str
) -> None:
    answer = service.client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    problem = Problem.model_validate_json(answer.content)
    assert (problem.status, problem.code, problem.type) == (
        status,
        code,
        f"urn:itoscope:problem:{code}",
    )
    assert problem.instance == f"urn:itoscope:request:{answer.headers['x-request-id']}"


def test_callers_own_request_id_comes_back_unless_it_is_odd(service: Any) -> None:
    assert (
        service.client.get("/healthz", headers={"X-Request-Id": "trap-17.a_b"}).headers[
            "x-request-id"
        ]
        == "trap-17.a_b"
    )
    for odd in ("a b", "", "x" * 129, "<script>"):
        assert (
            service.client.get("/healthz", headers={"X-Request-Id": odd}).headers["x-request-id"]
            != odd
        )


def test_while_the_store_is_away_every_address_says_try_again(
    service: Any, monkeypatch: Any
) -> None:
    dataset = service.upload()

    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("connection refused to redis://:secret@host")

    for name in ("submit", "get", "list", "cancel"):
        monkeypatch.setattr(type(service.stores.jobs), name, away)
    answers = [
        service.client.post("/v1/jobs", json={"kind": "identification", "dataset": dataset}),
        service.client.get("/v1/jobs"),
        service.client.get("/v1/jobs/job_1", headers={"Prefer": "wait=5"}),
        service.client.get("/v1/jobs/job_1/result"),
        service.client.post("/v1/jobs/job_1/cancel"),
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (
            503,
            "store-unavailable",
            "2",
        )
        assert "secret" not in answer.text


def test_a_full_disk_is_not_the_callers_fault(service: Any, monkeypatch: Any) -> None:
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/path")

    monkeypatch.setattr(type(service.stores.datasets), "put", full)
    answer = service.client.post("/v1/datasets", content=b"1")
    assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")
    assert "secret" not in answer.text


def test_a_disk_that_cannot_be_read_is_a_store_that_is_away(service: Any, monkeypatch: Any) -> None:
    def broken(*_: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error", "/secret/path")

    monkeypatch.setattr(type(service.stores.datasets), "get", broken)
    answer = service.client.get("/v1/datasets/ds_abc")
    assert (answer.status_code, answer.json()["code"]) == (503, "store-unavailable")
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    "error", [RuntimeError("secret"), OSError(errno.ENOENT, "secret"), RecursionError("secret")]
)
def test_our_own_mistakes_are_admitted_without_detail(
    service: Any, monkeypatch: Any, error: Exception
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(type(service.stores.jobs), "list", broken)
    answer = service.client.get("/v1/jobs")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal-error")
    assert answer.headers["x-request-id"] in answer.json()["hints"][0]
    assert "secret" not in answer.text


def test_every_code_is_explained_in_the_documentation() -> None:
    root = Path(__file__).resolve().parents[2]
    explained = set(
        re.findall(
            r"^\| `([a-z-]+)` \|", (root / "docs" / "problems.md").read_text("utf-8"), re.MULTILINE
        )
    )
    drawn = "".join(
        path.read_text("utf-8")
        for path in [*root.glob("worker/*/errors.py"), *root.glob("service/readers/**/*.py")]
    )
    codes = set(re.findall(r"\bcode ?= ?\"([a-z-]+)\"", drawn))
    assert {"constant-data", "layout-mismatch"} <= codes, "the pattern still finds them"
    assert set(CODES) | codes <= explained


def test_log_of_a_request_carries_its_id(service: Any) -> None:
    with structlog.testing.capture_logs(
        processors=[structlog.contextvars.merge_contextvars]
    ) as events:
        service.client.get("/v1/jobs/job_none", headers={"X-Request-Id": "trap-17"})
    event = next(event for event in events if event["event"] == "request")
    assert (event["request_id"], event["status"], event["path"]) == (
        "trap-17",
        404,
        "/v1/jobs/job_none",
    )


@pytest.mark.parametrize("path", ["/v1/jobs", "/nowhere", "/docs", "/healthz", "/metrics"])
def test_no_answer_can_do_anything_in_a_browser(service: Any, path: str) -> None:
    headers = service.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
