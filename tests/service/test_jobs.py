"""Jobs over HTTP: accepted, followed, answered."""

import json
from dataclasses import replace
from typing import Any

import pytest
import structlog

from contract.jobs import GeneratorJob
from contract.messages import Message
from contract.problems import ProblemError, problem
from service.routes.jobs import fingerprint_of

MODEL = {"drift": {"x": {"x": 1, "x^3": -1}}, "diffusion": {"x,x": {"1": 0.25}}}


def test_a_job_is_recorded_and_its_id_published(service: Any) -> None:
    dataset = service.upload()
    answer = service.client.post(
        "/v1/jobs", json={"kind": "identification", "dataset": dataset, "timeout_seconds": 5}
    )
    record = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/jobs/{record['id']}"
    assert answer.headers["retry-after"] == "1"
    assert (record["state"], record["dataset"]) == ("queued", dataset)
    assert record["request"]["parameters"]["library"]["polynomial_degree"] == 4
    assert record["links"]["cancel"] == f"/v1/jobs/{record['id']}/cancel"
    assert service.queue.published == [Message(record["id"], 5.0)]


def test_the_log_ties_the_request_to_its_job(service: Any) -> None:
    with structlog.testing.capture_logs(
        processors=[structlog.contextvars.merge_contextvars]
    ) as events:
        job = {"kind": "identification", "dataset": service.upload()}
        headers = {"X-Request-Id": "night-17", "Idempotency-Key": "once"}
        job_id = service.client.post("/v1/jobs", json=job, headers=headers).json()["id"]
        service.client.post("/v1/jobs", json=job, headers=headers)
    accepted = [
        (event["request_id"], event["job_id"])
        for event in events
        if event["event"] == "job accepted"
    ]
    assert accepted == [("night-17", job_id)]


def test_a_job_is_accepted_while_the_broker_is_away(service: Any) -> None:
    service.queue.broken = True
    job_id = service.job()
    assert service.client.get(f"/v1/jobs/{job_id}").json()["state"] == "queued"


def test_inline_data_become_a_dataset_and_are_not_kept_in_the_record(service: Any) -> None:
    data = {"dt": 0.01, "trajectories": [[0, 0.5, None]]}
    record = service.client.post("/v1/jobs", json={"kind": "identification", "data": data}).json()
    assert record["request"]["data"] is None
    assert service.client.get(f"/v1/datasets/{record['dataset']}").status_code == 200
    content, media_type, _, _ = service.reader.seen[0]
    assert (json.loads(content), media_type) == (data, "application/json")


def test_fault_in_inline_data_is_pointed_at_inside_the_job(service: Any) -> None:
    answer = service.client.post(
        "/v1/jobs", json={"kind": "identification", "data": {"trajectories": [[0, "bad"]]}}
    )
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "#/data/trajectories/0/1"


def test_one_form_holds_file_job_and_layout(service: Any) -> None:
    parts = {
        "file": ("a.csv", b"0\n1\n", "text/csv"),
        "job": (None, '{"kind": "identification", "preset": "paper"}'),
    }
    answer = service.client.post(
        "/v1/jobs?dt=0.5", files={**parts, "layout": (None, '{"time_unit": "s"}')}
    )
    record = answer.json()
    assert answer.status_code == 202
    assert record["request"]["parameters"]["estimator"] == "paper"
    layout = service.reader.seen[0][3]
    assert (layout.dt, layout.time_unit) == (0.5, "s")
    as_file = service.client.post(
        "/v1/jobs?dt=0.5&time_unit=s", files={**parts, "job": ("job.json", parts["job"][1])}
    )
    assert as_file.json()["dataset"] == record["dataset"]


