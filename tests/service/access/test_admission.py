"""How much may come in: refused before anything breaks, with when and how to go on."""

import errno
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from service.access import keyring
from service.access.admission import Admission

UPLOAD = b"t,x\n0,0\n1,1\n2,0\n"


@pytest.fixture
def limited(service: Any) -> Callable[..., Any]:
    """The service with other settings."""

    def limit(**limits: int) -> Any:
        context = service.client.app.state.context
        settings = context.settings.model_copy(update=limits)
        admission = Admission(settings, context.stores)
        service.client.app.state.context = replace(context, settings=settings, admission=admission)
        return service

    return limit


def test_every_answer_says_how_many_requests_are_left(service: Any) -> None:
    first, second = (service.client.get("/v1/jobs").headers for _ in range(2))
    assert first["ratelimit-policy"] == '"requests";q=60000;w=60'
    assert first["ratelimit"].startswith('"requests";r=59999;t=')
    assert second["ratelimit"].startswith('"requests";r=59998;t=')


def test_a_key_that_asks_too_often_is_told_when_to_come_back(limited: Callable[..., Any]) -> None:
    client = limited(max_requests_per_minute=3).client
    assert [client.get("/v1/jobs").status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = client.get("/v1/jobs")
    assert answer.json()["code"] == "too-many-requests"
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["ratelimit"].startswith('"requests";r=0;t=')
    assert client.get("/healthz").status_code == 200, "a sign of life is free"


def test_each_key_has_requests_of_its_own(limited: Callable[..., Any]) -> None:
    service = limited(max_requests_per_minute=1)
    one, two = (
        {"Authorization": f"Bearer {keyring.add(service.settings.key_file, 'lab')}"}
        for _ in range(2)
    )
    assert [
        service.client.get("/v1/jobs", headers=headers).status_code for headers in (one, one, two)
    ] == [200, 429, 200]


def test_a_full_queue_takes_no_more_jobs_but_gives_known_ones(limited: Callable[..., Any]) -> None:
    client = limited(max_open_jobs=1).client
    job = {
        "kind": "generator",
        "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}},
    }
    first = client.post("/v1/jobs", json=job, headers={"Idempotency-Key": "a"})
    refused = client.post("/v1/jobs", json=job, headers={"Idempotency-Key": "b"})
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (
        503,
        "queue-full",
        "10",
    )
    again = client.post("/v1/jobs", json=job, headers={"Idempotency-Key": "a"})
    assert again.json()["id"] == first.json()["id"]


def test_a_tenant_with_too_many_open_jobs_waits_while_others_go_on(
    limited: Callable[..., Any],
) -> None:
    service = limited(max_open_jobs_of_tenant=1)
    one, two = (
        {"Authorization": f"Bearer {keyring.add(service.settings.key_file, tenant)}"}
        for tenant in ("one", "two")
    )
    job = {
        "kind": "generator",
        "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}},
    }
    answers = [
        service.client.post("/v1/jobs", json=job, headers=headers) for headers in (one, one, two)
    ]
    assert [answer.status_code for answer in answers] == [202, 429, 202]
    assert answers[1].json()["code"] == "too-many-jobs"
    assert "retry-after" in answers[1].headers


def test_a_nearly_full_disk_takes_no_upload(limited: Callable[..., Any]) -> None:
    service = limited(min_free_bytes=2**62)
    answer = service.client.post(
        "/v1/datasets", content=UPLOAD, headers={"Content-Type": "text/csv"}
    )
    assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")
    assert service.reader.seen == []


def test_what_is_announced_counts_before_it_is_sent(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearly_full = shutil.disk_usage(".")._replace(free=10**9 + 100)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: nearly_full)
    assert (
        service.client.post(
            "/v1/datasets", content=b"0" * 40, headers={"Content-Type": "text/csv"}
        ).status_code
        == 507
    )
    assert (
        service.client.post(
            "/v1/datasets", content=UPLOAD, headers={"Content-Type": "text/csv"}
        ).status_code
        == 201
    )


def test_a_disk_that_fills_up_on_the_way_is_said_so(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("service.requests.uploads.spool", full)
    answer = service.client.post(
        "/v1/datasets", content=UPLOAD, headers={"Content-Type": "text/csv"}
    )
    assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")


def test_a_tenant_may_keep_so_much_and_deleting_makes_room(
    limited: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = limited(max_stored_bytes=100)
    stored = 90
    monkeypatch.setattr(type(service.stores.datasets), "bytes_stored", lambda *_: stored)
    answer = service.client.post(
        "/v1/datasets", content=UPLOAD, headers={"Content-Type": "text/csv"}
    )
    assert (answer.status_code, answer.json()["code"]) == (507, "quota-exceeded")
    stored = 80
    service.client.app.state.context.admission.freed("default")
    dataset = service.upload()
    stored = 100
    other = {"content": UPLOAD + b"3,1\n", "headers": {"Content-Type": "text/csv"}}
    assert service.client.post("/v1/datasets", **other).status_code == 507
    assert service.upload() == dataset, "what is kept already needs no room"
    stored = 0
    service.client.delete(f"/v1/datasets/{dataset}")
    assert service.client.post("/v1/datasets", **other).status_code == 201


def test_a_store_short_of_memory_takes_no_jobs(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(service.stores.jobs), "memory_used", lambda _: 0.95)
    answer = service.client.post(
        "/v1/jobs", json={"kind": "identification", "data": {"dt": 1, "trajectories": [[0, 1, 0]]}}
    )
    assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")
    assert service.reader.seen == []
