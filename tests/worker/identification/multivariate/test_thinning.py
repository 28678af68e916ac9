"""A path that is smooth at short steps is fitted at longer ones, and a warning tells so."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.simulation import simulate_system
from worker.identification.data.trajectories import Trajectories
from worker.identification.estimation.problem import thinned
from worker.identification.findings.fit import findings

TAU = 0.05


@pytest.fixture(scope="module")
def persistent_paths():
    """dx = (v − x/2) dt with a velocity v of correlation time TAU; a = 1 at long times."""
    drift = np.zeros((4, 4))
    drift[0, 2] = drift[1, 3] = 1
    drift[[0, 1], [0, 1]] = -0.5
    drift[[2, 3], [2, 3]] = -1 / TAU
    noise = np.vstack([np.zeros((2, 2)), np.eye(2) / TAU])
    paths = simulate_system(
        lambda x: x @ drift.T, lambda x: np.broadcast_to(noise, (len(x), 4, 2)), np.zeros((10, 4)),
        dt=0.02, n_steps=10_000, substeps=4, burn_in=300, seed=1,
    )  # fmt: skip
    return paths[..., :2]


@pytest.mark.slow
def test_the_long_time_model_is_found_at_steps_where_residuals_are_uncorrelated(
    persistent_paths, fit_jointly, as_data, coefficients
) -> None:
    fitted = fit_jointly(as_data(persistent_paths, 0.02), polynomial_degree=2)
    fit, problem = fitted
    assert TAU < fit.least_step < 1
    [finding] = [f for f in findings(fit, problem, "auto") if f.code == "persistent-increments"]
    assert f"{fit.least_step:.4g}" in finding.message
    got = coefficients(fitted)
    assert {key: set(terms) for key, terms in got.items()} == {
        "x": {"x"},
        "y": {"y"},
        "x,x": {"1"},
        "x,y": set(),
        "y,y": {"1"},
    }
    for v in "xy":
        value, error = got[v][v]
        assert abs(value + 0.5) < 4 * error
        value, error = got[f"{v},{v}"]["1"]
        # ⟨ΔX²⟩/Δ of a velocity with memory is a (1 − τ/Δ) and more.
        assert 1 - TAU / fit.least_step - 4 * error < value < 1 + 4 * error


@pytest.mark.slow
def test_a_sampling_rule_that_is_named_is_taken_at_its_word(
    persistent_paths, fit_jointly, as_data, coefficients
) -> None:
    fitted = fit_jointly(as_data(persistent_paths, 0.02), rule="trapezoid", polynomial_degree=2)
    fit, problem = fitted
    assert fit.least_step == 0
    assert "persistent-increments" in {f.code for f in findings(fit, problem, "auto")}
    # Ballistic: ⟨ΔX²⟩/Δ = 1 − (τ/Δ)(1 − e^(−Δ/τ)).
    ballistic = 1 - TAU / 0.02 * (1 - np.exp(-0.02 / TAU))
    assert coefficients(fitted)["x,x"]["1"][0] == pytest.approx(ballistic, rel=0.1)


@pytest.mark.slow
def test_a_diffusion_is_fitted_at_every_step(system_paths, fit_jointly, as_data) -> None:
    fit, problem = fit_jointly(as_data(system_paths("rotating")))
    assert fit.least_step == 0
    assert "persistent-increments" not in {f.code for f in findings(fit, problem, "auto")}


def test_thinned_samples_are_at_least_so_far_apart_and_no_step_spans_two_segments() -> None:
    times = np.concatenate(
        [np.cumsum(np.random.default_rng(0).exponential(1, 500)), np.arange(100.0)]
    )
    data = Trajectories(np.arange(600.0)[:, None], times, np.array([[0, 500, 0], [500, 600, 1]]))
    fewer = thinned(data, 3.0)
    first, second = (fewer.times[a:b] for a, b, _ in fewer.segments)
    assert np.diff(first).min() >= 3
    # Every third of an even record, and never later than the first sample that is far enough.
    np.testing.assert_array_equal(second, np.arange(0, 100, 3.0))
    assert all(
        np.sum((times[:500] > a) & (times[:500] < b) & (times[:500] >= a + 3)) == 0
        for a, b in pairwise(first)
    )
