"""Cycles of forced linear processes against closed forms and a plain integration."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from worker.generator.linear.forced_cycle import (
    forced_cycle,
    multipliers_of,
    response,
    step_times,
)

PERIOD, STEPS = 5.0, 96
OMEGA = 2 * np.pi / PERIOD


def test_a_forced_relaxation_has_the_closed_form() -> None:
    times = step_times(PERIOD, STEPS)
    jacobian = np.broadcast_to([[-1.0]], (STEPS, 2, 1, 1))
    push = 2 * np.sin(OMEGA * times)[..., None]
    cycle = forced_cycle(PERIOD, jacobian, push, np.broadcast_to([[0.5]], (STEPS, 2, 1, 1)))
    assert cycle is not None
    t = PERIOD / STEPS * np.arange(STEPS)
    exact = 2 * (np.sin(OMEGA * t) - OMEGA * np.cos(OMEGA * t)) / (1 + OMEGA**2)
    assert cycle.mean[:, 0] == pytest.approx(exact, abs=1e-6)
    assert cycle.covariance[:, 0, 0] == pytest.approx(np.full(STEPS, 0.25), rel=1e-9)
    assert cycle.multipliers[0].real == pytest.approx(np.exp(-PERIOD), rel=1e-9)
    x = response(np.array([[-1.0]]), np.array([-2j]), OMEGA)[0]
    assert abs(x) == pytest.approx(2 / np.hypot(1, OMEGA))
    assert -np.angle(x / -2j) == pytest.approx(np.arctan(OMEGA))


def test_a_changing_jacobian_agrees_with_a_plain_integration() -> None:
    times = step_times(PERIOD, STEPS)

    def a_of(t: np.ndarray) -> np.ndarray:
        s = np.sin(OMEGA * np.asarray(t))[..., None, None]
        return np.array([[-1.0, 0.7], [-0.7, -0.5]]) + s * np.array([[0.4, 0.0], [0.2, 0.1]])

    push = np.stack([np.cos(OMEGA * times), np.ones_like(times)], axis=-1)
    noise = np.broadcast_to(np.array([[0.5, 0.1], [0.1, 0.2]]), (STEPS, 2, 2, 2))
    cycle = forced_cycle(PERIOD, a_of(times), push, noise)
    assert cycle is not None

    def slope(t: float, z: np.ndarray) -> np.ndarray:
        a, c = a_of(np.array(t)), z[2:].reshape(2, 2)
        mean = a @ z[:2] + np.array([np.cos(OMEGA * t), 1.0])
        return np.append(mean, a @ c + c @ a.T + noise[0, 0])

    late = solve_ivp(slope, (0, 8 * PERIOD), np.zeros(6), rtol=1e-10, atol=1e-12).y[:, -1]
    assert cycle.mean[0] == pytest.approx(late[:2], rel=1e-5)
    assert cycle.covariance[0].ravel() == pytest.approx(late[2:], rel=1e-5)


def test_growing_deviations_have_no_cycle() -> None:
    jacobian = np.broadcast_to([[0.1]], (STEPS, 2, 1, 1))
    push = np.zeros((STEPS, 2, 1))
    assert forced_cycle(PERIOD, jacobian, push, np.ones((STEPS, 2, 1, 1))) is None
    assert multipliers_of(PERIOD, jacobian)[0].real == pytest.approx(np.exp(0.5))
