"""`analysis.model_only`: the same model, and nothing read off it."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from pydantic import ValidationError

from contract.datasets import Dataset, DatasetReport, Layout, LengthReport, SamplingReport, Variable
from contract.jobs import IdentificationJob
from contract.kinds import JOB_REQUEST
from contract.results import IdentificationResult
from contract.sweep import SweepJob
from service.requests.submissions import estimated_seconds
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.sums.block_sums import sums_here
from worker.jobs import identification, sweep
from worker.jobs.sources import Record

N, DT = 2000, 0.05
SAMPLING = SamplingReport(median=DT, min=DT, max=DT, jitter=0.0, source="given")
REPORT = DatasetReport(
    format="npy",
    layout=Layout(),
    variables=(Variable(name="x"),),
    n_trajectories=1,
    n_segments=1,
    n_samples=N,
    n_increments=N - 1,
    duration=(N - 1) * DT,
    lengths=LengthReport(min=N, median=N, max=N),
    dt=SAMPLING,
    range=((-4.0, 4.0),),
)
DATASET = Dataset(
    id="ds_a", created_at=datetime.now(UTC), sha256="0" * 64, bytes=8 * N, report=REPORT
)


def quiet(*_: object) -> None:
    """No progress."""


@pytest.fixture(scope="module")
def record() -> Trajectories:
    """An Ornstein-Uhlenbeck process."""
    decay, noise, x = np.exp(-DT), np.random.default_rng(0).standard_normal(N), np.zeros(N)
    for k in range(1, N):
        x[k] = decay * x[k - 1] + np.sqrt(1 - decay**2) * noise[k]
    return from_arrays([x], DT)


def answered(data: Trajectories, **analysis: object) -> IdentificationResult:
    job = JOB_REQUEST.validate_python(
        {"kind": "identification", "dataset": "ds_a", "analysis": analysis}
    )
    assert isinstance(job, IdentificationJob)
    source = Record(DATASET, data)
    made = identification.describe(
        "job_a", job, source, identification.compute(job, source, quiet, sums_here), 0.1
    )
    return IdentificationResult.model_validate(json.loads(made.model_dump_json(by_alias=True)))


@pytest.mark.slow
def test_the_model_is_that_of_the_whole_analysis_and_nothing_is_read_off_it(
    record: Trajectories,
) -> None:
    whole, alone = (
        answered(record, confidence=0.9),
        answered(record, confidence=0.9, model_only=True),
    )
    for part in ("data", "model", "selection", "curves", "observed"):
        assert getattr(alone, part) == getattr(whole, part)
    assert whole.generator.ergodic is True
    assert whole.generator.spectrum is not None
    assert alone.generator.ergodic is None
    assert alone.generator.reason is not None
    unset = {"ergodic": None, "reason": None}
    assert alone.generator.model_copy(update=unset) == type(alone.generator)(ergodic=None)
    assert alone.diagnostics.residuals == whole.diagnostics.residuals
    assert not alone.diagnostics.chapman_kolmogorov
    assert alone.diagnostics.comparison_reason == alone.generator.reason
    assert alone.provenance.analysis["model_only"] is True


def test_covariances_are_in_the_units_of_the_data(record: Trajectories) -> None:
    changed = Trajectories(1e3 * record.states, 60.0 * record.times, record.segments)
    plain, scaled = (answered(data, model_only=True).model for data in (record, changed))
    for function, factor in (("drift", 1 / 60.0), ("diffusion", 1e6 / 60.0)):
        for key, component in getattr(plain, function).items():
            (error,) = (term.std_error for term in component.terms if term.active)
            assert component.covariance == ((pytest.approx(error**2, rel=1e-9),),)
            ((variance,),) = getattr(scaled, function)[key].covariance
            assert variance == pytest.approx((factor * error) ** 2, rel=1e-6)


def test_a_sweep_of_models_alone(record: Trajectories) -> None:
    job = JOB_REQUEST.validate_python(
        {
            "kind": "sweep",
            "dataset": "ds_a",
            "variants": [{}, {"sampling_rule": "euler"}],
            "analysis": {"model_only": True},
        }
    )
    assert isinstance(job, SweepJob)
    source = Record(DATASET, record)
    for item in sweep.describe(
        "job_a", job, source, sweep.compute(job, source, quiet, sums_here), 0.1
    ).items:
        assert item.model is not None
        assert item.model.drift["x"].expression
        assert item.generator is not None
        assert item.generator.ergodic is None


@pytest.mark.parametrize(
    "asked",
    [
        {"passages": [{"from": -1, "to": 1}]},
        {"committors": [{"from": -1, "to": 1}]},
        {"exits": [{"from": 0, "low": -1, "high": 1}]},
        {"eigenfunctions": True},
        {"reflecting_ends": True},
    ],
)
def test_what_would_have_to_be_read_off_it_is_refused_by_name(asked: dict[str, object]) -> None:
    job = {"kind": "identification", "dataset": "ds_a", "analysis": asked}
    JOB_REQUEST.validate_python(job)
    with pytest.raises(ValidationError, match=f"omit {next(iter(asked))}"):
        JOB_REQUEST.validate_python(job | {"analysis": asked | {"model_only": True}})


def test_a_generator_job_is_the_analysis() -> None:
    model = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}
    with pytest.raises(ValidationError, match=r"omit analysis\.model_only"):
        JOB_REQUEST.validate_python(
            {"kind": "generator", "model": model, "analysis": {"model_only": True}}
        )


def test_it_is_expected_to_take_less() -> None:
    whole, alone = (
        estimated_seconds(
            JOB_REQUEST.validate_python(
                {"kind": "identification", "dataset": "ds_a", "analysis": {"model_only": only}}
            ),
            (DATASET,),
        )
        for only in (False, True)
    )
    assert alone < whole / 2