@pytest.mark.parametrize(
    ("job", "pointers"),
    [
        ({"kind": "identification"}, {"#/dataset"}),
        ({"kind": "identification", "dataset": "ds_unknown"}, {"#/dataset"}),
        ({"kind": "identification", "dataset": "../../etc/passwd"}, {"#/dataset"}),
        ({"kind": "identification", "dataset": "d", "data": {"trajectories": [[1]]}}, {
            "#/dataset"}),
        ({"kind": "identification", "dataset": "d", "colour": "red"}, {"#/colour"}),
        ({"kind": "identification", "dataset": "d", "a/b~c": 1}, {"#/a~1b~0c"}),
        ({"kind": "identification", "dataset": "d",
          "parameters": {"kernels": {"count": 1, "bandwidth": -1}}}, {
            "#/parameters/kernels/count", "#/parameters/kernels/bandwidth"}),
        ({"kind": "identification", "data": {"trajectories": [[1]], "colour": 1}}, {
            "#/data/colour"}),
        ({"kind": "identification", "data": {"dt": 1}}, {"#/data/trajectories"}),
        ({"kind": "identification", "data": [1, 2]}, {"#/data"}),
        ({"kind": "generator", "model": {"job": "job_unknown"}}, {"#/model/job"}),
        ({"kind": "generator", "model": {"job": 3}}, {"#/model/job"}),
        ({"kind": "generator", "model": {"drift": {"x": {"x": "a"}}}}, {
            "#/model/drift/x/x", "#/model/diffusion"}),
        ({"kind": "generator", "model": MODEL, "analysis": {"passages": [{"from": 0}]}}, {
            "#/analysis/passages/0/to"}),
        ({"kind": "generator", "model": {**MODEL, "drift": {"x": {"x^^2": 1}}}}, {
            "#/model/drift/x/x^^2"}),
        ({"kind": "generator", "model": {**MODEL, "diffusion": {"x,x": {"open(x)": 1}}}}, {
            "#/model/diffusion/x,x/open(x)"}),
        ({"kind": "generator", "model": {**MODEL, "diffusion": {"x,x": {"y^2": 1}}}}, {
            "#/model/diffusion"}),
        ({"kind": "identification", "dataset": "d",
          "parameters": {"library": {"extra_terms": ["sin(x"]}}}, {
            "#/parameters/library/extra_terms/0"}),
        ({"kind": "generator"}, {"#/model"}),
        ({"kind": "generator", "model": MODEL, "timeout_seconds": 0.999}, {"#/timeout_seconds"}),
        ({"kind": "generator", "model": MODEL, "analysis": {"model_only": True}}, {"#"}),
        ({"kind": "rolling"}, {"#/dataset"}),
        ({"kind": "magic"}, {"#"}),
        ([1, 2, 3], {"#"}),
        ("identification", {"#"}),
        (0, {"#"}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_job_is_pointed_at(service: Any, job: Any, pointers: set[str]) -> None:
    answer = service.client.post("/v1/jobs", json=job)
    found = answer.json()
    assert (answer.status_code, found["code"]) == (422, "invalid-request")
    assert {error["pointer"] for error in found["errors"]} == pointers
    assert "Value error" not in answer.text
    assert service.queue.published == []


def test_bounds_and_periods_name_variables_of_the_dataset(service: Any) -> None:
    request = {
        "kind": "identification",
        "dataset": service.upload(),
        "parameters": {"domain": {"voltage": [0, None]}},
    }
    answer = service.client.post("/v1/jobs", json=request)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (
        422,
        "#/parameters/domain/voltage",
    )
    assert answer.json()["hints"] == ["The variables are x (column voltage)."]
    request["parameters"] = {"domain": {"x": [0, None]}, "periodic": {"x": 360}}
    assert service.client.post("/v1/jobs", json=request).status_code == 202


def test_validate_answers_with_the_resolved_job_and_runs_nothing(service: Any) -> None:
    request = {"kind": "identification", "dataset": service.upload(), "preset": "paper"}
    answer = service.client.post("/v1/jobs/validate", json=request)
    assert answer.status_code == 200
    assert answer.json()["request"]["parameters"]["estimator"] == "paper"
    assert service.client.get("/v1/jobs").json()["items"] == []
    assert service.queue.published == []
    assert (
        service.client.post("/v1/jobs/validate", json={**request, "colour": 1}).json()["errors"][0][
            "pointer"
        ]
        == "#/colour"
    )


def test_a_model_is_not_taken_from_a_job_that_has_several(service: Any) -> None:
    earlier = service.job(kind="rolling")
    service.finish(earlier)
    request = {"kind": "generator", "model": {"job": earlier}}
    answer = service.client.post("/v1/jobs", json=request)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "#/model/job")
    assert "of the kind rolling" in answer.json()["detail"]


def test_a_model_can_be_taken_from_a_finished_job_only(service: Any) -> None:
    earlier = service.job()
    request = {"kind": "generator", "model": {"job": earlier}}
    unfinished = service.client.post("/v1/jobs", json=request)
    service.finish(earlier)
    assert (unfinished.status_code, unfinished.json()["errors"][0]["pointer"]) == (
        422,
        "#/model/job",
    )
    assert service.client.post("/v1/jobs", json=request).status_code == 202


def test_the_same_idempotency_key_gives_the_same_job(service: Any) -> None:
    headers = {"Idempotency-Key": "k1"}
    request = {"kind": "generator", "model": MODEL}
    first = service.client.post("/v1/jobs", json=request, headers=headers)
    again = service.client.post("/v1/jobs", json=request, headers=headers)
    other = service.client.post("/v1/jobs", json={**request, "timeout_seconds": 5}, headers=headers)
    assert again.json()["id"] == first.json()["id"]
    assert "idempotent-replayed" in again.headers
    assert "idempotent-replayed" not in first.headers
    assert [message.job_id for message in service.queue.published] == 2 * [first.json()["id"]], (
        "who asks again had no answer; nor, perhaps, had the queue its message"
    )
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-mismatch")


def test_the_operator_sets_the_longest_time_limit(service: Any) -> None:
    context = service.client.app.state.context
    settings = context.settings.model_copy(update={"max_timeout_seconds": 60.0})
    service.client.app.state.context = replace(context, settings=settings)
    job = {"kind": "generator", "model": MODEL}
    answer = service.client.post("/v1/jobs", json={**job, "timeout_seconds": 61})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "#/timeout_seconds")
    # The default is no wish of the caller's.
    answer = service.client.post("/v1/jobs", json=job)
    assert (answer.status_code, answer.json()["request"]["timeout_seconds"]) == (202, 60.0)


def test_a_repeated_job_is_known_whatever_was_deleted_and_however_full_it_is(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, earlier = service.upload(), service.job()
    service.finish(earlier)
    requests: list[dict[str, Any]] = [
        {"kind": "identification", "dataset": dataset},
        {"kind": "generator", "model": {"job": earlier}},
    ]

    def post(key: str, request: dict[str, Any]) -> Any:
        return service.client.post("/v1/jobs", json=request, headers={"Idempotency-Key": key})

    first = [post(f"k{k}", request).json()["id"] for k, request in enumerate(requests)]
    assert service.client.delete(f"/v1/datasets/{dataset}").status_code == 204
    assert service.client.delete(f"/v1/jobs/{earlier}").status_code == 204
    monkeypatch.setattr(type(service.stores.jobs), "memory_used", lambda _: 0.95)
    service.client.app.state.context.admission._memory.forget("")
    again = [post(f"k{k}", request) for k, request in enumerate(requests)]
    assert [answer.json()["id"] for answer in again] == first
    other = post("k0", {**requests[0], "timeout_seconds": 5})
    assert other.json()["code"] == "idempotency-mismatch"
    assert post("k2", requests[0]).json()["code"] == "storage-full"


def test_a_field_that_a_later_version_adds_makes_no_other_job() -> None:
    class Later(GeneratorJob):
        added: int = 3

    job = {"kind": "generator", "model": MODEL, "labels": {"a": "b"}}
    before = fingerprint_of(GeneratorJob.model_validate(job))
    assert fingerprint_of(Later.model_validate(job)) == before
    assert fingerprint_of(Later.model_validate({**job, "added": 4})) != before
    assert fingerprint_of(GeneratorJob.model_validate({**job, "labels": {}})) != before


def test_record_has_an_etag_that_changes_with_its_state(service: Any) -> None:
    address = f"/v1/jobs/{service.job()}"
    etag = service.client.get(address).headers["etag"]
    assert service.client.get(address, headers={"If-None-Match": f'"x", {etag}'}).status_code == 304
    service.finish(address.rsplit("/", 1)[-1])
    changed = service.client.get(address, headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag
    assert "retry-after" not in changed.headers


def test_result_is_served_once_there_is_one_and_never_changes(service: Any) -> None:
    job_id = service.job()
    early = service.client.get(f"/v1/jobs/{job_id}/result")
    assert (early.status_code, early.json()["code"], early.headers["retry-after"]) == (
        409,
        "job-not-finished",
        "1",
    )
    service.finish(job_id, b'{"schema_version": "1.0", "x": 1}')
    result = service.client.get(f"/v1/jobs/{job_id}/result")
    assert result.json() == {"schema_version": "1.0", "x": 1}
    assert "immutable" in result.headers["cache-control"]
    again = service.client.get(
        f"/v1/jobs/{job_id}/result", headers={"If-None-Match": result.headers["etag"]}
    )
    assert again.status_code == 304


def test_failed_job_says_why_in_record_and_result(service: Any) -> None:
    job_id = service.job()
    claim = service.stores.jobs.claim(job_id, "test", 30.0)
    why = problem(
        422,
        "constant-data",
        "Constant data",
        "x never changes.",
        "h",
        errors=(ProblemError(detail="constant"),),
    )
    service.stores.jobs.fail(job_id, claim.attempt, why)
    assert service.client.get(f"/v1/jobs/{job_id}").json()["error"]["code"] == "constant-data"
    result = service.client.get(f"/v1/jobs/{job_id}/result")
    assert (result.status_code, result.json()["code"], result.json()["hints"]) == (
        409,
        "job-failed",
        ["h"],
    )
    assert "x never changes" in result.json()["detail"]


def test_cancelled_job_has_no_result_and_a_finished_one_stays_finished(service: Any) -> None:
    cancelled, finished = service.job(), service.job()
    service.finish(finished)
    answer = service.client.post(f"/v1/jobs/{cancelled}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    assert service.client.get(f"/v1/jobs/{cancelled}/result").json()["code"] == "job-cancelled"
    assert service.client.post(f"/v1/jobs/{finished}/cancel").json()["state"] == "succeeded"
    assert service.client.post("/v1/jobs/job_none/cancel").status_code == 404


def test_result_that_is_no_longer_kept_is_gone(service: Any) -> None:
    job_id = service.job()
    claim = service.stores.jobs.claim(job_id, "test", 30.0)
    service.stores.jobs.succeed(job_id, claim.attempt, f"{job_id}-9.json")
    answer = service.client.get(f"/v1/jobs/{job_id}/result")
    assert (answer.status_code, answer.json()["code"]) == (410, "gone")


def test_jobs_are_listed_newest_first(service: Any) -> None:
    ids = [service.job() for _ in range(3)]
    page = service.client.get("/v1/jobs?limit=2").json()
    assert [item["id"] for item in page["items"]] == ids[:0:-1]
    rest = service.client.get(f"/v1/jobs?limit=2&cursor={page['next_cursor']}").json()
    assert [item["id"] for item in rest["items"]] == ids[:1]


def test_jobs_are_listed_by_state_kind_dataset_and_labels(service: Any) -> None:
    def listed(query: str) -> list[str]:
        answer = service.client.get(f"/v1/jobs?{query}")
        assert answer.status_code == 200, answer.text
        return [item["id"] for item in answer.json()["items"]]

    first, second = service.job(labels={"trap.1": "a b"}), service.job(labels={"trap.1": "c"})
    model = service.client.post("/v1/jobs", json={"kind": "generator", "model": MODEL}).json()["id"]
    dataset = service.client.get(f"/v1/jobs/{first}").json()["dataset"]
    service.finish(first)
    assert listed("state=succeeded") == [first]
    assert listed("state=queued&kind=identification") == [second]
    assert listed("kind=generator") == [model]
    assert listed(f"dataset={dataset}&limit=1") == [second]
    assert listed("label.trap.1=a+b") == [first]
    assert listed("label.trap.1=a+b&state=queued") == []


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("state=done", "state"),
        ("kind=magic", "kind"),
        ("state=queued&state=running", "state"),
        ("label.a=1&label.a=2", "label.a"),
        ("labels=a", "labels"),
        ("colour=red", "colour"),
        (f"label.{'a' * 64}=1", "label.aaa"),
        (f"label.a={'1' * 256}", "label.a"),
        ("dataset=", "dataset"),
        ("limit=0", "limit"),
        ("cursor=x", "cursor"),
    ],
)
def test_a_filter_that_is_not_understood_is_refused_by_its_name(
    service: Any, query: str, at: str
) -> None:
    answer = service.client.get(f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert f"query parameter `{at}" in answer.json()["errors"][0]["detail"]


def test_a_job_that_is_not_json_is_refused_with_the_way_to_say_it(service: Any) -> None:
    answer = service.client.post(
        "/v1/jobs",
        content="kind=generator",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")
    assert "application/json" in answer.json()["hints"][0]


def test_a_deleted_job_is_gone_with_its_result(service: Any) -> None:
    job_id = service.job()
    service.finish(job_id)
    assert service.client.delete(f"/v1/jobs/{job_id}").status_code == 204
    for address in (f"/v1/jobs/{job_id}", f"/v1/jobs/{job_id}/result", f"/v1/jobs/{job_id}/events"):
        answer = service.client.get(address)
        assert (answer.status_code, answer.json()["code"]) == (410, "gone")
    assert service.client.delete(f"/v1/jobs/{job_id}").status_code == 410
    assert service.client.get("/v1/jobs").json()["items"] == []


def test_a_job_that_has_not_ended_is_not_deleted(service: Any) -> None:
    job_id = service.job()
    answer = service.client.delete(f"/v1/jobs/{job_id}")
    assert (answer.status_code, answer.json()["code"]) == (409, "job-not-finished")
    assert "cancel" in answer.json()["hints"][0]
    assert service.client.get(f"/v1/jobs/{job_id}").status_code == 200


def test_a_model_of_a_deleted_job_is_refused_where_it_stands(service: Any) -> None:
    job_id = service.job()
    service.finish(job_id)
    service.client.delete(f"/v1/jobs/{job_id}")
    answer = service.client.post("/v1/jobs", json={"kind": "generator", "model": {"job": job_id}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "#/model/job")


def test_a_job_of_minutes_stands_in_a_line_of_its_own(service: Any) -> None:
    context = service.client.app.state.context
    settings = context.settings.model_copy(update={"large_job_seconds": 0.5})
    service.client.app.state.context = replace(context, settings=settings)
    service.job()
    assert service.queue.published[-1].queue == "large"


def test_validation_says_about_how_long_it_will_take(service: Any) -> None:
    body = {"kind": "identification", "dataset": service.upload()}
    assert 0.5 < service.client.post("/v1/jobs/validate", json=body).json()["estimated_seconds"] < 5
