"""Hints of a service that has limits, keys, or something amiss, followed as in test_hints.py."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import httpx
import numpy as np
import pytest

from tests.acceptance.refusals.test_hints import (
    OU_MODEL,
    PLAIN,
    Answer,
    T,
    X,
    answer,
    csv,
    generator,
    ou,
)
from tests.acceptance.served import ROOT, finished
from tests.chaos.installation import Installation, installed

LIMITS = {
    "ITOSCOPE_BODY_IDLE_SECONDS": "0.5",
    "ITOSCOPE_JOB_MEMORY_BYTES": "5.5e8",
    "ITOSCOPE_LARGE_JOB_SECONDS": "1000",
    "ITOSCOPE_MAX_OPEN_JOBS": "3",
    "ITOSCOPE_MAX_OPEN_JOBS_OF_TENANT": "2",
    "ITOSCOPE_MAX_REQUESTS_PER_MINUTE": "300",
    "ITOSCOPE_MAX_STORED_BYTES": "20000000",
    "ITOSCOPE_MAX_UPLOAD_BYTES": "4000000",
    "ITOSCOPE_WORKER_PROCESSES": "1",
    "ITOSCOPE_WORKER_SILENCE_SECONDS": "2",
}
SLOW_DATA = csv(t=np.arange(40_000), **{c: ou(40_000, 0.05) for c in "xyzw"})
SLOW = {"kind": "identification", "parameters": {"library": {"polynomial_degree": 3}}}
"""A job of many seconds on four variables."""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("limited")
    with installed(folder, workers=1, stub=None, lease=1.0, settings=LIMITS) as installation:
        yield installation


def new_key(limited: Installation, *arguments: str) -> str:
    """What `python -m service.access new` prints."""
    environment = {**os.environ, "ITOSCOPE_DATA_DIR": str(limited.folder / "data")}
    command = [sys.executable, "-m", "service.access", "new", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def enter(limited: Installation) -> Iterator[Callable[..., httpx.Client]]:
    """Makes a client with a new key of a tenant, with the scopes."""
    clients: list[httpx.Client] = []

    def entered(tenant: str, *scopes: str) -> httpx.Client:
        given = [part for scope in scopes for part in ("--scope", scope)]
        key = new_key(limited, "--tenant", tenant, *given)
        clients.append(
            httpx.Client(
                base_url=limited.url,
                timeout=70.0,
                trust_env=False,
                headers={"Authorization": f"Bearer {key}"},
            )
        )
        return clients[-1]

    yield entered
    for client in clients:
        client.close()


def refused(response: httpx.Response) -> Answer:
    assert response.is_error, response.text
    return Answer(response.json())


def upload(client: httpx.Client, content: bytes, kind: str = "text/csv") -> httpx.Response:
    return client.post("/v1/datasets", content=content, headers={"Content-Type": kind})


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_keys_and_scopes(limited: Installation, enter: Callable[..., httpx.Client]) -> None:
    reader = enter("scopes", "read")
    found = refused(httpx.get(f"{limited.url}/v1/jobs", trust_env=False))
    assert found.code == "unauthorized"
    assert "Send Authorization: Bearer <key>" in found.hints
    assert "python -m service.access new" in found.hints
    assert reader.get("/v1/jobs").is_success
    found = refused(reader.post("/v1/jobs", json=generator(OU_MODEL)))
    assert found.code == "forbidden"
    assert "python -m service.access new --scope write" in found.hints
    writer = enter("scopes", "write")
    assert writer.post("/v1/jobs", json=generator(OU_MODEL)).is_success


def test_a_body_that_is_too_large_or_does_not_come(
    limited: Installation, enter: Callable[..., httpx.Client]
) -> None:
    client = enter("bodies")
    long = np.random.default_rng(1).normal(size=250_000)
    found = refused(upload(client, "\n".join(map(str, long.tolist())).encode()))
    assert found.code == "body-too-large"
    assert "NPY" in found.hints
    sent = client.post("/v1/datasets", params={"dt": 1}, content=npy(long))
    assert sent.is_success, sent.text
    assert client.delete(f"/v1/datasets/{sent.json()['id']}").is_success

    address = httpx.URL(limited.url)
    head = (
        f"POST /v1/datasets HTTP/1.1\r\nHost: {address.netloc.decode()}\r\nContent-Length: 99\r\n"
        f"Authorization: {client.headers['Authorization']}\r\nContent-Type: text/csv\r\n\r\n"
    )
    with socket.create_connection((str(address.host), address.port), timeout=20) as connection:
        connection.sendall(head.encode() + b"t,x\n")
        said = b""
        while piece := connection.recv(65_536):
            said += piece
    stalled = Answer(json.loads(said.partition(b"\r\n\r\n")[2]))
    assert stalled.code == "body-timeout"
    assert stalled.hints == "Send the request again."
    assert upload(client, csv(t=T[:99], x=X[:99])).is_success


def test_too_many_requests(enter: Callable[..., httpx.Client]) -> None:
    client = enter("requests")
    for _ in range(301):
        last = client.get("/v1/jobs")
    found = refused(last)
    assert found.code == "too-many-requests"
    assert "Prefer: wait=60 instead of frequent requests" in found.hints
    patient = enter("requests")
    job = patient.post("/v1/jobs", json=generator(OU_MODEL)).json()["id"]
    waited = patient.get(f"/v1/jobs/{job}", headers={"Prefer": "wait=60"})
    assert waited.json()["state"] == "succeeded"


def test_too_many_jobs_and_a_dataset_deleted_too_early(
    enter: Callable[..., httpx.Client],
) -> None:
    one, two = enter("one"), enter("two")
    slow = upload(one, SLOW_DATA).json()["id"]
    dataset = upload(one, csv(t=T, x=X)).json()["id"]
    running = one.post("/v1/jobs", json={**SLOW, "dataset": slow}).json()["id"]
    waiting = one.post("/v1/jobs", json={**PLAIN, "dataset": dataset}).json()["id"]
    found = refused(one.post("/v1/jobs", json=generator(OU_MODEL)))
    assert found.code == "too-many-jobs"
    assert two.post("/v1/jobs", json=generator(OU_MODEL)).is_success
    full = refused(two.post("/v1/jobs", json=generator(OU_MODEL)))
    assert full.code == "queue-full"
    assert "Submit it again later" in full.hints
    assert one.delete(f"/v1/datasets/{dataset}").is_success
    assert "cancel some" in found.hints
    assert one.post(f"/v1/jobs/{running}/cancel").is_success
    finished(one, running)
    gone = Answer(finished(one, waiting)["error"])  # type: ignore[arg-type]
    assert gone.code == "dataset-gone"
    assert answer(one, csv(t=T, x=X), PLAIN).code is None
    assert two.post("/v1/jobs", json=generator(OU_MODEL)).is_success


def test_a_failed_job_has_no_result_and_its_hints_again(
    enter: Callable[..., httpx.Client],
) -> None:
    client = enter("failed")
    short = upload(client, csv(t=T[:30], x=X[:30])).json()["id"]
    job = client.post("/v1/jobs", json={**PLAIN, "dataset": short}).json()["id"]
    record = finished(client, job)
    found = refused(client.get(f"/v1/jobs/{job}/result"))
    assert found.code == "job-failed"
    assert found.hints == " ".join(record["error"]["hints"])  # type: ignore[index]
    assert "Record longer" in found.hints
    assert answer(client, csv(t=T, x=X), PLAIN).code is None


def test_a_job_that_needs_too_much_memory(enter: Callable[..., httpx.Client]) -> None:
    client = enter("memory")
    wide = csv(t=np.arange(60_000), **{c: ou(60_000, 0.05).round(3) for c in "xyzw"})
    job = {**PLAIN, "parameters": {"library": {"polynomial_degree": 4}}}
    found = answer(client, wide, job)
    assert found.code == "out-of-memory"
    assert "fewer kernels or terms" in found.hints
    assert answer(client, wide, PLAIN).code is None


def test_a_quota_that_is_used_up(enter: Callable[..., httpx.Client]) -> None:
    client = enter("quota")
    half = [npy(np.random.default_rng(seed).normal(size=400_000)) for seed in range(3)]

    def sent(content: bytes) -> httpx.Response:
        return client.post("/v1/datasets", params={"dt": 1}, content=content)

    first = sent(half[0]).json()["id"]
    assert sent(half[1]).is_success
    found = refused(sent(half[2]))
    assert found.code == "quota-exceeded"
    assert "DELETE /v1/datasets/{id}" in found.hints
    assert client.delete(f"/v1/datasets/{first}").is_success
    assert sent(half[2]).is_success


def test_a_store_that_is_full(limited: Installation, enter: Callable[..., httpx.Client]) -> None:
    """The operator is contacted, who gives it more memory."""
    client = enter("full")
    with limited.admin() as admin:
        before = admin.config_get("maxmemory")["maxmemory"]
        admin.config_set("maxmemory", int(admin.info("memory")["used_memory"] / 0.95))
        time.sleep(1.1)  # the service looks once a second
        try:
            found = refused(client.post("/v1/jobs", json=generator(OU_MODEL)))
        finally:
            admin.config_set("maxmemory", before)
    assert found.code == "storage-full"
    assert "contact the operator" in found.hints
    time.sleep(1.1)
    assert answer(client, None, generator(OU_MODEL)).code is None


def test_a_store_that_is_away(limited: Installation, enter: Callable[..., httpx.Client]) -> None:
    client = enter("away")
    key = {"Idempotency-Key": "away-1"}
    limited.store.kill()
    lost = client.post("/v1/jobs", json=generator(OU_MODEL), headers=key)
    limited.store.start()
    found = refused(lost)
    assert found.code == "store-unavailable"
    assert "Repeat the request in 2 seconds" in found.hints
    assert "Idempotency-Key" in found.hints
    time.sleep(float(lost.headers["Retry-After"]))
    jobs = [client.post("/v1/jobs", json=generator(OU_MODEL), headers=key) for _ in range(2)]
    assert jobs[0].json()["id"] == jobs[1].json()["id"]
    assert finished(client, jobs[0].json()["id"])["state"] == "succeeded"


def test_no_worker(limited: Installation) -> None:
    def ready() -> httpx.Response:
        return httpx.get(f"{limited.url}/readyz", trust_env=False)

    limited.workers[0].kill()
    deadline = time.monotonic() + 20
    while ready().is_success and time.monotonic() < deadline:
        time.sleep(0.2)
    found = refused(ready())
    assert found.code == "not-ready"
    assert found.hints == "Start a worker: python -m worker."
    limited.workers[0].start()
    limited.wait_until_ready()


def test_a_worker_that_is_lost_again_and_again(
    limited: Installation, enter: Callable[..., httpx.Client]
) -> None:
    """The test takes the job as a worker does, and is not heard of again."""
    client = enter("lost")
    limited.workers[0].kill()
    dataset = upload(client, SLOW_DATA).json()["id"]
    job = client.post("/v1/jobs", json={**SLOW, "dataset": dataset}).json()["id"]
    while (record := client.get(f"/v1/jobs/{job}").json())["state"] != "failed":
        limited.jobs.claim(job, "lost", 0.05)
        time.sleep(0.1)
    found = Answer(record["error"])
    assert found.code == "worker-lost"
    assert "fewer samples, kernels or terms" in found.hints
    limited.workers[0].start()
    assert answer(client, SLOW_DATA, PLAIN).code is None
