"""Several variables through measurement noise: errors that hold, and noise too small to be seen."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad

from worker.identification.checks.residuals import ResidualMoments
from worker.identification.estimation.direct_equations import joint_equations_of
from worker.identification.estimation.possible_noise import (
    PRIOR_ODDS,
    is_noisy,
    possible_variances,
)
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rules import THROUGH_NOISE

Floats = NDArray[np.float64]

N, DT = 10_000, 0.05


def seen_through_noise(seed: int) -> Floats:
    """Two Ornstein–Uhlenbeck processes of variance one with noise of a tenth; (n, 2)."""
    random, decay = np.random.default_rng([seed, 3]), np.exp(-DT)
    kicks = np.sqrt(1 - decay**2) * random.standard_normal((N, 2))
    x = np.zeros((N, 2))
    for k in range(1, N):
        x[k] = decay * x[k - 1] + kicks[k]
    return x + 0.1 * random.standard_normal((N, 2))


@pytest.mark.slow
def test_all_coefficients_under_noise_scatter_as_their_information_says(
    fit_jointly, as_data
) -> None:
    found, alone = [], []
    for seed in range(3):
        data = as_data(seen_through_noise(seed)[None], DT)
        # V takes the size of the residuals from themselves, whatever the fit.
        fit, problem = fit_jointly(data, rule="euler", noise="none")
        y = np.random.default_rng(0).uniform(-1, 1, (200, 2))
        drift = -(problem.space.origins + problem.space.units * y)
        true = np.linalg.lstsq(
            problem.library.internal(y),
            drift * problem.space.time / problem.space.units,
            rcond=None,
        )[0]
        noise = MeasurementNoise(np.diag(0.1**2 / problem.space.units**2), problem.library)
        equations = replace(joint_equations_of(problem, THROUGH_NOISE), noise=noise)
        for rule, values in ((THROUGH_NOISE, found), (replace(THROUGH_NOISE, lags=0), alone)):
            by_rule = replace(equations, rule=replace(rule, overlapping=rule.lags > 0))
            v = by_rule.covariances(fit)
            for p in range(2):
                own = by_rule.of_drift(p, v)
                left = own.score - own.information @ true[:, p]
                values.append(left @ np.linalg.solve(own.information, left) / len(left))
    # χ² of 6 × 15 degrees of freedom over their number.
    assert np.mean(found) == pytest.approx(1.0, abs=4 * np.sqrt(2 / (6 * 15)))
    # Negative control: as if windows that overlap were independent.
    assert np.mean(alone) > 1.3 * np.mean(found)


def moments(product: float, squared: float, n: int = 20_000) -> ResidualMoments:
    """Make residuals of variance one from Σ r_n r_{n+1} and Σ (r_n r_{n+1})²."""
    products = np.array([n, product, squared, n, 0.0, n], dtype=float)
    return ResidualMoments(np.ones(5), products, np.array([n, n, n], dtype=float), 0.0)


def test_possible_noise_has_the_moments_of_its_posterior() -> None:
    """Transcription of (M19a) by quadrature."""
    n = 20_000
    z = np.array([1.8, 0.7])
    found = possible_variances([moments(-v * np.sqrt(n), n) for v in z])
    assert found is not None

    def integral(k: int, power: int) -> float:
        """∫ s^power over the likelihood of the residuals, over that without noise."""
        density = 1 / np.sqrt(2 * np.pi)
        return quad(
            lambda s: density * s**power * np.exp(-((z[k] - s) ** 2 - z[k] ** 2) / 2), 0, 12
        )[0]

    weight = PRIOR_ODDS * integral(0, 0) * integral(1, 0)
    for k in range(2):
        first, second = (
            weight / (1 + weight) * integral(k, power) / integral(k, 0) for power in (1, 2)
        )
        assert found[0][k] == pytest.approx(first / np.sqrt(n), rel=1e-6)
        assert found[1][k] == pytest.approx((second - first**2) / n, rel=1e-6)


def test_without_a_trace_of_noise_nothing_is_moved() -> None:
    assert possible_variances([moments(50.0, 20_000), moments(-100.0, 20_000)]) is None


def test_noise_of_all_variables_together_is_found_before_that_of_one() -> None:
    one = moments(-3.2 * np.sqrt(20_000), 20_000)
    assert is_noisy([one, one])
    assert not is_noisy([one])
    assert not is_noisy([one, moments(0.0, 20_000)])


@pytest.mark.parametrize(("true", "least"), [(0.0, 0.93), (1.5, 0.82), (2.5, 0.88)])
def test_the_diffusion_is_held_whether_noise_is_there_or_not(true: float, least: float) -> None:
    """Errors of a are 1, and those of 2s²/h are √2; noise is `true` errors of s² in size."""
    random, n = np.random.default_rng(0), 20_000
    held, alone = [], []
    for _ in range(400):
        z = true + random.standard_normal(2)
        off = np.sqrt(2) * true + random.standard_normal(2)
        residuals = [moments(-v * np.sqrt(n), n) for v in z]
        found = possible_variances(residuals)
        if is_noisy(residuals):
            continue
        mean, variance = (np.zeros(2),) * 2 if found is None else found
        shift, wider = np.sqrt(2 * n) * mean, np.sqrt(1 + 2 * n * variance)
        held += list(np.abs(off - shift) < 1.96 * wider)
        alone += list(np.abs(off) < 1.96)
    assert np.mean(held) > least - 3 * np.sqrt(0.1 / len(held))
    # Negative control: without allowing for what is not significant.
    assert true == 0 or np.mean(alone) < 0.55
