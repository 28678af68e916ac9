"""Service and worker share nothing but Redis and a bucket."""

from pathlib import Path

import numpy as np

from standalone.preflight import free_port
from tests.acceptance.jobs import MODEL_ONLY, upload
from tests.acceptance.served import Served, finished


def test_a_job_runs_where_datasets_and_results_are_in_an_object_store(
    bucket: str, tmp_path: Path
) -> None:
    served = Served(tmp_path / "data", free_port(), {"ITOSCOPE_BLOB_URL": bucket})
    noise = np.random.default_rng(5).normal(size=4000)
    states = [0.0]
    for step in noise:
        states.append(0.95 * states[-1] + 0.2 * step)
    try:
        with served.wait_until_ready().client() as client:
            record = "\n".join(["x", *(f"{x:.6f}" for x in states)])
            dataset = upload(client, record.encode(), "text/csv", dt=0.05)
            asked = {"kind": "identification", "dataset": dataset["id"], **MODEL_ONLY}
            job = client.post("/v1/jobs", json=asked).raise_for_status().json()
            assert finished(client, job["id"])["state"] == "succeeded"
            result = client.get(f"/v1/jobs/{job['id']}/result").raise_for_status().json()
            assert result["model"]["drift"]["x"]["expression"].startswith("-")
            assert client.delete(f"/v1/datasets/{dataset['id']}").status_code == 204
            assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    finally:
        served.stop()
    kept = [
        path
        for name in ("datasets", "results")
        for path in (tmp_path / "data" / name).rglob("*")
        if path.is_file()
    ]
    assert kept == [], "nothing is in the data folder"
