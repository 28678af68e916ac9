"""Batches over HTTP: what is accepted, what is refused and why, and the table."""

import csv
import io
import json
from typing import Any

import numpy as np
import pytest

from contract.datasets import Dataset, DatasetReport
from contract.problems import problem
from service.openapi import examples
from tests.service.conftest import REPORT, Service

JOB = {"kind": "identification"}


def kept(
    service: Service,
    dataset_id: str = "ds_tracks",
    trajectories: int = 3,
    names: tuple[str, ...] = ("a", "b", "c"),
    label: str = "tracks.csv",
    report: DatasetReport = REPORT,
) -> str:
    """A dataset of several trajectories in the store."""
    folder = service.settings.data_dir / f"made-{dataset_id}"
    folder.mkdir(parents=True)
    for name in ("states.npy", "times.npy", "segments.npy"):
        np.save(folder / name, np.zeros(1))
    (folder / "original").write_text("t,x\n")
    (folder / "trajectories.json").write_text(json.dumps({"names": names, "groups": []}))
    template = Dataset.model_validate(examples.RESPONSES["get", "/v1/datasets/{dataset_id}"]["200"][
        "application/json"
    ])  # fmt: skip
    sized = report.model_copy(update={"n_trajectories": trajectories})
    dataset = template.model_copy(update={"id": dataset_id, "label": label, "report": sized})
    service.stores.datasets.put("default", dataset, folder)
    return dataset_id


def posted(service: Service, body: Any, **headers: str) -> Any:
    return service.client.post("/v1/batches", json=body, headers=headers)


def started(service: Service, **fields: Any) -> dict[str, Any]:
    body = {"dataset": kept(service), "job": JOB, **fields}
    answer = posted(service, body)
    assert answer.status_code == 202, answer.text
    batch: dict[str, Any] = answer.json()
    return batch


def of(service: Service, batch: dict[str, Any], **params: Any) -> Any:
    return service.client.get(f"/v1/batches/{batch['id']}", params=params)


def test_each_trajectory_is_a_job_with_the_batch_and_its_record_as_labels(service: Service) -> None:
    batch = started(service, label="March", job={**JOB, "labels": {"who": "me"}})
    assert (batch["n_records"], batch["counts"]["queued"]) == (3, 3)
    rows = of(service, batch).json()["rows"]
    assert [(row["record"], row["trajectory"]) for row in rows] == [("a", 0), ("b", 1), ("c", 2)]
    job = service.client.get(f"/v1/jobs/{rows[1]['job']}").json()
    assert job["labels"] == {"who": "me", "batch": batch["id"], "record": "b"}
    assert (job["dataset"], job["request"]["trajectories"]) == ("ds_tracks", [1])
    listed = service.client.get("/v1/jobs", params={"label.batch": batch["id"]}).json()["items"]
    assert len(listed) == 3
    assert [message.job_id for message in service.queue.published] == [r["job"] for r in rows[:2]]


