"""One request does everything: the file and the job go together, and the answer is the finished
record."""

import json
import random
from itertools import accumulate

import httpx

from tests.acceptance.jobs import active


def autoregression(n: int = 4000, dt: float = 0.05) -> bytes:
    """dX = −X dt + dW by its Euler steps, as CSV with a time column."""
    source = random.Random(5)
    states = accumulate(
        (source.gauss(0.0, dt**0.5) for _ in range(n)), lambda x, noise: x * (1 - dt) + noise
    )
    return ("t,x\n" + "".join(f"{k * dt:.6g},{x:.9g}\n" for k, x in enumerate(states))).encode()


def test_one_request_with_file_and_job_answers_with_the_finished_record(
    client: httpx.Client,
) -> None:
    response = client.post(
        "/v1/jobs",
        files={"file": ("trap.csv", autoregression(), "text/csv")},
        data={"job": json.dumps({"kind": "identification", "labels": {"experiment": "trap-17"}})},
        headers={"Prefer": "wait=60"},
    )
    assert response.status_code == 200, response.text
    record = response.json()
    assert record["state"] == "succeeded"
    assert record["labels"] == {"experiment": "trap-17"}
    assert record["progress"]["fraction"] == 1
    assert client.get(f"/v1/datasets/{record['dataset']}").json()["label"] == "trap.csv"
    result = client.get(record["links"]["result"]).raise_for_status().json()
    assert result["job"] == record["id"]
    drift = active(result["model"]["drift"]["x"])
    assert [*drift] == ["x"]
    assert abs(drift["x"]["value"] + 1) < 4 * drift["x"]["std_error"]
