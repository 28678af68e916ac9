"""Each kind of job from its record in the store to its result there, in this process."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.kinds import JOB_REQUEST
from storage.stores import Stores
from tests.storage.test_datasets import a_dataset
from worker.jobs.kinds import execute, helper
from worker.queue.tasks import Computation, run_job

STEP = 0.05
IDENTIFICATION = {"kind": "identification", "dataset": "ds_abc", "analysis": {"model_only": True}}


def put(stores: Stores, folder: Path, trajectories: int) -> None:
    """4 000 steps of dX = −X dt + dW by its exact transitions, cut into so many trajectories."""
    states, decay, length = np.zeros((4000, 1)), np.exp(-STEP), 4000 // trajectories
    for n, kick in enumerate(np.random.default_rng(0).normal(0, np.sqrt((1 - decay**2) / 2), 3999)):
        states[n + 1] = decay * states[n] + kick
    segments = np.array([[k * length, (k + 1) * length, k] for k in range(trajectories)])
    for name, array in {
        "states": states,
        "times": STEP * np.arange(4000),
        "segments": segments,
    }.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "original").touch()
    stores.datasets.put("lab", a_dataset(), folder)


def result_of(
    stores: Stores, job: dict[str, Any], fan_out_increments: float = np.inf
) -> dict[str, Any]:
    job_id = stores.jobs.submit("lab", JOB_REQUEST.validate_python(job)).record.id
    computation = Computation(partial(execute, fan_out_increments=fan_out_increments), helper)
    outcome = run_job(job_id, "worker", stores, 30, computation, lambda message: None)
    assert outcome == "succeeded", stores.jobs.get("lab", job_id)
    body = stores.results.get("lab", stores.jobs.result_name("lab", job_id) or "")
    found: dict[str, Any] = json.loads(body or b"")
    return found


def slope(terms: list[dict[str, Any]]) -> tuple[float, float]:
    """The coefficient of x and its standard error."""
    (found,) = (term for term in terms if term["term"] == "x")
    return found["value"], found["std_error"]


@pytest.mark.parametrize("preset", [{}, {"preset": "paper"}])
def test_an_identification_finds_the_drift(
    stores: Stores, tmp_path: Path, preset: dict[str, str]
) -> None:
    put(stores, tmp_path, 8)
    value, error = slope(
        result_of(stores, {**IDENTIFICATION, **preset})["model"]["drift"]["x"]["terms"]
    )
    # The paper's estimator gives no errors; the Cramér–Rao bound is √(2 / 200).
    assert abs(value + 1) < 4 * (error or 0.1)


def test_a_pass_that_is_shared_out_gives_the_same_model(stores: Stores, tmp_path: Path) -> None:
    put(stores, tmp_path, 8)
    alone, shared = (
        slope(result_of(stores, IDENTIFICATION, limit)["model"]["drift"]["x"]["terms"])
        for limit in (np.inf, 500)
    )
    assert shared == pytest.approx(alone, rel=1e-10)
    assert stores.jobs.tally().happened["shard_done"] > 1


def test_windows_and_sets_of_parameters_find_it_too(stores: Stores, tmp_path: Path) -> None:
    put(stores, tmp_path, 1)
    rolled = result_of(
        stores, {"kind": "rolling", "dataset": "ds_abc", "windows": {"count": 2, "share": 0.5}}
    )
    swept = result_of(
        stores,
        {**IDENTIFICATION, "kind": "sweep", "variants": [{"library": {"polynomial_degree": 1}}]},
    )
    for terms in (
        *(window["drift"] for window in rolled["windows"]),
        swept["items"][0]["model"]["drift"]["x"]["terms"],
    ):
        value, error = slope(terms)
        assert abs(value + 1) < 4 * error
