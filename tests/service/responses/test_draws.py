"""Models drawn from a stored result."""

import io
import json
from typing import Any

import numpy as np
import pytest

from itoscope_client.models.model import Model
from tests.client.documents import result


def document() -> dict[str, Any]:
    found = result({"x": {"x": -2.0, "x^3": 0.5}}, {"x,x": {"1": 1.0}}, error=0.1)
    for part in (found["model"]["drift"]["x"], found["model"]["diffusion"]["x,x"]):
        terms, values = zip(*((t["term"], t["value"]) for t in part["terms"]), strict=True)
        part["supports"] = [
            {"support": terms, "probability": 1.0, "values": values,
             "factor": (0.1 * np.eye(len(terms))).tolist(), "shift": None}
        ]  # fmt: skip
    return found


@pytest.fixture
def job(service: Any) -> str:
    job_id: str = service.job()
    service.finish(job_id, json.dumps(document()).encode())
    return f"/v1/jobs/{job_id}/draws"


def test_both_forms_and_the_client_draw_the_same_models(service: Any, job: str) -> None:
    asked = {"count": 30, "seed": 7}
    plain = service.client.get(job, params=asked)
    packed = service.client.get(job, params=asked, headers={"Accept": "application/x-npz"})
    assert plain.json()["drift"]["x"]["terms"] == ["x", "x^3"]
    expected = Model(document()).draws(30, seed=7)
    with np.load(io.BytesIO(packed.content), allow_pickle=False) as arrays:
        for place, component, function in (
            ("drift.x", "x", "drift"), ("diffusion.x,x", "x,x", "diffusion"),
        ):  # fmt: skip
            part = plain.json()[function][component]
            assert arrays[f"{place}.terms"].tolist() == part["terms"]
            for column, term in enumerate(part["terms"]):
                wanted = expected.coefficients(component, term)
                assert np.array_equal(arrays[f"{place}.coefficients"][:, column], wanted)
                assert np.array_equal(np.array(part["coefficients"])[:, column], wanted)
    assert len(service.client.get(job).json()["drift"]["x"]["coefficients"]) == 500


def test_each_form_count_and_seed_has_a_version_of_its_own(service: Any, job: str) -> None:
    asked = {"count": 2, "seed": 0}
    etags = {
        service.client.get(job, params=asked | other, headers={"Accept": form}).headers["etag"]
        for other in ({}, {"count": 3}, {"seed": 1})
        for form in ("application/json", "application/x-npz")
    }
    assert len(etags) == 6
    answers = [
        service.client.get(job, params=asked, headers={"If-None-Match": etag}).status_code
        for etag in etags
    ]
    assert sorted(answers) == [200] * 5 + [304]


@pytest.mark.parametrize(
    ("query", "name"),
    [("count=0", "count"), ("count=2001", "count"), ("count=many", "count"), ("count=1e9", "count"),
     ("seed=-1", "seed"), ("seed=4294967296", "seed"), ("seed=", "seed"), ("count=NaN", "count")],
)  # fmt: skip
def test_hostile_counts_and_seeds_are_refused_by_name(
    service: Any, job: str, query: str, name: str
) -> None:
    answer = service.client.get(f"{job}?{query}")
    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid-request"
    assert name in json.dumps(answer.json()["errors"])


@pytest.mark.parametrize(
    "body",
    [result({"x": {"x": -1.0}}, {"x,x": {"1": 1.0}}), {"kind": "rolling", "windows": []}],
    ids=["given", "rolling"],
)
def test_a_result_without_errors_has_no_draws(service: Any, body: dict[str, Any]) -> None:
    job_id = service.job()
    service.finish(job_id, json.dumps(body).encode())
    answer = service.client.get(f"/v1/jobs/{job_id}/draws")
    assert (answer.status_code, answer.json()["code"]) == (409, "no-draws")


def test_a_job_without_a_result_and_another_form_are_refused(service: Any, job: str) -> None:
    waiting = service.client.get(f"/v1/jobs/{service.job()}/draws")
    assert (waiting.status_code, waiting.json()["code"]) == (409, "job-not-finished")
    xml = service.client.get(job, headers={"Accept": "application/xml"})
    assert (xml.status_code, xml.json()["code"]) == (406, "not-acceptable")