def test_some_trajectories_or_whole_datasets_are_records_too(service: Service) -> None:
    some = started(service, trajectories=[2, 0])
    assert [row["record"] for row in of(service, some).json()["rows"]] == ["c", "a"]
    other = kept(service, "ds_other", label="other.csv")
    whole = posted(service, {"datasets": [other, "ds_tracks"], "job": JOB}).json()
    rows = of(service, whole).json()["rows"]
    assert [(row["record"], row["trajectory"]) for row in rows] == [
        ("other.csv", None),
        ("tracks.csv", None),
    ]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"job": JOB}, "#/datasets"),
        ({"datasets": [], "job": JOB}, "#/datasets"),
        ({"datasets": ["ds_tracks"], "dataset": "ds_tracks", "job": JOB}, "#/datasets"),
        ({"datasets": [f"ds_{k}" for k in range(1001)], "job": JOB}, "#/datasets"),
        ({"datasets": ["ds_tracks", "ds_tracks"], "job": JOB}, "#/datasets/1"),
        ({"datasets": ["ds_tracks", "ds_nothing"], "job": JOB}, "#/datasets/1"),
        ({"datasets": ["../../etc", "ds_tracks"], "job": JOB}, "#/datasets/0"),
        ({"datasets": [7], "job": JOB}, "#/datasets/0"),
        ({"datasets": "ds_tracks", "job": JOB}, "#/datasets"),
        ({"datasets": ["ds_tracks"], "trajectories": [0], "job": JOB}, "#/trajectories"),
        ({"dataset": "ds_nothing", "job": JOB}, "#/dataset"),
        ({"dataset": "ds_many", "job": JOB}, "#/dataset"),
        ({"dataset": "ds_tracks", "trajectories": [], "job": JOB}, "#/trajectories"),
        ({"dataset": "ds_tracks", "trajectories": [0, 0], "job": JOB}, "#/trajectories/1"),
        ({"dataset": "ds_tracks", "trajectories": [0, 3], "job": JOB}, "#/trajectories/1"),
        ({"dataset": "ds_tracks", "trajectories": [-1], "job": JOB}, "#/trajectories/0"),
        ({"dataset": "ds_tracks"}, "#/job"),
        ({"dataset": "ds_tracks", "job": {"kind": "nothing"}}, "#/job"),
        ({"dataset": "ds_tracks", "job": []}, "#/job"),
        ({"dataset": "ds_tracks", "job": {**JOB, "parameters": {"seed": "x"}}},
         "#/job/parameters/seed"),
        ({"dataset": "ds_tracks", "job": {**JOB, "dataset": "ds_tracks"}}, "#/job/dataset"),
        ({"dataset": "ds_tracks", "job": {**JOB, "data": examples.SHORT_RECORD}}, "#/job/data"),
        ({"dataset": "ds_tracks", "job": {**JOB, "trajectories": [0]}}, "#/job/trajectories"),
        ({"dataset": "ds_tracks", "job": {**JOB, "labels": {"batch": "mine"}}},
         "#/job/labels/batch"),
        ({"dataset": "ds_tracks", "job": {**JOB, "labels": {str(k): "" for k in range(31)}}},
         "#/job/labels"),
        ({"dataset": "ds_tracks", "job": {**JOB, "webhook": {"url": "https://a.org"}}},
         "#/job/webhook"),
        ({"dataset": "ds_tracks", "job": {**JOB, "parameters": {"periodic": {"q": 1}}}},
         "#/job/parameters/periodic/q"),
        ({"dataset": "ds_tracks", "job": {"kind": "generator", "model": examples.DOUBLE_WELL}},
         "#/job/kind"),
        ({"dataset": "ds_tracks", "job": JOB, "records": 3}, "#/records"),
        ({"dataset": "ds_tracks", "job": JOB, "label": "x" * 201}, "#/label"),
        ([], "#"),
    ],
)  # fmt: skip
def test_a_batch_that_cannot_be_run_is_refused_whole_with_the_place(
    service: Service, body: Any, place: str
) -> None:
    kept(service)
    kept(service, "ds_many", 1001, ())
    refused = posted(service, body)
    assert refused.status_code == 422, refused.text
    assert place in [fault["pointer"] for fault in refused.json()["errors"]], refused.text
    assert service.client.get("/v1/jobs").json()["items"] == []
    assert service.client.get("/v1/batches").json()["items"] == []


def test_every_dataset_at_fault_is_named(service: Service) -> None:
    kept(service)
    refused = posted(service, {"datasets": ["ds_a", "ds_tracks", "ds_b"], "job": JOB}).json()
    assert [fault["pointer"] for fault in refused["errors"]] == ["#/datasets/0", "#/datasets/2"]
    job = {**JOB, "parameters": {"periodic": {"q": 1}}}
    other = kept(service, "ds_other")
    refused = posted(service, {"datasets": ["ds_tracks", other], "job": job}).json()
    (fault,) = refused["errors"]
    assert fault["pointer"] == "#/job/parameters/periodic/q"
    assert fault["detail"].endswith("(#0 of the datasets)")


def test_a_body_that_is_no_json_or_too_large_is_refused(service: Service) -> None:
    send = service.client.post
    assert (
        send("/v1/batches", content=b"x", headers={"Content-Type": "text/csv"}).status_code == 415
    )
    broken = send("/v1/batches", content=b"{", headers={"Content-Type": "application/json"})
    assert broken.status_code == 400
    large = posted(service, {"dataset": "ds_tracks", "label": "x" * 300_000, "job": JOB})
    assert (large.status_code, large.json()["code"]) == (413, "body-too-large")


def test_a_batch_that_exceeds_the_open_jobs_says_how_many_may_be_sent(service: Service) -> None:
    kept(service)
    room = service.stores.jobs
    object.__setattr__(service.settings, "max_open_jobs_of_tenant", 2)
    refused = posted(service, {"dataset": "ds_tracks", "job": JOB})
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-jobs")
    assert "3 jobs, and 2 more of your jobs" in refused.json()["detail"]
    assert room.open_jobs() == 0
    assert posted(service, {"dataset": "ds_tracks", "trajectories": [0, 1], "job": JOB}).is_success


