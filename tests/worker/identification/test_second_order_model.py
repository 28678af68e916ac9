"""A model of second order in the data's units, from positions alone."""

import numpy as np
import pytest

from tests.worker.identification.second_order.paths import harmonic
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.estimation.setup import Settings
from worker.identification.identified_model import IdentifiedModel
from worker.identification.second_order_model import in_phase_space, second_order_model

K, GAMMA, A = 4.0, 1.0, 1.0
SETTINGS = Settings(dynamics="second-order", polynomial_degree=3)


def identified(data: Trajectories) -> IdentifiedModel:
    return second_order_model(data, SETTINGS, lambda *_: None)


def test_units_of_state_and_time_scale_the_coefficients() -> None:
    record = harmonic(K, GAMMA, A, 0.05, 6000, 1)
    one, other = (
        identified(from_arrays([record], 0.05)),
        identified(from_arrays([1000 * record], 0.05 * 60)),
    )
    b, scaled = one.drift["v"].active(), other.drift["v"].active()
    # A state is 1000 units of another one and a time 60 of another unit.
    assert scaled["x"] == pytest.approx(b["x"] / 3600, rel=1e-6)
    assert scaled["v"] == pytest.approx(b["v"] / 60, rel=1e-6)
    assert other.diffusion["v,v"].active()["1"] == pytest.approx(
        one.diffusion["v,v"].active()["1"] * 1e6 / 60**3, rel=1e-6
    )


def test_the_process_has_the_velocity_for_the_drift_of_the_position() -> None:
    model = identified(from_arrays([harmonic(K, GAMMA, A, 0.05, 6000, 2)], 0.05))
    assert tuple(model.drift) == ("x", "v")
    assert model.order == 2
    states = np.random.default_rng(0).normal(size=(20, 2))
    b, a = model.process.drift(states), model.process.diffusion(states)
    terms = model.drift["v"].active()
    assert b[:, 0] == pytest.approx(states[:, 1])
    assert b[:, 1] == pytest.approx(terms["x"] * states[:, 0] + terms["v"] * states[:, 1])
    assert a[:, 1, 1] == pytest.approx(model.diffusion["v,v"].active()["1"])
    assert not a[:, 0].any()
    assert not a[:, :, 0].any()


def test_two_coordinates_have_forces_of_their_own() -> None:
    pair = [
        np.column_stack(
            [harmonic(K, GAMMA, A, 0.05, 8000, s), harmonic(1, 2, 3, 0.05, 8000, s + 9)]
        )
        for s in (3, 4)
    ]
    model = second_order_model(
        from_arrays(pair, 0.05),
        Settings(dynamics="second-order", polynomial_degree=2),
        lambda *_: None,
    )
    assert tuple(model.drift) == ("x", "y", "vx", "vy")
    assert set(model.drift["vx"].active()) == {"x", "vx"}
    assert set(model.drift["vy"].active()) == {"y", "vy"}
    assert set(model.diffusion) == {"vx,vx", "vx,vy", "vy,vy"}
    assert model.diffusion["vx,vy"].active() == {}


def test_velocities_for_drawing_are_central_secants() -> None:
    times = np.array([0.0, 1.0, 3.0, 4.0])
    data = Trajectories(times[:, None] ** 2, times, np.array([[0, 4, 0]], dtype=np.int64))
    states = in_phase_space(data, (None, None)).states
    assert states.tolist() == [[1.0, 3.0], [9.0, 5.0]]


def codes(states: np.ndarray) -> set[str]:
    return {finding.code for finding in identified(from_arrays([states], 0.05)).findings}


def test_kicks_that_jump_or_remember_each_other_are_named() -> None:
    rng, h, n = np.random.default_rng(1), 0.025, 6000
    assert not codes(harmonic(K, GAMMA, A, 0.05, n, 4)) & {"memory", "heavy-tails"}

    def path(kicks: np.ndarray) -> np.ndarray:
        x = v = 0.0
        out = np.empty(len(kicks))
        for i, kick in enumerate(kicks):
            x += v * h / 2
            v += -(K * x + GAMMA * v) * h + kick
            x += v * h / 2
            out[i] = x
        return out[::2]

    white = np.sqrt(A * h) * rng.standard_normal(2 * n)
    jumps = 2 * rng.standard_normal(2 * n) * (rng.random(2 * n) < 0.5 * h)
    assert "heavy-tails" in codes(path(white + jumps))
    coloured = np.zeros(2 * n)
    for i in range(1, 2 * n):
        coloured[i] = coloured[i - 1] * (1 - h / 0.3) + np.sqrt(h) * rng.standard_normal()
    assert "memory" in codes(path(h * coloured))
