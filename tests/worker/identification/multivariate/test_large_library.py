"""A library of seventy terms far from the origin, on a record as it was published."""

from pathlib import Path

import numpy as np
import pytest

from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.jobs.parameters import settings_of

RECORD = Path(__file__).resolve().parents[5] / "shared" / "data" / "d10_ngrip_10yr.csv"


@pytest.fixture(scope="module")
def ice_core() -> Trajectories:
    """Sodium, calcium, layer thickness and δ18O of ten years each; gaps where one is missing."""
    if not RECORD.is_file():
        pytest.skip("the real records (../shared/data) are not here")
    lines = [
        line.split(",") for line in RECORD.read_text().splitlines() if line and line[0].isdigit()
    ]
    values = np.array([[float(v) if v else np.nan for v in line[1:5]] for line in lines])
    there = np.isfinite(values).all(axis=1)
    stretches = np.split(values, np.flatnonzero(np.diff(there)) + 1)
    return from_arrays([s for s in stretches if np.isfinite(s).all() and len(s) > 1], 10.0)


@pytest.mark.slow
def test_four_variables_of_degree_four_are_identified(ice_core: Trajectories) -> None:
    # As it is, without the five rounds that measurement noise takes.
    asked = IdentificationParameters.model_validate(
        {"sampling_rule": "euler", "measurement_noise": "none"}
    )
    said: list[float] = []
    answer = pipeline.identify(
        ice_core, settings_of(asked), lambda fraction, stage, message: said.append(fraction)
    )
    assert said == sorted(said)
    for component in (*answer.drift.values(), *answer.diffusion.values()):
        sizes = [len(entry.support) for entry in component.path]
        # Of every size one, up to where the terms cannot be told apart on these data.
        assert sizes == list(range(len(sizes)))
        assert len(sizes) > 40
        assert all(np.isfinite(list(entry.coefficients.values())).all() for entry in component.path)
    # Each of the four has noise of its own.
    assert all(answer.diffusion[pair].active() for pair in ("x,x", "y,y", "z,z", "x4,x4"))
