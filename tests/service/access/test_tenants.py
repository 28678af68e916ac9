"""Nobody learns anything of another tenant's things: every address answers as if they had never
been."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from contract.jobs import IdentificationJob
from contract.problems import problem
from service.access import keyring
from storage.names import new_batch_id, new_job_id
from storage.stores import BatchedJob

NO_DATASET = "ds_aaaaaaaaaaaaaaaa"
UPLOAD = {"content": b"t,x\n0,0\n1,1\n2,0\n", "headers": {"Content-Type": "text/csv"}}
MODEL = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}


def operations(service: Any) -> Iterator[tuple[str, str]]:
    """Every method and path that names a thing."""
    for path, methods in service.client.get("/openapi.json").json()["paths"].items():
        if "_id}" in path:
            yield from ((method.upper(), path) for method in methods)


class Tenants:
    """Two tenants, and things of the first one in every state."""

    def __init__(self, service: Any) -> None:
        self.client = service.client
        self.theirs, self.mine = (
            {"Authorization": f"Bearer {keyring.add(service.settings.key_file, name)}"}
            for name in ("victim", "stranger")
        )
        upload = {**UPLOAD, "headers": UPLOAD["headers"] | self.theirs}
        self.dataset = self.client.post("/v1/datasets", **upload).json()["id"]
        self.jobs = {
            state: self._job(service, state)
            for state in ("queued", "running", "succeeded", "failed", "cancelled", "gone")
        }

        job = IdentificationJob.model_validate(
            {"kind": "identification", "dataset": self.dataset, "trajectories": [0]}
        )
        one = BatchedJob("track", 0, job)
        self.batch = service.stores.jobs.submit_batch("victim", [one]).batch_id

    def _job(self, service: Any, state: str) -> str:
        body = {"kind": "identification", "dataset": self.dataset}
        job_id = str(
            self.client.post(
                "/v1/jobs", json=body, headers=self.theirs | {"Idempotency-Key": state}
            ).json()["id"]
        )
        jobs = service.stores.jobs
        if state in ("running", "failed"):
            jobs.claim(job_id, "worker", 30)
        if state == "failed":
            jobs.fail(job_id, 1, problem(422, "constant-data", "t", "secret"))
        if state == "succeeded":
            service.finish(job_id)
        if state in ("cancelled", "gone"):
            jobs.cancel("victim", job_id)
        if state == "gone":
            jobs.forget("victim", job_id, 60)
        return job_id

    def ask(self, method: str, path: str, **more: Any) -> tuple[Any, ...]:
        """The stranger's answer, without what names the exchange."""
        headers = self.mine | more.pop("headers", {})
        answer = self.client.request(method, path, headers=headers, **more)
        own = ("x-request-id", "ratelimit", "content-length")
        fields = {name: value for name, value in answer.headers.items() if name not in own}
        return answer.status_code, fields, re.sub(r"urn:itoscope:request:\w+", "", answer.text)


@pytest.fixture
def tenants(service: Any) -> Tenants:
    return Tenants(service)


@pytest.mark.slow
def test_two_hundred_attempts_at_anothers_things_are_answered_as_if_they_had_never_been(
    service: Any, tenants: Tenants
) -> None:
    attempts = 0
    variants: list[dict[str, Any]] = [
        {},
        {"headers": {"Prefer": "wait=1"}},
        {"headers": {"If-None-Match": "*"}},
        {"headers": {"Last-Event-ID": "0-0"}},
        {"headers": {"Accept": "text/html", "Range": "bytes=0-9"}},
        {"params": {"tenant": "victim", "dt": "0.1"}},
        {"json": {}},
    ]
    for method, path in operations(service):
        kind = path.split("{")[1].split("_id}")[0]
        things = {"job": tenants.jobs.values(), "batch": [tenants.batch]}.get(
            kind, [tenants.dataset]
        )
        unknown = {"job": new_job_id(), "batch": new_batch_id()}.get(kind, NO_DATASET)
        for thing in things:
            for variant in variants:
                found = tenants.ask(method, re.sub(r"\{\w+_id\}", thing, path), **variant)
                nothing = tenants.ask(method, re.sub(r"\{\w+_id\}", unknown, path), **variant)
                assert found == nothing, (method, path, variant)
                assert found[0] == 404
                attempts += 1
    assert attempts >= 200
    for state in ("queued", "running", "succeeded", "failed", "cancelled"):
        record = tenants.client.get(f"/v1/jobs/{tenants.jobs[state]}", headers=tenants.theirs)
        assert record.json()["state"] == state, "nothing was changed either"
    batch = tenants.client.get(f"/v1/batches/{tenants.batch}", headers=tenants.theirs).json()
    assert batch["counts"]["queued"] == 1


