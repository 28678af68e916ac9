"""Right models pass the test at the rate they should, wrong ones do not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.simulation import simulate, simulate_system
from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters
from worker.generator.process import ScalarProcess
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.pipeline import analyse, identify
from worker.validation.chapman_kolmogorov import LagTest, lag_tests
from worker.validation.conditional_moments import (
    BirthDeathChain,
    ChainPrediction,
    Observable,
    birth_death_chain,
)
from worker.validation.sample_blocks import gather
from worker.validation.validation import ALARM, Validation, validate

OU = ScalarProcess(lambda x: -x, lambda x: 1.0 + 0 * x, lambda x: -1.0 + 0 * x)
STEEPER = ScalarProcess(lambda x: -1.3 * x, lambda x: 1.3 + 0 * x, lambda x: -1.3 + 0 * x)


def exact_paths(n_paths: int, n_steps: int, dt: float, seed: int) -> np.ndarray:
    """Ornstein–Uhlenbeck without a step error; (n_paths, n_steps)."""
    generator, fall = np.random.default_rng(seed), np.exp(-dt)
    x = np.empty((n_steps, n_paths))
    x[0] = generator.standard_normal(n_paths) * np.sqrt(0.5)
    for n in range(1, n_steps):
        x[n] = fall * x[n - 1] + np.sqrt(0.5 * (1 - fall**2)) * generator.standard_normal(n_paths)
    return x.T


@cache
def chain_on_a_wide_range(process: ScalarProcess) -> BirthDeathChain:
    chain = birth_death_chain(process, -5.0, 5.0)
    assert chain is not None
    return chain


def along(paths: np.ndarray, dt: float, process: ScalarProcess, longest: float) -> list[LagTest]:
    data = from_arrays(list(paths), dt)
    prediction = ChainPrediction(chain_on_a_wide_range(process), (Observable(0.0, np.sqrt(0.5)),))
    return list(lag_tests(gather(data, dt, int(longest / dt)), prediction, longest, 1))


def test_p_values_of_the_true_model_are_uniform() -> None:
    paths = exact_paths(100, 2_000, 0.1, seed=1)
    p = np.array([along(path[None], 0.1, OU, 0.1)[0].p_value for path in paths])
    for level in (0.1, 0.3):
        assert abs(np.mean(p < level) - level) < 3 * np.sqrt(level * (1 - level) / p.size)


def test_a_drift_a_third_too_steep_is_found_and_its_size_told() -> None:
    paths = exact_paths(4, 10_000, 0.1, seed=2)
    wrong = along(paths, 0.1, STEEPER, 1.0)
    assert min(test.p_value for test in wrong) < 1e-10
    last = wrong[-1]
    # At the outermost kernel, 1.3 deviations out, the mean falls to exp(-1.04) of it in place of
    # exp(-0.8); kernels average over their neighbourhood.
    assert last.lag == pytest.approx(0.8)
    assert 0.05 < last.mean_difference < 0.13
    assert max(test.mean_difference for test in along(paths, 0.1, OU, 1.0)) < 0.05


def validated(data: Trajectories, **parameters: object) -> Validation:
    answer = identify(
        data, settings_of(IdentificationParameters.model_validate(parameters)), lambda *_: None
    )
    # Without draws: intervals are not looked at here.
    analysed = analyse(
        replace(answer, draws=None),
        data,
        analysis_settings_of(AnalysisParameters()),
        lambda *_: None,
    )
    return validate(data, answer, analysed.generator)


def codes(validation: Validation) -> list[str]:
    return [finding.code for finding in validation.findings]


def double_well(dt: float, n_steps: int, seed: int) -> np.ndarray:
    return simulate(
        lambda x: x - x**3,
        lambda x: 0.5 + 0 * x,
        np.zeros(4),
        dt=dt,
        n_steps=n_steps,
        substeps=5,
        burn_in=50,
        seed=seed,
    )


def test_an_identified_double_well_passes_and_its_autocorrelation_is_inside_the_band() -> None:
    found = validated(from_arrays(list(double_well(0.05, 8_000, 3)), 0.05))
    assert len(found.chapman_kolmogorov) >= 6
    assert codes(found) == []
    assert found.share == 1.0
    shown = found.autocorrelation[0]
    assert shown.lags.size > 10
    assert np.mean((shown.band[:, 0] <= shown.model) & (shown.model <= shown.band[:, 1])) > 0.5


def test_a_hidden_slow_variable_is_named() -> None:
    paths = simulate_system(
        lambda x: np.stack([-x[:, 0] + x[:, 1], -x[:, 1] / 10], axis=1),
        lambda x: np.broadcast_to(np.diag([0.7, 0.22]), (len(x), 2, 2)),
        np.zeros((4, 2)), dt=0.05, n_steps=6_000, substeps=2, burn_in=500, seed=1,
    )  # fmt: skip
    found = validated(from_arrays([path[:, 0] for path in paths], 0.05))
    assert codes(found) == ["chapman-kolmogorov"]
    assert (
        max(found.chapman_kolmogorov, key=lambda test: test.mean_difference).mean_difference > 0.05
    )


@pytest.mark.slow
def test_measurement_noise_passes_when_corrected_and_is_found_when_ignored() -> None:
    paths = double_well(0.05, 5_000, 1)
    data = from_arrays(
        list(paths + 0.1 * np.random.default_rng(1).standard_normal(paths.shape)), 0.05
    )
    assert codes(validated(data)) == []
    ignored = validated(data, measurement_noise="none")
    assert codes(ignored) == ["chapman-kolmogorov"]
    assert min(test.p_value for test in ignored.chapman_kolmogorov) < ALARM / 1e6


def test_coarse_samples_by_eulers_rule_are_found() -> None:
    found = validated(from_arrays(list(double_well(0.3, 5_000, 2)), 0.3), sampling_rule="euler")
    assert codes(found) == ["chapman-kolmogorov"]


def test_a_record_that_is_too_short_says_so() -> None:
    found = validated(from_arrays(list(exact_paths(1, 120, 0.2, seed=4)), 0.2))
    assert found.chapman_kolmogorov == ()
    assert "too short to be divided into blocks" in str(found.reason)


def test_an_uneven_clock_says_so() -> None:
    x = exact_paths(1, 2_000, 0.1, seed=5)[0]
    times = np.cumsum(np.random.default_rng(5).uniform(0.05, 0.15, x.size))
    data = Trajectories(x[:, None], times, np.array([[0, x.size, 0]]))
    assert "irregular" in str(validated(data).reason)


def test_a_term_that_ends_just_beyond_the_data_is_no_obstacle() -> None:
    x = np.exp(0.3 * exact_paths(1, 4_000, 0.1, seed=6)[0])
    found = validated(
        from_arrays([x], 0.1), library={"polynomial_degree": 1, "extra_terms": ["x*log(x)"]}
    )
    assert found.chapman_kolmogorov
    assert codes(found) == []
