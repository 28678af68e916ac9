"""A plan from a measured record to a report, over HTTP."""

from pathlib import Path

import httpx
import pytest

from tests.acceptance.jobs import MODEL_ONLY, result_of, upload

ROOT = Path(__file__).resolve().parents[2]
OU = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 2}}}


def test_a_model_that_was_identified_is_planned_for(client: httpx.Client) -> None:
    rows = (ROOT / "examples" / "double_well.csv").read_bytes().splitlines()[:5000]
    record = upload(client, b"\n".join(rows), "text/csv")
    model = result_of(client, {"kind": "identification", "dataset": record["id"], **MODEL_ONLY})
    target = {"quantity": "passage", "precision": 0.05}
    plan = result_of(client, {"kind": "plan", "model": {"job": model["job"]}, "target": target})
    assert plan["assumed_model"]["drift"]["x"]["expression"]
    assert plan["quantity"]["from"] != plan["quantity"]["to"]
    best = plan["best"]
    assert best["samples"] == pytest.approx(best["duration"] / best["dt"], abs=2)
    assert plan["check"]["claimed"] == pytest.approx(plan["check"]["predicted"], rel=0.3)
    assert "not accounted for" in plan["message"]

    report = client.get(f"/v1/jobs/{plan['job']}/report").text
    assert plan["message"].split(".")[0] in report
    for heading in ("Sampling intervals", "Coefficients by this plan", "Simulated records"):
        assert heading in report

    again = {"kind": "plan", "model": {"job": plan["job"]}, "target": target}
    refused = client.post("/v1/jobs", json=again)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "#/model/job")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": {"quantity": "coefficient"}}, "needs component and term"),
        ({"target": {"quantity": "passage", "from": 1}}, "both from and to"),
        ({"target": {"quantity": "passage", "from": 1, "to": 1}}, "two different states"),
        ({"target": {"quantity": "relaxation_time", "term": "x"}}, "has no term"),
        ({"target": {"quantity": "relaxation_time", "precision": 0}}, "greater than 0"),
        (
            {"target": {"quantity": "difference", "component": "x", "term": "x"}},
            "needs other",
        ),
        ({"start": 1.0}, "start needs trajectory_duration"),
        ({"noise": -0.1}, "greater than or equal to 0"),
        ({"dt": [0.0]}, "greater than 0"),
        ({"dt": [0.1] * 51}, "50"),
        ({"max_duration": 0}, "greater than 0"),
        ({"model": {"job": "job_none"}}, "there is no such job"),
        ({"dataset": "ds_1"}, "dataset"),
    ],
)
def test_a_plan_that_says_too_little_or_too_much_is_refused(
    client: httpx.Client, change: dict, words: str
) -> None:
    job = {"kind": "plan", "model": OU, "target": {"quantity": "relaxation_time"}, **change}
    refused = client.post("/v1/jobs", json=job)
    assert refused.status_code == 422
    assert words in refused.text
