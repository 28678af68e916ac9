"""Escape of many models, tested one by one and together."""

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.generator.plane.box.box import make_chart
from worker.generator.plane.box.existence import escape, escapes
from worker.generator.plane.grid import Span
from worker.generator.plane.perturbed_model import DISTANCES, FAR, STEPS
from worker.generator.process import DiffusionProcess
from worker.jobs.parameters import process_of

HALF = 4.0
SPANS = (Span(-HALF, HALF, 0.0, 2.0), Span(-HALF, HALF, 0.0, 2.0))
OPEN = np.array([[-np.inf, np.inf]] * 2)
TAME = {"x": {"x": -1.0, "y": 2.0}, "y": {"x": -2.0, "y": -1.0}}


def model(drift: dict[str, dict[str, float]]) -> DiffusionProcess:
    return process_of(
        ModelTerms.model_validate(
            {"drift": drift, "diffusion": {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}}}
        )
    )


def together(*drifts: dict[str, dict[str, float]]) -> list[bool]:
    processes = [model(drift) for drift in drifts]
    chart = make_chart(processes[0], np.zeros(2), np.eye(2), np.eye(2), free=True)
    found = escapes(chart, processes, SPANS, OPEN, distances=DISTANCES, far=FAR, steps=STEPS)
    for process, at in zip(processes, found, strict=True):
        chart = make_chart(process, np.zeros(2), np.eye(2), np.eye(2), free=True)
        alone = escape(chart, SPANS, OPEN, distances=DISTANCES, far=FAR, steps=STEPS)
        assert (at is None) == (alone is None)
        if at is not None:
            np.testing.assert_array_equal(at, alone)
    return [at is not None for at in found]


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_model_that_turns_outward_within_reach_is_found_among_tame_ones(axis: str) -> None:
    """−x + c x³ runs away from beyond 1/√c; paths start at up to 64 half lengths, 256."""

    def turning(at: float) -> dict[str, dict[str, float]]:
        return TAME | {axis: {axis: -1.0, f"{axis}^3": at**-2}}

    assert together(TAME, turning(6), TAME, turning(200), TAME, turning(1000)) == [
        False,
        True,
        False,
        True,
        False,
        False,
    ]


def test_one_direction_is_enough() -> None:
    """Along the diagonals r' = −r + (0.5 − k) r³/2 with k = 0.4; along the axes −r − k r³."""
    gate = {"x": {"x": -1, "x*y^2": 0.5, "x^3": -0.4}, "y": {"y": -1, "x^2*y": 0.5, "y^3": -0.4}}
    held = {"x": {"x": -1, "x*y^2": 0.5, "x^3": -0.6}, "y": {"y": -1, "x^2*y": 0.5, "y^3": -0.6}}
    assert together(gate, held, gate) == [True, False, True]


def test_oscillators_that_swing_far_out_come_back() -> None:
    van_der_pol = {"x": {"y": 1.0}, "y": {"x": -1.0, "y": 1.0, "x^2*y": -1.0}}
    reversed_damping = {"x": {"y": 1.0}, "y": {"x": -1.0, "y": -1.0, "x^2*y": 1.0}}
    assert together(van_der_pol, reversed_damping) == [False, True]
