"""One machine loses power in the middle of fifty jobs, and goes on where it was."""

import signal
from pathlib import Path

import httpx
import pytest

from standalone.preflight import free_port
from tests.acceptance.served import Served, descendants, finished, gone_within

JOBS = 50


def rate(number: int) -> float:
    """Of the process that the job asks about."""
    return 0.5 + 0.1 * number


def submit(client: httpx.Client, number: int) -> str:
    model = {"drift": {"x": {"x": -rate(number)}}, "diffusion": {"x,x": {"1": 1}}}
    body = {"kind": "generator", "model": model, "analysis": {"eigenpairs": 1}}
    answer = client.post("/v1/jobs", json=body, headers={"Idempotency-Key": f"job {number}"})
    return str(answer.raise_for_status().json()["id"])


def test_standalone_killed_in_the_middle_of_fifty_jobs_ends_all_of_them_right_after_its_next_start(
    tmp_path: Path,
) -> None:
    port = free_port()
    settings = {"ITOSCOPE_LEASE_SECONDS": "3"}
    served = Served(tmp_path / "data", port, settings).wait_until_ready()
    with served.client() as client:
        upload = {
            "content": "x\n" + "\n".join(f"{k % 7}" for k in range(50)),
            "headers": {"Content-Type": "text/csv"},
        }
        dataset = client.post("/v1/datasets", params={"dt": 1}, **upload).raise_for_status().json()
        jobs = [submit(client, number) for number in range(JOBS)]
        assert finished(client, jobs[3])["state"] == "succeeded"
        early = client.get(f"/v1/jobs/{jobs[0]}/result").content
        states = [client.get(f"/v1/jobs/{job}").json()["state"] for job in jobs]
        assert "queued" in states, "all were done before the power went"
    family = {served.process.pid, *descendants(served.process.pid)}
    served.stop(signal.SIGKILL)
    assert gone_within(20, family)

    served = Served(tmp_path / "data", port, settings).wait_until_ready()
    try:
        with served.client() as client:
            for number, job in enumerate(jobs):
                assert finished(client, job, 120)["state"] == "succeeded"
                result = client.get(f"/v1/jobs/{job}/result").raise_for_status().json()
                assert result["generator"]["spectrum"]["eigenvalues"][0]["re"] == pytest.approx(
                    rate(number), rel=1e-6
                )
            assert client.get(f"/v1/jobs/{jobs[0]}/result").content == early
            assert client.get(f"/v1/datasets/{dataset['id']}").json() == dataset
            assert len(client.get("/v1/jobs", params={"limit": 200}).json()["items"]) == JOBS
    finally:
        served.stop()
