"""Records that are no stationary first-order diffusion, and one that is."""

from functools import partial

import numpy as np
import pytest
from scipy.signal import lfilter

from worker.identification.checks.markov_tests import (
    STAGES,
    _stretches,
    check_consecutive_samples,
    score_sums,
    stage_of,
)
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import (
    Trajectories,
    block_edges,
    chunks,
    from_arrays,
    longest_duration,
    measure_scales,
)
from worker.identification.data.windows import Space
from worker.identification.errors import IndependentSamples, SecondOrderDynamics
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.problem import Problem
from worker.identification.estimation.setup import Settings
from worker.identification.identified_model import identified_model
from worker.identification.sums.kernels import make_kernels
from worker.identification.sums.rules import TRAPEZOID


def _codes(x: np.ndarray, dt: float) -> set[str]:
    data = from_arrays(list(np.atleast_2d(x)), dt)
    answer = identified_model(data, Settings(), lambda *progress: None)
    return {f.code for f in answer.findings}


def _ou(n: int, theta_dt: float, seed: int) -> np.ndarray:
    noise, rho = np.random.default_rng(seed).standard_normal(n), np.exp(-theta_dt)
    noise[0] = 0
    return np.asarray(lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise))


@pytest.mark.parametrize(("rho", "word"), [(-0.5, "alternates"), (0.0, "independent")])
def test_alternating_and_independent_samples_are_refused(rho: float, word: str) -> None:
    noise, x = np.random.default_rng(0).standard_normal(20_000), np.zeros(20_000)
    for n in range(1, len(x)):
        x[n] = rho * x[n - 1] + noise[n]
    data = from_arrays([x], 1.0)
    scales = measure_scales(data)
    with pytest.raises(IndependentSamples, match=word):
        check_consecutive_samples(chunks(data, scales, block_edges(data, 1)), scales)
    with pytest.raises(IndependentSamples, match="samples of variable y") as caught:
        check_consecutive_samples(chunks(data, scales, block_edges(data, 1)), scales, "y")
    assert "Leave variable y out" in caught.value.hints[0]


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
    answer = identified_model(data, Settings(), lambda *progress: None)
    assert "measurement-noise" in {f.code for f in answer.findings}
    # √(2/n) of the noise's variance, times three where the increments' own noise is as large: 2 %;
    # four times that.
    assert answer.noise_variances["x"] == pytest.approx(0.01, rel=0.08)


def test_jumps_show_as_heavy_tails() -> None:
    x, generator = _ou(40_000, 0.02, 3), np.random.default_rng(4)
    jumps = np.cumsum(generator.normal(0, 1, x.size) * (generator.uniform(size=x.size) < 0.002))
    assert "heavy-tails" in _codes(x + np.exp(-0.02 * np.arange(x.size) % 1) * jumps, 0.02)


def test_a_moving_baseline_is_a_trend() -> None:
    x = _ou(30_000, 0.02, 5)
    assert "trend" in _codes(x + np.linspace(0, 20, x.size), 0.02)


def test_a_drift_that_stiffens_halfway_is_no_stationary_record() -> None:
    softer, stiffer = (
        np.sqrt(2) * _ou(15_000, 0.01, 11),
        0.5 * _ou(15_000, 0.08, 12),
    )  # the same diffusion, 4 and 32 × 0.02
    assert "trend" in _codes(np.concatenate([softer, stiffer]), 0.02)


def test_noise_that_grows_halfway_is_no_stationary_record() -> None:
    codes = _codes(np.concatenate([_ou(10_000, 0.02, 13), 1.2 * _ou(10_000, 0.02, 14)]), 0.02)
    assert "noise-changes" in codes
    assert "trend" not in codes


def test_a_season_longer_than_the_relaxation_is_memory_or_trend() -> None:
    season = 2 * np.sin(2 * np.pi * np.arange(20_000) / 2_000)
    assert _codes(_ou(20_000, 0.02, 15) + season, 0.02) & {"memory", "trend"}


