"""Paths that bounce off a wall, and those that do not."""

import numpy as np
import pytest
from scipy.signal import lfilter

from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.checks.reflecting_boundaries import find_walls
from worker.identification.data.trajectories import from_arrays
from worker.identification.identified_model import IdentifiedModel
from worker.jobs.parameters import settings_of

INF = np.inf


def _reflected(n: int, a: float, b: float, dt: float, high: float, seed: int) -> np.ndarray:
    """Brownian motion with drift b on [0, high], ten exact steps folded back between samples."""
    noise = np.random.default_rng(seed).standard_normal((n, 10)) * np.sqrt(a * dt / 10)
    x, path = high / 2 if high < INF else 0.5, np.empty(n)
    for k in range(n):
        path[k] = x
        for z in noise[k]:
            x = abs(x + b * dt / 10 + z)
            x = 2 * high - x if x > high else x
    return path


def _answer(x: np.ndarray, dt: float, **parameters: object) -> IdentifiedModel:
    answer = pipeline.identify(
        from_arrays([x], dt),
        settings_of(IdentificationParameters.model_validate(parameters)),
        lambda *_: None,
    )
    return answer


@pytest.mark.parametrize("domain", [{"x": (0.0, 1.0)}, {}])
def test_reflected_brownian_motion_keeps_its_diffusion_and_gets_no_drift(
    domain: dict[str, tuple[float, float]],
) -> None:
    answer = _answer(_reflected(10_000, 0.5, 0.0, 0.001, 1.0, 1), 0.001, domain=domain)
    assert answer.drift["x"].active() == {}
    assert set(answer.diffusion["x,x"].active()) == {"1"}
    # 1.4 % of the increments that are left.
    assert answer.diffusion["x,x"].active()["1"] == pytest.approx(0.5, rel=4 * 0.018)
    assert "wall" in {f.code for f in answer.findings}


def test_a_particle_on_a_floor_falls() -> None:
    answer = _answer(_reflected(10_000, 1.0, -1.0, 0.01, INF, 2), 0.01, domain={"x": (0.0, None)})
    drift = answer.drift["x"].active()
    assert set(drift) == {"1"}
    error = answer.drift["x"].terms[0].std_error
    assert error is not None
    assert abs(drift["1"] + 1.0) < 4 * error


def _ou(theta_dt: float, seed: int, n: int = 20_000) -> np.ndarray:
    rho = np.exp(-theta_dt)
    return np.asarray(
        lfilter([np.sqrt(1 - rho**2)], [1, -rho], np.random.default_rng(seed).standard_normal(n))
    )


@pytest.mark.parametrize("theta_dt", [0.0005, 0.01, 0.3, 1.5])
def test_a_path_that_turns_of_itself_has_no_wall(theta_dt: float) -> None:
    for seed in range(5):
        assert not find_walls(from_arrays([_ou(theta_dt, seed)], 1.0))
        assert not find_walls(
            from_arrays([_ou(theta_dt, seed)], 1.0), (-8.0, 8.0)
        )  # declared, and never reached


def test_noise_that_vanishes_at_the_end_and_values_on_a_grid_are_no_wall() -> None:
    assert not find_walls(
        from_arrays([_ou(0.01, 1) ** 2], 1.0), (0.0, INF)
    )  # a square-root process
    assert not find_walls(from_arrays([np.round(_ou(0.01, 2) * 2) / 2], 1.0))
