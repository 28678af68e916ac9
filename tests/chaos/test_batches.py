"""A killed worker costs a batch nothing: every record has its result, and none has two."""

import random
import time
from collections import Counter
from pathlib import Path

import httpx

from contract.results import GeneratorResult
from tests.chaos.faults import kill_a_worker
from tests.chaos.installation import LEASE, installed
from tests.chaos.stub import answer_to

RECORDS = 20
TABLE = "track,t,x\n" + "".join(
    f"{track},{k},{(7 * k + track) % 5}\n" for track in range(RECORDS) for k in range(8)
)


def test_every_record_of_a_batch_has_one_result_though_the_worker_is_killed(tmp_path: Path) -> None:
    with (
        installed(tmp_path / "installation", workers=1) as installation,
        httpx.Client(base_url=installation.url, timeout=30, trust_env=False) as client,
    ):
        dataset = client.post(
            "/v1/datasets", content=TABLE, headers={"Content-Type": "text/csv"}
        ).json()["id"]
        labels = {"question": "why", "seconds": "0.2"}
        body = {"dataset": dataset, "job": {"kind": "identification", "labels": labels}}
        batch = client.post("/v1/batches", json=body).raise_for_status().json()
        assert batch["n_records"] == RECORDS
        address, killed, end = f"/v1/batches/{batch['id']}", False, time.monotonic() + LEASE + 60
        while batch["counts"]["queued"] + batch["counts"]["running"]:
            assert time.monotonic() < end, batch["counts"]
            if not killed and batch["counts"]["succeeded"] >= 3 and batch["counts"]["running"]:
                kill_a_worker(installation, random.Random(1))
                killed = True
            time.sleep(0.1)
            batch = client.get(address, params={"limit": 200}).raise_for_status().json()
        assert killed
        assert batch["counts"]["succeeded"] == RECORDS
        jobs = [row["job"] for row in batch["rows"]]
        assert len(set(jobs)) == RECORDS
        assert len(client.get("/v1/jobs", params={"limit": 200}).json()["items"]) == RECORDS
        for job_id in jobs:
            body = client.get(f"/v1/jobs/{job_id}/result").raise_for_status().content
            answer = GeneratorResult.model_validate_json(body).provenance.parameters["answer"]
            assert answer == answer_to("why")
            ends = [e for e in installation.jobs.events("default", job_id) or () if e.progress]
            assert sum(event.state == "succeeded" for event in ends) == 1
        runs = Counter((tmp_path / "installation" / "runs").read_text().split()[::2])
        assert set(runs) == set(jobs)
        assert max(runs.values()) <= 2, "two processes were killed, and what they did is done again"
