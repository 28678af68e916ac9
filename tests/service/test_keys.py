"""Who may come in."""

import hashlib
import stat
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service import keys
from service.app import create_app
from service.settings import ServiceSettings
from storage.memory import memory_stores


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
        {"Origin": "http://["},
    ],
)
def test_without_keys_other_sites_pages_cannot_use_a_browser_here(service: Any, headers: dict[str, str]) -> None:
    assert service.client.get("/v1/jobs", headers=headers).status_code == 401


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"])
def test_every_name_of_this_machine_will_do(service: Any, host: str) -> None:
    assert service.client.get("/v1/jobs", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


def test_the_first_key_locks_the_door_without_a_restart(service: Any) -> None:
    key = keys.add(service.settings.key_file, "lab")
    refused = service.client.get("/v1/jobs")
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 200
    for wrong in (key[:-1], key + "x", "", "ünïcode".encode().decode("latin-1"), key.upper()):
        assert service.client.get("/v1/jobs", headers={"Authorization": f"Bearer {wrong}".encode("latin-1")}).status_code == 401
    assert service.client.get("/v1/jobs", headers={"Authorization": f"Basic {key}"}).status_code == 401


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/openapi.json", "/v1/schemas", "/v1/schemas/layout"])
def test_what_everyone_may_know_needs_no_key(service: Any, path: str) -> None:
    keys.add(service.settings.key_file, "lab")
    assert service.client.get(path).status_code == 200


def test_tenants_do_not_see_each_other(service: Any) -> None:
    mine, theirs = (_with(keys.add(service.settings.key_file, tenant)) for tenant in ("me", "them"))
    dataset = service.client.post("/v1/datasets", content=b"1", headers=mine).json()["id"]
    job = service.client.post("/v1/jobs", json={"kind": "identification", "dataset": dataset}, headers=mine).json()["id"]
    for method, path in [
        ("GET", f"/v1/datasets/{dataset}"),
        ("DELETE", f"/v1/datasets/{dataset}"),
        ("GET", f"/v1/jobs/{job}"),
        ("GET", f"/v1/jobs/{job}/result"),
        ("POST", f"/v1/jobs/{job}/cancel"),
    ]:
        assert service.client.request(method, path, headers=theirs).status_code == 404, path
    taken = service.client.post("/v1/jobs", json={"kind": "identification", "dataset": dataset}, headers=theirs)
    assert (taken.status_code, taken.json()["errors"][0]["pointer"]) == (422, "#/dataset")
    borrowed = service.client.post("/v1/jobs", json={"kind": "generator", "model": {"job": job}}, headers=theirs)
    assert "no such job" in borrowed.json()["errors"][0]["detail"]
    assert service.client.get("/v1/jobs", headers=theirs).json()["items"] == []


def test_a_key_file_that_turns_bad_keeps_the_last_good_keys(service: Any) -> None:
    key = keys.add(service.settings.key_file, "lab")
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 200
    service.settings.key_file.write_text("nonsense\n")
    assert service.client.get("/v1/jobs").status_code == 401
    assert service.client.get("/v1/jobs", headers=_with(key)).status_code == 200


def test_an_address_open_to_others_never_lets_in_without_keys(tmp_path: Path) -> None:
    settings = ServiceSettings(host="0.0.0.0", data_dir=tmp_path)
    with TestClient(create_app(settings, stores=memory_stores())) as client:
        assert client.get("/v1/jobs").status_code == 401


@pytest.mark.parametrize("text", ["lab\n", "lab abc\n", "Lab " + "0" * 64 + "\n", "lab " + "0" * 64 + " more\n"])
def test_a_bad_key_file_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "api-keys"
    file.write_text("# ours\n\n" + text)
    with pytest.raises(keys.BadKeyFile, match="line 3"):
        keys.KeyRing(file)


def test_new_prints_a_key_and_keeps_only_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ITOSCOPE_DATA_DIR", str(tmp_path / "data"))
    assert keys.main(["new", "--tenant", "lab"]) == 0
    key = capsys.readouterr().out.strip()
    file = tmp_path / "data" / "api-keys"
    assert file.read_text() == f"lab {hashlib.sha256(key.encode()).hexdigest()}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert keys.main(["new", "--tenant", "No Such"]) == 2


def test_ensure_makes_the_first_key_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITOSCOPE_DATA_DIR", str(tmp_path))
    assert keys.main(["ensure"]) == 0
    place = tmp_path / "first-api-key"
    key = place.read_text().strip()
    assert keys.main(["ensure"]) == 0
    assert place.read_text().strip() == key
    assert keys.read(tmp_path / "api-keys").tenant_of(key) == "default"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