def test_anothers_things_cannot_be_named_in_a_job(tenants: Tenants) -> None:
    def job(**fields: Any) -> tuple[Any, ...]:
        return tenants.ask("POST", "/v1/jobs", json=fields)

    assert job(kind="identification", dataset=tenants.dataset) == job(
        kind="identification", dataset=NO_DATASET
    )
    for job_id in tenants.jobs.values():
        assert job(kind="generator", model={"job": job_id}) == job(
            kind="generator", model={"job": new_job_id()}
        )


def test_the_same_upload_is_new_to_each_tenant(tenants: Tenants) -> None:
    status, _, _ = tenants.ask(
        "POST", "/v1/datasets", content=UPLOAD["content"], headers=UPLOAD["headers"]
    )
    assert status == 201, "200 would say that another has it"
    assert (
        tenants.client.delete(f"/v1/datasets/{tenants.dataset}", headers=tenants.mine).status_code
        == 204
    )
    assert (
        tenants.client.get(f"/v1/datasets/{tenants.dataset}", headers=tenants.theirs).status_code
        == 200
    )


def test_idempotency_keys_of_two_tenants_do_not_meet(tenants: Tenants) -> None:
    body = {"kind": "generator", "model": MODEL}
    answer = tenants.client.post(
        "/v1/jobs", json=body, headers=tenants.mine | {"Idempotency-Key": "queued"}
    )
    assert answer.status_code == 202
    assert answer.json()["id"] not in tenants.jobs.values()


@pytest.mark.parametrize("address", ["/v1/jobs", "/v1/datasets", "/v1/batches"])
def test_lists_hold_ones_own(tenants: Tenants, address: str) -> None:
    assert tenants.client.get(address, headers=tenants.mine).json()["items"] == []
    for cursor in ("5", "99999999"):
        answer = tenants.client.get(address, params={"cursor": cursor}, headers=tenants.mine)
        assert answer.status_code == 422 or answer.json()["items"] == []


def test_the_way_of_looking_sees_a_difference_where_there_is_one(tenants: Tenants) -> None:
    """The negative control: to its owner a thing answers otherwise than nothing."""
    tenants.mine = tenants.theirs
    for job_id in tenants.jobs.values():
        assert tenants.ask("GET", f"/v1/jobs/{job_id}") != tenants.ask(
            "GET", f"/v1/jobs/{new_job_id()}"
        )


def test_anothers_job_and_no_job_cost_the_store_the_same(restricted_url: str) -> None:
    """By the commands that are run, since a clock would prove nothing on a busy machine."""
    from redis import Redis

    from contract.jobs import GeneratorJob
    from storage.redis.connection import connect
    from storage.redis.jobs import JobStore

    jobs = JobStore(connect(restricted_url))
    theirs = jobs.submit(
        "victim", GeneratorJob.model_validate({"kind": "generator", "model": MODEL})
    ).record.id
    jobs.get("stranger", theirs)  # the script is loaded

    def commands(job_id: str, tenant: str) -> dict[str, int]:
        with Redis.from_url(restricted_url) as admin:
            before = admin.info("commandstats")
            jobs.get(tenant, job_id)
            after = admin.info("commandstats")
        return {
            name: count["calls"] - before.get(name, {"calls": 0})["calls"]
            for name, count in after.items()
            if count["calls"] != before.get(name, {"calls": 0})["calls"] and "info" not in name
        }

    assert commands(theirs, "stranger") == commands(new_job_id(), "stranger")
    assert commands(theirs, "victim") != commands(new_job_id(), "victim"), "the negative control"