def test_a_step_of_the_baseline_is_no_second_well() -> None:
    assert "trend" in _codes(_ou(20_000, 0.02, 16) + 6 * (np.arange(20_000) > 10_000), 0.02)


def test_the_clock_of_a_record_in_pieces_goes_on_across_the_gaps() -> None:
    # Flat within each piece: only from piece to piece does the baseline rise.
    x, piece = _ou(30_000, 0.02, 17), np.arange(30_000) // 1_500
    times, starts = np.arange(30_000) * 0.02, np.arange(0, 30_000, 1_500)
    segments = np.stack([starts, starts + 1_500, np.zeros(20)], axis=1).astype(np.int64)
    data = Trajectories((x + 0.5 * piece)[:, None], times, segments)
    answer = identified_model(data, Settings(), lambda *progress: None)
    assert "trend" in {f.code for f in answer.findings}


def test_stages_of_stationary_records_agree_as_often_as_chance_says() -> None:
    z = []
    for seed in range(8):
        data = from_arrays([_ou(4_000, 0.05, 100 + seed)], 0.05)
        scales = measure_scales(data)
        found = identify(
            Problem(data, Space((scales,), (None,)), make_library((scales,)), make_kernels(scales)),
            "trapezoid",
            "none",
        )
        b, a = found.drift[0].estimate.internal, found.diffusion[0, 0].estimate.internal
        walk = chunks(data, scales, block_edges(data, 1))
        longest = longest_duration(data) / scales.time
        library, stage = make_library((scales,)), partial(stage_of, longest=longest)
        scores = score_sums(walk, TRAPEZOID, library, b, a, stage).tests(a, a)
        assert scores.drift_stages is not None
        assert scores.noise_stages is not None
        z += [scores.drift_stages.z, scores.noise_stages.z]
    # Standard normal: of 16 values the mean is within 4/√16, one above 4 has a chance of 0.05 %.
    assert abs(np.mean(z)) < 4 / np.sqrt(16)
    assert np.max(z) < 4


def test_a_hidden_slow_variable_is_memory() -> None:
    assert "memory" in _codes(_ou(60_000, 0.25, 6) + _ou(60_000, 0.0025, 7), 0.05)


def test_jumps_that_drown_the_diffusion_are_heavy_tails() -> None:
    cauchy = np.random.default_rng(20).standard_cauchy(10_000)
    x = np.zeros(10_000)
    for n in range(1, len(x)):
        x[n] = 0.99 * x[n - 1] + 0.01 * cauchy[n]
    assert "heavy-tails" in _codes(x, 0.01)


def test_a_random_walk_has_no_significant_drift() -> None:
    assert "no-significant-drift" in _codes(
        np.cumsum(np.random.default_rng(8).standard_normal(3_000)), 1.0
    )


def test_a_deterministic_record_is_said_to_have_no_noise() -> None:
    t = np.arange(0, 8, 0.01)
    assert "no-noise" in _codes(np.round([x0 * np.exp(-t) for x0 in (2.0, -1.5, 1.0)], 6), 0.01)


def test_coarse_samples_and_quantised_values_are_named() -> None:
    assert "coarse-step-corrected" in _codes(_ou(20_000, 1.0, 9), 1.0)
    assert "quantised" in _codes(np.round(_ou(60_000, 0.001, 10), 1), 0.001)


def test_a_ramp_is_deterministic_and_no_fault() -> None:
    assert "no-noise" in _codes(1 + 0.02 * np.arange(5_000), 0.02)


@pytest.mark.parametrize("runs", [1, 3, 15, 16, 17, 300])
def test_every_window_is_in_its_stage_once_however_often_stages_change(runs: int) -> None:
    """Few stretches are slices of the windows, many are numbers of windows."""
    stage = np.repeat(np.random.default_rng(runs).integers(0, STAGES, runs), 4)
    found = [(k, np.arange(len(stage))[rows]) for k, rows in _stretches(stage, STAGES)]
    assert sorted(np.concatenate([rows for _, rows in found])) == list(range(len(stage)))
    assert all((stage[rows] == k).all() for k, rows in found)
