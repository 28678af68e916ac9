"""A folder of records in one request: a job and a row for each, by a real worker."""

import csv
import io
import time
import zipfile
from typing import Any

import httpx
import numpy as np
import pytest

from tests.acceptance.jobs import MODEL_ONLY, upload

N_RECORDS, N_SAMPLES, DT = 20, 600, 0.1
TOO_SHORT = 7
"""Number of the record that has too few samples for a model."""


def series(number: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """An Ornstein-Uhlenbeck process, exactly sampled."""
    rng, decay = np.random.default_rng(number), np.exp(-DT)
    n = 30 if number == TOO_SHORT else N_SAMPLES
    steps = rng.standard_normal(n) * np.sqrt((1 - decay**2) / 2)
    x = np.zeros(n)
    for k in range(1, n):
        x[k] = decay * x[k - 1] + steps[k]
    return x


def text_of(number: int) -> str:
    rows = (f"{k * DT:.1f},{x!r}" for k, x in enumerate(series(number).tolist()))
    return "t,x\n" + "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def dataset(client: httpx.Client) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(N_RECORDS):
            archive.writestr(f"trap-{number:02}.csv", text_of(number))
    return str(upload(client, packed.getvalue(), "application/zip")["id"])


def ended(client: httpx.Client, batch: dict[str, Any], seconds: float = 120.0) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while batch["counts"]["queued"] + batch["counts"]["running"]:
        assert time.monotonic() < deadline, batch["counts"]
        answer = client.get(f"/v1/batches/{batch['id']}", headers={"Prefer": "wait=20"})
        batch = answer.raise_for_status().json()
    return batch


@pytest.fixture(scope="module")
def batch(client: httpx.Client, dataset: str) -> dict[str, Any]:
    job = {"kind": "identification", **MODEL_ONLY}
    answer = client.post("/v1/batches", json={"dataset": dataset, "job": job})
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json())


def test_every_record_has_its_model_or_the_reason_for_none(batch: dict[str, Any]) -> None:
    assert (batch["counts"]["succeeded"], batch["counts"]["failed"]) == (N_RECORDS - 1, 1)
    assert [row["record"] for row in batch["rows"]] == [f"trap-{k:02}" for k in range(N_RECORDS)]
    short = batch["rows"][TOO_SHORT]
    assert (short["state"], short["error"]["code"]) == ("failed", "too-few-samples")
    assert {row["attempt"] for row in batch["rows"]} == {1}
    rates = [row["values"].get("drift.x:x") for row in batch["rows"] if row["state"] == "succeeded"]
    found = np.array([rate for rate in rates if rate is not None])
    # Rate 1 with a standard error of √(2/T) = 0.18 in each of 19 records: four of the mean's.
    assert len(found) >= N_RECORDS - 3
    assert abs(found.mean() + 1) < 4 * 0.18 / np.sqrt(len(found)) + 0.05


def test_a_row_is_that_of_a_record_of_its_own(client: httpx.Client, batch: dict[str, Any]) -> None:
    # Its scales, its kernels and its model are those of the trajectory, not of its neighbours.
    alone = upload(client, text_of(3).encode(), "text/csv")["id"]
    single = client.post(
        "/v1/batches", json={"datasets": [alone], "job": {"kind": "identification", **MODEL_ONLY}}
    ).json()
    (row,) = ended(client, single)["rows"]
    other = batch["rows"][3]["values"]
    assert row["values"].keys() == other.keys()
    for name, value in row["values"].items():
        number = isinstance(value, float)
        assert (value == pytest.approx(other[name], rel=1e-9)) if number else value == other[name]


def test_the_values_are_those_of_the_result(client: httpx.Client, batch: dict[str, Any]) -> None:
    row = batch["rows"][0]
    result = client.get(f"/v1/jobs/{row['job']}/result").raise_for_status().json()
    assert (result["data"]["n_trajectories"], result["data"]["n_increments"]) == (1, N_SAMPLES - 1)
    assert row["values"]["drift.x"] == result["model"]["drift"]["x"]["expression"]
    for component, terms in (("drift.x", result["model"]["drift"]["x"]["terms"]),):
        for term in terms:
            if term["active"]:
                name = f"{component}:{term['term']}"
                assert row["values"][name] == term["value"]
                assert row["values"][f"{name}:std_error"] == term["std_error"]
    table = client.get(f"/v1/batches/{batch['id']}", params={"format": "csv"}).text
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [one["record"] for one in rows] == [one["record"] for one in batch["rows"]]
    assert float(rows[0]["diffusion.x,x:1"]) == row["values"]["diffusion.x,x:1"]


def test_what_failed_fails_again_in_a_new_job(client: httpx.Client, batch: dict[str, Any]) -> None:
    retried = client.post(f"/v1/batches/{batch['id']}/retry").raise_for_status().json()
    after = ended(client, retried)
    assert after["counts"] == batch["counts"]
    whole = client.get(f"/v1/batches/{batch['id']}").json()["rows"]
    changed = [
        one["number"] for one, other in zip(whole, batch["rows"], strict=True)
        if one["job"] != other["job"]
    ]  # fmt: skip
    assert changed == [TOO_SHORT]


def test_trajectories_that_do_not_lie_side_by_side_are_read_as_one_record(
    client: httpx.Client, dataset: str
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in (2, 5):
            archive.writestr(f"trap-{number:02}.csv", text_of(number))
    both = upload(client, packed.getvalue(), "application/zip")["id"]
    job = {"kind": "identification", **MODEL_ONLY}
    apart = {**job, "dataset": dataset, "trajectories": [5, 2]}
    together = {**job, "dataset": both}
    found = []
    for asked in (apart, together):
        record = client.post("/v1/jobs", json=asked, headers={"Prefer": "wait=60"}).json()
        result = client.get(f"/v1/jobs/{record['id']}/result").raise_for_status().json()
        found.append((result["model"], result["data"]))
    assert found[0] == found[1]
