"""Numbers of a size that nothing can be computed with are the caller's fault, and said so."""

from typing import Any

import numpy as np
import pytest

from contract.jobs import GeneratorJob
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.errors import ConstantData, InvalidWindows, ValuesOutOfRange
from worker.jobs import generator
from worker.jobs.problems import JobProblem
from worker.jobs.sources import check_sizes
from worker.rolling.windows import moving_windows

WALK = np.random.default_rng(1).normal(size=2000).cumsum()
MODEL = {"drift": {"x": {"x": -1.0}}, "diffusion": {"x,x": {"1": 1.0}}}


@pytest.mark.parametrize(
    ("place", "given"),
    [
        ("domain/x/1", {"domain": {"x": [0, 1e-300]}}),
        ("domain/x/0", {"domain": {"x": [-1e308, 1e308]}}),
        ("domain/x", {"domain": {"x": [1e15, 1e15 + 0.25]}}),
        ("periodic/x", {"periodic": {"x": 1e-300}}),
    ],
)
def test_a_domain_or_period_of_no_usual_size_is_refused_with_its_place(
    place: str, given: dict[str, Any]
) -> None:
    """They ended as internal errors: division by zero, an empty range, infinities."""
    job = GeneratorJob.model_validate({"kind": "generator", "model": {**MODEL, **given}})
    with pytest.raises(JobProblem) as refused, generator.model_of("lab", job, None):  # type: ignore[arg-type]
        pass
    assert [fault.pointer for fault in refused.value.problem.errors] == [f"#/model/{place}"]


def test_usual_sizes_are_let_in() -> None:
    check_sizes("domain", {"x": (0.0, 1e-12), "y": (None, 1e45), "z": (-1e-30, None), "x4": (0, 0)})


@pytest.mark.parametrize("size", [1e300, 1e160, 1e-300])
def test_values_whose_powers_are_no_numbers_are_refused(size: float) -> None:
    with pytest.raises(ValuesOutOfRange, match="powers"):
        measure_scales(from_arrays([size * WALK], 0.1))


@pytest.mark.parametrize("size", [1e45, 1e-25])
def test_other_values_are_not(size: float) -> None:
    scale = measure_scales(from_arrays([WALK], 0.1)).deviation
    assert measure_scales(from_arrays([size * WALK], 0.1)).deviation == pytest.approx(size * scale)


def test_values_that_do_not_vary_are_constant_whatever_their_size() -> None:
    with pytest.raises(ConstantData):
        measure_scales(from_arrays([np.full(2000, 1e200)], 0.1))


@pytest.mark.parametrize("asked", [{"length": 1e-300}, {"length": None, "share": 1e-12}])
@pytest.mark.parametrize("count", [1, 50])
def test_a_window_without_samples_is_refused(count: int, asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidWindows, match="increments"):
        moving_windows(from_arrays([WALK], 0.1), count, asked["length"], asked.get("share", 0.2))
