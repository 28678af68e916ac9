"""How much may come in: refused before anything breaks, with when and how to go on."""

import errno
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from service.access import keyring
from service.access.admission import Admission
from service.errors import Refusal
from storage.names import result_name

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
    service.stores.jobs.beat("worker")
    ready = service.client.get("/readyz")
    assert (ready.status_code, ready.json()["code"]) == (503, "not-ready")
    assert ready.json()["detail"].startswith("The disk is nearly full. New jobs")
    assert limited(min_free_bytes=0).client.get("/readyz").status_code == 200


def test_what_is_announced_counts_before_it_is_sent(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearly_full = shutil.disk_usage(".")._replace(free=10**9 + 100)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: nearly_full)
    assert (
        service.client.post(
            "/v1/datasets", content=b"0" * 101, headers={"Content-Type": "text/csv"}
        ).status_code
        == 507
    )
    assert (
        service.client.post(
            "/v1/datasets", content=UPLOAD, headers={"Content-Type": "text/csv"}
        ).status_code
        == 201
    )


def test_whoever_fills_the_store_is_refused_before_all_others(
    limited: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = limited()
    many, few = (
        {"Authorization": f"Bearer {keyring.add(service.settings.key_file, tenant)}"}
        for tenant in ("many", "few")
    )
    job = {
        "kind": "generator",
        "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}},
    }
    post = partial(service.client.post, "/v1/jobs", json=job)
    assert [post(headers=headers).status_code for headers in (many, many, few)] == 3 * [202]
    monkeypatch.setattr(type(service.stores.jobs), "memory_used", lambda _: 0.85)
    limited()
    assert [post(headers=headers).status_code for headers in (many, few)] == [507, 202]


def test_results_count_to_what_a_tenant_may_keep(limited: Callable[..., Any]) -> None:
    service = limited(max_stored_bytes=1000)
    job_id = service.job()
    service.stores.jobs.claim(job_id, "worker", 30.0)
    service.stores.jobs.succeed(job_id, 1, result_name(job_id, 1), 1001)
    service = limited(max_stored_bytes=1000)
    answer = service.client.post("/v1/jobs", json={"kind": "identification", "dataset": "ds_x"})
    assert (answer.status_code, answer.json()["code"]) == (507, "quota-exceeded")


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
    service.reader.written = 1  # beside the 16 bytes of the upload
    assert len(UPLOAD) == 16
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


def test_what_a_reader_makes_of_an_upload_counts_and_not_what_was_sent(
    limited: Callable[..., Any],
) -> None:
    service = limited(max_stored_bytes=1000)
    service.reader.written = 1001
    post = partial(service.client.post, "/v1/datasets", headers={"Content-Type": "text/csv"})
    assert post(content=UPLOAD).json()["code"] == "quota-exceeded"
    assert service.client.get("/v1/datasets").json()["items"] == []
    service.reader.written = 400
    codes = [post(content=UPLOAD + b"3,%d\n" % k).status_code for k in range(3)]
    assert codes == [201, 201, 507]


def test_datasets_that_are_stored_at_the_same_time_share_one_quota(
    limited: Callable[..., Any],
) -> None:
    admission = limited(max_stored_bytes=100).client.app.state.context.admission
    with admission.keeping("one", 60):
        with pytest.raises(Refusal, match="quota"), admission.keeping("one", 60):
            pass
        with admission.keeping("two", 60):
            pass
    with pytest.raises(Refusal), admission.keeping("one", 60):
        pass
    with pytest.raises(OSError, match="no space"), admission.keeping("one", 30):
        raise OSError(errno.ENOSPC, "no space")
    with admission.keeping("one", 30):
        pass


def test_uploads_that_are_read_reserve_what_they_may_write(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four uploads of 1.2 MB at once became 384 MB each and filled a disk with 2.6 GB free."""
    free = service.settings.min_free_bytes + 10_000_000
    found = shutil.disk_usage(".")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: found._replace(free=free))
    admission = service.client.app.state.context.admission
    admission.body(10_000_000)
    with admission.reading("one") as first, admission.reading("two") as second:
        assert (first, second) == (5_000_000, 2_500_000)
        admission.body(2_500_000)
        with pytest.raises(Refusal, match="disk is nearly full"):
            admission.body(2_500_001)
        free -= 7_500_000
        admission.body(100)
    free += 7_500_000
    admission.body(10_000_000)
    free = 2**60
    most = 40 * service.settings.max_upload_numbers
    with admission.reading("one") as first:
        assert first == most


def test_a_body_without_a_length_is_looked_at_while_it_comes(
    limited: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = limited(max_upload_bytes=10_000_000)
    nearly_full = shutil.disk_usage(".")._replace(free=10**9 + 2_500_000)

    def usage(_: Any) -> Any:
        return nearly_full._replace(free=nearly_full.free - sum(sent))

    def body(pieces: int) -> Iterator[bytes]:
        for _ in range(pieces):
            sent.append(500_000)
            yield b"0" * 500_000

    monkeypatch.setattr(shutil, "disk_usage", usage)
    post = partial(service.client.post, "/v1/datasets", headers={"Content-Type": "text/csv"})
    sent: list[int] = []
    answer = post(content=body(8))
    assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")
    assert service.reader.seen == []
    sent = []
    assert post(content=body(2)).status_code == 201


def test_a_store_short_of_memory_takes_no_jobs(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(service.stores.jobs), "memory_used", lambda _: 0.95)
    answer = service.client.post(
        "/v1/jobs", json={"kind": "identification", "data": {"dt": 1, "trajectories": [[0, 1, 0]]}}
    )
    assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")
    assert service.reader.seen == []
