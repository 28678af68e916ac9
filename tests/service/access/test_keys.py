"""Who may come in."""

import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.access import keyring
from service.app import create_app
from service.settings import ServiceSettings

_JOB = {"kind": "generator", "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}}


def _with(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_without_keys_everyone_on_this_machine_may_come_in(service: Any) -> None:
    assert service.client.get("/v1/jobs").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8000"},
        {"Host": "[::1"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Origin": "http://["},
    ],
)
def test_without_keys_other_sites_pages_cannot_use_a_browser_here(
    service: Any, headers: dict[str, str]
) -> None:
    assert service.client.get("/v1/jobs", headers=headers).status_code == 401


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"])
def test_every_name_of_this_machine_will_do(service: Any, host: str) -> None:
    assert (
        service.client.get(
            "/v1/jobs", headers={"Host": host, "Origin": f"http://{host}"}
        ).status_code
        == 200
    )


def test_the_first_key_locks_the_door_without_a_restart(service: Any) -> None:
    key = keyring.add(service.settings.key_file, "lab")
    refused = service.client.get("/v1/jobs")
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 200
    for wrong in (key[:-1], key + "x", "", "ünïcode".encode().decode("latin-1"), key.upper()):
        assert (
            service.client.get(
                "/v1/jobs", headers={"Authorization": f"Bearer {wrong}".encode("latin-1")}
            ).status_code
            == 401
        )
    assert (
        service.client.get("/v1/jobs", headers={"Authorization": f"Basic {key}"}).status_code == 401
    )


@pytest.mark.parametrize(
    "path", ["/healthz", "/docs", "/openapi.json", "/v1/schemas", "/v1/schemas/layout"]
)
def test_what_everyone_may_know_needs_no_key(service: Any, path: str) -> None:
    keyring.add(service.settings.key_file, "lab")
    assert service.client.get(path).status_code == 200


def test_tenants_do_not_see_each_other(service: Any) -> None:
    mine, theirs = (
        _with(keyring.add(service.settings.key_file, tenant)) for tenant in ("me", "them")
    )
    dataset = service.client.post("/v1/datasets", content=b"1", headers=mine).json()["id"]
    job = service.client.post(
        "/v1/jobs", json={"kind": "identification", "dataset": dataset}, headers=mine
    ).json()["id"]
    for method, path in [
        ("GET", f"/v1/datasets/{dataset}"),
        ("DELETE", f"/v1/datasets/{dataset}"),
        ("GET", f"/v1/jobs/{job}"),
        ("GET", f"/v1/jobs/{job}/result"),
        ("POST", f"/v1/jobs/{job}/cancel"),
    ]:
        assert service.client.request(method, path, headers=theirs).status_code == 404, path
    taken = service.client.post(
        "/v1/jobs", json={"kind": "identification", "dataset": dataset}, headers=theirs
    )
    assert (taken.status_code, taken.json()["errors"][0]["pointer"]) == (422, "#/dataset")
    borrowed = service.client.post(
        "/v1/jobs", json={"kind": "generator", "model": {"job": job}}, headers=theirs
    )
    assert "no such job" in borrowed.json()["errors"][0]["detail"]
    assert service.client.get("/v1/jobs", headers=theirs).json()["items"] == []


def test_a_key_file_that_turns_bad_keeps_the_last_good_keys(service: Any) -> None:
    key = keyring.add(service.settings.key_file, "lab")
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 200
    service.settings.key_file.write_text("nonsense\n")
    assert service.client.get("/v1/jobs").status_code == 401
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 200


def test_an_address_open_to_others_never_lets_in_without_keys(tmp_path: Path) -> None:
    settings = ServiceSettings(host="0.0.0.0", data_dir=tmp_path)
    with TestClient(create_app(settings)) as client:
        assert client.get("/v1/jobs").status_code == 401


def test_a_key_may_do_what_its_scopes_say(service: Any) -> None:
    file = service.settings.key_file
    reader, writer, neither = (
        _with(keyring.add(file, "lab", scopes)) for scopes in (["read"], ["write"], ["admin"])
    )
    for headers, may_read, may_write in (
        (reader, True, False),
        (writer, False, True),
        (neither, False, False),
    ):
        looked = service.client.get("/v1/jobs", headers=headers)
        sent = service.client.post("/v1/datasets", content=b"1", headers=headers)
        assert (looked.status_code == 200, sent.status_code in (200, 201)) == (may_read, may_write)
        for answer, may in ((looked, may_read), (sent, may_write)):
            assert may or (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_revoked_key_opens_nothing_at_once(service: Any) -> None:
    key = keyring.add(service.settings.key_file, "lab")
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 200
    keyring.revoke(service.settings.key_file, keyring.read(service.settings.key_file).entries[0].id)
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 401
    assert service.client.get("/v1/jobs").status_code == 401


@pytest.mark.parametrize("waits", ["events", "long poll"])
def test_who_waits_with_a_key_that_is_revoked_hears_no_more(service: Any, waits: str) -> None:
    key = keyring.add(service.settings.key_file, "lab")
    job_id = service.client.post("/v1/jobs", json=_JOB, headers=_with(key)).json()["id"]

    def revoke() -> None:
        keyring.revoke(
            service.settings.key_file, keyring.read(service.settings.key_file).entries[0].id
        )
        service.finish(job_id)

    threading.Timer(0.2, revoke).start()
    if waits == "events":
        answer = service.client.get(f"/v1/jobs/{job_id}/events", headers=_with(key))
        assert "queued" in answer.text
    else:
        answer = service.client.get(
            f"/v1/jobs/{job_id}", headers={**_with(key), "Prefer": "wait=2"}
        )
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert "succeeded" not in answer.text


def test_who_waits_with_a_key_that_stays_hears_of_the_end(service: Any) -> None:
    key = keyring.add(service.settings.key_file, "lab")
    job_id = service.client.post("/v1/jobs", json=_JOB, headers=_with(key)).json()["id"]
    threading.Timer(0.1, service.finish, (job_id,)).start()
    assert "succeeded" in service.client.get(f"/v1/jobs/{job_id}/events", headers=_with(key)).text