def test_the_same_key_returns_the_first_batch(service: Service) -> None:
    kept(service)
    body = {"dataset": "ds_tracks", "job": JOB}
    first = posted(service, body, **{"Idempotency-Key": "K"})
    service.client.delete("/v1/datasets/ds_tracks")
    again = posted(service, body, **{"Idempotency-Key": "K"})
    assert (again.json()["id"], again.headers["Idempotent-Replayed"]) == (
        first.json()["id"],
        "true",
    )
    other = posted(service, {**body, "label": "x"}, **{"Idempotency-Key": "K"})
    assert other.json()["code"] == "idempotency-mismatch"


def test_the_table_has_a_column_for_every_value_and_a_row_for_every_record(
    service: Service,
) -> None:
    batch = started(service)
    jobs = [row["job"] for row in of(service, batch).json()["rows"]]
    for job_id, values in zip(
        jobs[:2],
        ({"warnings": "", "drift.x": "-x", "drift.x:x": -1.0}, {"dt": 0.1, "drift.x:x^3": -2.0}),
        strict=True,
    ):
        claim = service.stores.jobs.claim(job_id, "test", 30.0)
        assert claim is not None
        name = service.stores.results.put("default", job_id, claim.attempt, b"{}")
        service.stores.jobs.succeed(job_id, claim.attempt, name, 2, json.dumps(values))
    claim = service.stores.jobs.claim(jobs[2], "test", 30.0)
    assert claim is not None
    why = problem(422, "too-few-samples", "Too few", 'There are "3", no more.')
    service.stores.jobs.fail(jobs[2], claim.attempt, why)
    answer = of(service, batch, format="csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert list(rows[0])[7:] == ["dt", "drift.x", "drift.x:x", "drift.x:x^3", "warnings"]
    assert [row["state"] for row in rows] == ["succeeded", "succeeded", "failed"]
    assert (rows[0]["drift.x:x"], rows[1]["drift.x:x"]) == ("-1.0", "")
    assert rows[2]["error"] == 'too-few-samples: There are "3", no more.'
    asked = service.client.get(f"/v1/batches/{batch['id']}", headers={"Accept": "text/csv"})
    assert asked.text == answer.text
    page = of(service, batch, limit=2).json()
    assert (len(page["rows"]), page["next_cursor"]) == (2, "2")
    assert of(service, batch, limit=2, cursor="2").json()["rows"][0]["error"]["code"] == why.code
    assert of(service, batch, limit=2, cursor="2").json()["next_cursor"] is None
    assert of(service, batch, cursor="-1").status_code == 422
    assert of(service, batch, format="xml").status_code == 422


def test_failed_jobs_are_started_again_and_a_batch_that_has_ended_can_be_deleted(
    service: Service,
) -> None:
    batch = started(service)
    address = f"/v1/batches/{batch['id']}"
    jobs = [row["job"] for row in of(service, batch).json()["rows"]]
    claim = service.stores.jobs.claim(jobs[0], "test", 30.0)
    assert claim is not None
    service.stores.jobs.fail(jobs[0], claim.attempt, problem(500, "internal-error", "?", "?"))
    again = service.client.post(f"{address}/retry")
    assert (again.status_code, again.json()["counts"]["queued"]) == (202, 3)
    busy = service.client.delete(address)
    assert (busy.status_code, busy.json()["code"]) == (409, "job-not-finished")
    cancelled = service.client.post(f"{address}/cancel").json()
    assert cancelled["counts"]["cancelled"] == 3
    assert service.client.delete(address).status_code == 204
    assert service.client.get(address).status_code == 404
    left = [job["id"] for job in service.client.get("/v1/jobs").json()["items"]]
    assert left == [jobs[0]]


@pytest.mark.parametrize("method", ["get", "delete", "retry", "cancel"])
@pytest.mark.parametrize("name", [examples.BATCH, "batch_x", "..%2f..", examples.JOB])
def test_an_unknown_batch_is_not_found(service: Service, method: str, name: str) -> None:
    verb = method if method in ("get", "delete") else "post"
    path = f"/v1/batches/{name}" + (f"/{method}" if verb == "post" else "")
    answer = service.client.request(verb, path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_a_job_may_name_trajectories_of_its_dataset(service: Service) -> None:
    kept(service)
    job = {**JOB, "dataset": "ds_tracks"}
    send = service.client.post
    assert send("/v1/jobs", json={**job, "trajectories": [2, 0]}).status_code == 202
    for wrong, place in (([3], "/0"), ([0, 0], ""), ([], ""), ([0.5], "/0"), ("0", "")):
        refused = send("/v1/jobs", json={**job, "trajectories": wrong})
        assert refused.status_code == 422, wrong
        assert refused.json()["errors"][0]["pointer"] == f"#/trajectories{place}", wrong
