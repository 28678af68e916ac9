"""Records that are no stationary first-order diffusion, and one that is."""

import numpy as np
import pytest

from worker.identification import answers
from worker.identification.errors import IndependentSamples, SecondOrderDynamics
from worker.identification.fitting import Problem
from worker.identification.kernels import make_kernels
from worker.identification.library import make_library
from worker.identification.memory import check_consecutive_samples
from worker.identification.trajectories import block_edges, chunks, from_arrays, measure_scales


def _codes(x: np.ndarray, dt: float) -> set[str]:
    data = from_arrays(list(np.atleast_2d(x)), dt)
    scales = measure_scales(data)
    answer = answers.by_efficient_estimator(Problem(data, scales, make_library(scales), make_kernels(scales)), n_draws=0)
    return {f.code for f in answer.findings}


def _ou(n: int, theta_dt: float, seed: int) -> np.ndarray:
    noise, rho = np.random.default_rng(seed).standard_normal(n), np.exp(-theta_dt)
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    return x


@pytest.mark.parametrize(("rho", "word"), [(-0.5, "alternates"), (0.0, "independent")])
def test_alternating_and_independent_samples_are_refused(rho: float, word: str) -> None:
    noise, x = np.random.default_rng(0).standard_normal(20_000), np.zeros(20_000)
    for n in range(1, len(x)):
        x[n] = rho * x[n - 1] + noise[n]
    data = from_arrays([x], 1.0)
    scales = measure_scales(data)
    with pytest.raises(IndependentSamples, match=word):
        check_consecutive_samples(chunks(data, scales, block_edges(data, 1)), scales)


def test_a_right_model_raises_no_warning() -> None:
    assert _codes(_ou(40_000, 0.02, 1), 0.02) == set()


def test_the_position_of_an_inertial_process_is_refused() -> None:
    x, v, noise = -1.0, 0.0, np.random.default_rng(0).standard_normal(200_000)
    path = []
    for n, z in enumerate(noise):
        x, v = x + 0.002 * v, v + 0.002 * (x - x**3 - v) + np.sqrt(0.6 * 0.002) * z
        if n % 10 == 0:
            path.append(x)
    with pytest.raises(SecondOrderDynamics, match="underdamped"):
        _codes(np.array(path), 0.02)


def test_measurement_noise_is_named_with_its_variance() -> None:
    x = 0.7 * _ou(60_000, 0.01, 2)
    data = from_arrays([x + 0.1 * np.random.default_rng(5).standard_normal(x.size)], 0.01)
    scales = measure_scales(data)
    answer = answers.by_efficient_estimator(Problem(data, scales, make_library(scales), make_kernels(scales)), n_draws=0)
    assert "measurement-noise" in {f.code for f in answer.findings}
    # √(2/n) of the noise's variance, times three where the increments' own noise is as large: 2 %; four times that.
    assert answer.noise_variance == pytest.approx(0.01, rel=0.08)


def test_jumps_show_as_heavy_tails() -> None:
    x, generator = _ou(40_000, 0.02, 3), np.random.default_rng(4)
    jumps = np.cumsum(generator.normal(0, 1, x.size) * (generator.uniform(size=x.size) < 0.002))
    assert "heavy-tails" in _codes(x + np.exp(-0.02 * np.arange(x.size) % 1) * jumps, 0.02)


def test_a_moving_baseline_is_a_trend() -> None:
    x = _ou(30_000, 0.02, 5)
    assert "trend" in _codes(x + np.linspace(0, 20, x.size), 0.02)


def test_a_hidden_slow_variable_is_memory() -> None:
    assert "memory" in _codes(_ou(60_000, 0.25, 6) + _ou(60_000, 0.0025, 7), 0.05)


def test_a_random_walk_has_no_significant_drift() -> None:
    assert "no-significant-drift" in _codes(np.cumsum(np.random.default_rng(8).standard_normal(3_000)), 1.0)


def test_a_deterministic_record_is_said_to_have_no_noise() -> None:
    t = np.arange(0, 8, 0.01)
    assert "no-noise" in _codes(np.round([x0 * np.exp(-t) for x0 in (2.0, -1.5, 1.0)], 6), 0.01)


def test_coarse_samples_and_quantised_values_are_named() -> None:
    assert _codes(_ou(20_000, 1.0, 9), 1.0) & {"coarse-sampling", "simpson-rule"}
    assert "quantised" in _codes(np.round(_ou(60_000, 0.001, 10), 1), 0.001)
