"""Webhooks over HTTP: whom the operator allows, and what they are signed with."""

from dataclasses import replace
from typing import Any

import pytest

from service.access import keyring
from storage.configuration import read
from worker.queue.settings import WorkerSettings

JOB = {"kind": "generator", "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 2}}}}


def allow(service: Any, *hosts: str, networks: tuple[Any, ...] = ()) -> None:
    context = service.client.app.state.context
    settings = context.settings.model_copy(
        update={"webhook_hosts": hosts, "webhook_networks": networks}
    )
    service.client.app.state.context = replace(context, settings=settings)


def test_there_are_no_webhooks_unless_the_operator_says_so(service: Any) -> None:
    answer = service.client.post(
        "/v1/jobs", json={**JOB, "webhook": {"url": "https://lab.example.org/"}}
    )
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "#/webhook")
    assert "Prefer" in answer.json()["hints"][0]
    assert service.client.post("/v1/jobs", json={**JOB, "webhook": None}).status_code == 202


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://lab.example.org/hooks?a=%20b", 202),
        ("https://LAB.example.org.:8443/", 202),
        ("https://deep.er.example.net", 202),
        ("https://example.net", 422),
        ("https://notexample.net", 422),
        ("https://lab.example.org.evil.com/", 422),
        ("https://other.org/lab.example.org", 422),
        ("https://lab.example.org@other.org/", 422),
        ("https://user:secret@lab.example.org/", 422),
        ("http://lab.example.org/", 422),
        ("ftp://lab.example.org/", 422),
        ("//lab.example.org/", 422),
        ("https://", 422),
        ("https://lab.example.org:99999/", 422),
        ("https://lab.example.org/#part", 422),
        ("https://lab.example.org/\r\nX-Evil: 1", 422),
        ("https://lab.example.org\\@other.org/", 422),
        ("https://[::1", 422),
        ("https://läb.example.org/", 422),
        ("https://lab.example.org/" + "a" * 2048, 422),
    ],
)
def test_an_address_is_taken_where_its_host_is_allowed(service: Any, url: str, status: int) -> None:
    allow(service, "lab.example.org", "*.example.net")
    answer = service.client.post("/v1/jobs", json={**JOB, "webhook": {"url": url}})
    assert answer.status_code == status, answer.text
    if status == 422:
        assert answer.json()["errors"][0]["pointer"] == "#/webhook/url"
        assert "secret" not in answer.text, "nothing that was sent is repeated"


def test_without_tls_only_where_the_operator_has_a_network_of_his_own(service: Any) -> None:
    allow(service, "*", networks=("10.0.0.0/8",))
    assert (
        service.client.post(
            "/v1/jobs", json={**JOB, "webhook": {"url": "http://anywhere/"}}
        ).status_code
        == 202
    )


def test_the_secret_stays_the_same_and_is_for_those_who_may_write(service: Any) -> None:
    address = "/v1/webhooks/secret"
    answer = service.client.get(address)
    assert answer.json()["key"].startswith("whsec_")
    assert answer.headers["cache-control"] == "no-store"
    assert service.client.get(address).json() == answer.json()
    reads, writes, other = (
        keyring.add(service.settings.key_file, tenant, scopes)
        for tenant, scopes in (("default", ["read"]), ("default", ["write"]), ("other", ["write"]))
    )

    def asked(key: str) -> Any:
        return service.client.get(address, headers={"Authorization": f"Bearer {key}"})

    assert asked(reads).status_code == 403
    assert asked(writes).json() == answer.json()
    assert asked(other).json()["key"] != answer.json()["key"]


def test_lists_of_hosts_and_networks_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITOSCOPE_WEBHOOK_HOSTS", "lab.example.org, *.example.net")
    monkeypatch.setenv("ITOSCOPE_WEBHOOK_NETWORKS", "10.1.0.0/16,127.0.0.1")
    settings = read(WorkerSettings)
    assert settings.webhook_hosts == ("lab.example.org", "*.example.net")
    assert [str(network) for network in settings.webhook_networks] == [
        "10.1.0.0/16",
        "127.0.0.1/32",
    ]
