"""One long record over two workers: the same model as from one process, also when one of the two
dies in the middle."""

import io
import signal
import time
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from contract.identification import IdentificationParameters
from tests.acceptance.jobs import MODEL_ONLY, upload
from tests.acceptance.served import finished
from tests.chaos.installation import Installation, Program, installed
from worker import pipeline
from worker.identification.component_fit import ComponentFit
from worker.identification.data.trajectories import Trajectories
from worker.identification.identified_model import IdentifiedModel
from worker.jobs.parameters import settings_of

STEP = 0.05
PARAMETERS: dict[str, Any] = {"library": {"polynomial_degree": 1}, "kernels": {"count": 30}}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    settings = {"ITOSCOPE_FAN_OUT_INCREMENTS": "2000", "ITOSCOPE_WORKER_PROCESSES": "1"}
    with installed(
        tmp_path_factory.mktemp("fan-out") / "i", workers=2, stub=None, settings=settings
    ) as running:
        yield running


@pytest.fixture(scope="module")
def client(installation: Installation) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=installation.url, timeout=70, trust_env=False) as client:
        yield client


@pytest.fixture(scope="module")
def dataset(client: httpx.Client) -> str:
    """100 000 increments of two coupled coordinates."""
    chance = np.random.default_rng(0)
    decay = np.array([[1 - STEP, 0.5 * STEP], [-0.5 * STEP, 1 - STEP]])
    x = np.zeros((100_001, 2))
    for n, kick in enumerate(np.sqrt(STEP) * chance.standard_normal((100_000, 2))):
        x[n + 1] = decay @ x[n] + kick
    file = io.BytesIO()
    np.save(file, x)
    return str(upload(client, file.getvalue(), "application/x-npy", dt=STEP)["id"])


@pytest.fixture(scope="module")
def unsplit(installation: Installation, dataset: str) -> IdentifiedModel:
    """The answer of one process."""
    folder = installation.folder / "data" / "datasets" / "default" / dataset
    data = Trajectories(
        *(np.load(folder / f"{name}.npy") for name in ("states", "times", "segments"))
    )
    answer = pipeline.identify(
        data, settings_of(IdentificationParameters.model_validate(PARAMETERS)), lambda *_: None
    )
    return answer


@pytest.mark.parametrize("killed", ["nobody", "the runner", "the helper"])
def test_a_job_that_is_shared_out_ends_with_the_model_of_one_process(
    installation: Installation,
    client: httpx.Client,
    dataset: str,
    unsplit: IdentifiedModel,
    killed: str,
) -> None:
    job = {"kind": "identification", "dataset": dataset, "parameters": PARAMETERS, **MODEL_ONLY}
    job_id = client.post("/v1/jobs", json=job).raise_for_status().json()["id"]
    begun = wait_for_parts(client, job_id, 3)
    runner, helper = runner_and_helper(installation, job_id)
    victim = {"the runner": runner, "the helper": helper}.get(killed)
    if victim is not None:
        victim.signal_group(signal.SIGKILL)
    record = finished(client, job_id, 60)
    installation.heal()
    assert record["state"] == "succeeded"
    assert record["attempt"] == (2 if victim is runner else 1)
    assert begun.endswith("of 48 parts of the sums")
    model = client.get(f"/v1/jobs/{job_id}/result").raise_for_status().json()["model"]
    for part, components in (("drift", unsplit.drift), ("diffusion", unsplit.diffusion)):
        for name, component in components.items():
            assert values(model[part][name]) == pytest.approx(
                values_of(component), rel=1e-10, abs=0
            )
    end = time.monotonic() + 10
    while parts := list((installation.folder / "data" / "parts").rglob("*.npz")):
        assert time.monotonic() < end, parts
        time.sleep(0.05)


def wait_for_parts(client: httpx.Client, job_id: str, number: int) -> str:
    """What the record's progress says once so many parts are there."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        record = client.get(f"/v1/jobs/{job_id}").raise_for_status().json()
        message = str(record["progress"]["message"])
        if "parts of the sums" in message and int(message.split()[0]) >= number:
            return message
        assert record["state"] in ("queued", "running"), "it ended before it could be disturbed"
        time.sleep(0.02)
    raise AssertionError(f"no {number} parts in time")


def runner_and_helper(installation: Installation, job_id: str) -> tuple[Program, Program]:
    with installation.admin() as admin:
        owner = bytes(admin.hget(f"job:{job_id}", "owner") or b"").decode()
    first, second = installation.workers
    return (first, second) if f"-{first.process.pid}@" in owner else (second, first)


def values(component: dict[str, Any]) -> dict[str, float]:
    return {term["term"]: term["value"] for term in component["terms"] if term["active"]}


def values_of(component: ComponentFit) -> dict[str, float]:
    return component.active()
