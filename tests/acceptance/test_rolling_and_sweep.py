"""A window moved along a record, and several sets of parameters on one, over HTTP."""

from pathlib import Path

import httpx
import pytest

from tests.acceptance.jobs import result_of, upload

ROOT = Path(__file__).resolve().parents[2]


def test_windows_of_a_stationary_record_agree_and_the_document_is_the_schema_s(
    client: httpx.Client,
) -> None:
    record = upload(client, (ROOT / "examples" / "double_well.csv").read_bytes(), "text/csv")
    result = result_of(
        client, {"kind": "rolling", "dataset": record["id"], "windows": {"count": 4, "share": 0.25}}
    )
    windows = result["windows"]
    assert [
        window["gap"]["value"] == pytest.approx(1 / window["relaxation_time"]["value"])
        for window in windows
    ] == [True] * 4
    assert all(
        window["gap"]["ci"][0] < window["gap"]["value"] < window["gap"]["ci"][1]
        for window in windows
    )
    assert {term["term"] for term in windows[0]["drift"]} == {"x", "x^3"}
    assert abs(result["trend"]["z"]) < 3
    assert result["trend"]["n_windows"] == 4
    assert not [warning for warning in result["warnings"] if warning["code"].startswith("gap-")]


def test_a_rolling_job_of_two_variables_says_what_to_do(client: httpx.Client) -> None:
    record = upload(
        client,
        b"x,y\n" + b"\n".join(b"%d,%d" % (n % 7, n % 5) for n in range(200)),
        "text/csv",
        dt=1.0,
    )
    unsuitable = client.post("/v1/jobs", json={"kind": "rolling", "dataset": record["id"]})
    assert (unsuitable.status_code, unsuitable.json()["errors"][0]["pointer"]) == (422, "#/dataset")
    assert "rolling windows need one variable, and the dataset has 2: x, y" in unsuitable.text
    assert "state_columns=x" in unsuitable.json()["hints"][0]
    refused = client.post(
        "/v1/jobs",
        json={"kind": "rolling", "dataset": record["id"], "parameters": {"estimator": "paper"}},
    )
    assert refused.status_code == 422
    assert "efficient estimator" in refused.text


def test_a_sweep_answers_for_every_set(client: httpx.Client) -> None:
    record = upload(client, (ROOT / "examples" / "double_well.csv").read_bytes(), "text/csv")
    variants = [{"selection": {"method": "stlsq"}}, {"kernels": {"range": [40, 50]}}]
    result = result_of(client, {"kind": "sweep", "dataset": record["id"], "variants": variants})
    good, bad = result["items"]
    assert good["parameters"] == variants[0]
    assert {term["term"] for term in good["model"]["drift"]["x"]["terms"] if term["active"]} == {
        "x",
        "x^3",
    }
    assert bad["model"] is None
    assert bad["error"]["code"] == "no-data-under-kernels"
    wrong = {"kind": "sweep", "dataset": record["id"], "variants": [{"periodic": {"y": 1}}]}
    assert (
        client.post("/v1/jobs", json=wrong).json()["errors"][0]["pointer"]
        == "#/variants/0/periodic/y"
    )


def test_a_sweep_has_a_report(client: httpx.Client) -> None:
    record = upload(client, (ROOT / "examples" / "double_well.csv").read_bytes(), "text/csv")
    job = {
        "kind": "sweep",
        "dataset": record["id"],
        "variants": [{}, {"kernels": {"range": [40, 50]}}],
    }
    done = client.post("/v1/jobs", json=job, headers={"Prefer": "wait=60"}).json()
    report = client.get(f"/v1/jobs/{done['id']}/report")
    assert report.status_code == 200
    assert "No sample lies under any kernel" in report.text
    assert "x^3" in report.text
