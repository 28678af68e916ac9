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


def test_values_on_a_grid_are_no_wall() -> None:
    assert not find_walls(from_arrays([np.round(_ou(0.01, 2) * 2) / 2], 1.0))


def _square_root(n_squares: int, rate_dt: float, seed: int) -> np.ndarray:
    """Sum squares of Ornstein–Uhlenbeck paths: b = k(n − x), a = 4kx, exactly.

    It reaches zero, where the noise vanishes: 2b(0)/a′ is n/2.
    """
    return np.sum([_ou(rate_dt / 2, 10 * seed + i, 10_000) ** 2 for i in range(n_squares)], axis=0)


@pytest.mark.parametrize("rate_dt", [0.005, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("n_squares", [1, 2, 3, 4])
def test_noise_that_vanishes_at_an_end_is_no_wall(n_squares: int, rate_dt: float) -> None:
    for seed in range(4):
        data = from_arrays([_square_root(n_squares, rate_dt, seed)], 1.0)
        assert not find_walls(data)
        assert not find_walls(data, (0.0, INF))


@pytest.mark.parametrize("dt", [0.01, 0.02, 0.05])
def test_noise_that_vanishes_at_both_ends_is_no_wall(dt: float) -> None:
    for seed in range(4):
        steps = np.random.default_rng(seed).standard_normal(10_000) * np.sqrt(2 * dt)
        # The sine of a Brownian path: b = −x, a = 2(1 − x²).
        assert not find_walls(from_arrays([np.sin(np.cumsum(steps))], dt))


def test_a_few_jumps_away_from_an_end_are_no_full_speed() -> None:
    """A school of fish whose noise vanishes at the ends, with lost tracks, had walls at both."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = np.sin(np.cumsum(rng.standard_normal(10_000) * np.sqrt(2 * 0.005)))
        lost = rng.random(10_000) < 0.01
        x[lost] = rng.uniform(-1, 1, int(lost.sum()))
        assert not find_walls(from_arrays([x], 0.005))


@pytest.mark.parametrize("dt", [0.001, 0.005])
def test_walls_are_found_at_both_ends(dt: float) -> None:
    walls = find_walls(from_arrays([_reflected(10_000, 0.5, 0.0, dt, 1.0, 4)], dt))
    assert walls.low == pytest.approx(0.0, abs=1e-2)
    assert walls.high == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("dt", [0.001, 0.01, 0.02])
def test_the_wall_of_a_process_that_is_pulled_to_it_is_found(dt: float) -> None:
    # |x| of an Ornstein–Uhlenbeck process is one that is reflected at zero.
    for seed in range(4):
        walls = find_walls(from_arrays([np.abs(_ou(dt, seed))], dt))
        assert np.isfinite(walls.low)
        assert np.isinf(walls.high)


def test_a_square_root_process_at_coarse_steps_keeps_its_drift() -> None:
    # Taken for a wall, zero was cut off, and the drift was −0.2 x².
    found = _answer(_square_root(3, 0.05, 1), 0.05)
    drift, diffusion = found.drift["x"], found.diffusion["x,x"]
    assert set(drift.active()) == {"1", "x"}
    for term, true in zip(drift.terms[:2], (3.0, -1.0), strict=True):
        assert term.std_error is not None
        assert abs(term.value - true) < 4 * term.std_error
    assert diffusion.active() == {"x": pytest.approx(4.0, rel=4 * 0.02)}
