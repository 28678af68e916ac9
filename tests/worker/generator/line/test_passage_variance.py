"""Deviations and quantiles of first-passage times against closed forms and simulated passages."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess
from worker.generator.quantities.outcomes import Outcome
from worker.generator.quantities.passages import PROBABILITIES, Passage

Function = Callable[[float], float]


def double_well(a: float) -> ScalarProcess:
    return ScalarProcess(lambda x: x - x**3, lambda x: a + 0 * x, lambda x: 1 - 3 * x**2)


def passage(model: ScalarProcess, start: float, to: float) -> Passage:
    return analyse(model, passages=[(start, to)]).passages[0]


def variance(psi: Function, a: Function, low: float, start: float, to: float) -> float:
    """2 ∫ r ∫ r M², adaptively, with nothing shared with the code under test."""

    def mass(z: float) -> float:
        return quad(
            lambda u: np.exp(psi(u) - psi(z)) / a(u), low, z, limit=400, epsabs=0, epsrel=1e-10
        )[0]

    def v(y: float) -> float:
        return quad(
            lambda z: 2 * np.exp(psi(z) - psi(y)) * mass(z) ** 2,
            low,
            y,
            limit=200,
            epsabs=0,
            epsrel=1e-8,
        )[0]

    return 4 * quad(v, start, to, limit=200, epsabs=0, epsrel=1e-8)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "psi", "a", "low", "start", "to"),
    [
        (double_well(0.25), lambda x: (x**2 - x**4 / 2) / 0.25, lambda x: 0.25, -2.5, -1.0, 0.2),
        (
            ScalarProcess(lambda x: -2 * x, lambda x: 0.25 * (1 + x**2), lambda x: -2 + 0 * x),
            lambda x: -8 * np.log1p(x**2),
            lambda x: 0.25 * (1 + x**2),
            -6.0,
            -0.5,
            0.7,
        ),
    ],
    ids=["double well", "multiplicative"],
)
def test_standard_deviation_against_nested_quadrature(model, psi, a, low, start, to) -> None:
    found = passage(model, start, to).deviation
    assert found is not None
    assert found.value == pytest.approx(np.sqrt(variance(psi, a, low, start, to)), rel=1e-6)
    mirrored = ScalarProcess(lambda x: -model.b(-x), lambda x: model.a(-x), lambda x: model.db(-x))
    back = passage(mirrored, -start, -to).deviation
    assert back is not None
    assert back.value == pytest.approx(found.value, rel=1e-6)


def test_brownian_motion_between_a_wall_and_a_goal() -> None:
    model = ScalarProcess(lambda x: 0 * x, lambda x: 1 + 0 * x, lambda x: 0 * x, (0.0, 1.0))
    found = passage(model, 0.0, 1.0)
    assert found.deviation is not None
    assert found.deviation.value == pytest.approx(np.sqrt(2 / 3), rel=1e-9)
    k = np.arange(200)
    for p, time in zip(PROBABILITIES, found.law.quantiles, strict=True):
        survival = (
            4
            / np.pi
            * np.sum((-1.0) ** k / (2 * k + 1) * np.exp(-((2 * k + 1) ** 2) * np.pi**2 * time / 8))
        )
        assert 1 - survival == pytest.approx(p, abs=2e-4)


def test_over_a_high_barrier_the_time_is_exponential() -> None:
    found = passage(double_well(0.0125), -1.0, 1.0)
    mean = found.mean_time.value
    assert mean is not None
    assert found.deviation is not None
    assert found.deviation.value == pytest.approx(mean, rel=1e-6)
    np.testing.assert_allclose(
        found.law.quantiles, -mean * np.log1p(-np.array(PROBABILITIES)), rtol=1e-4
    )
    # Negative control: at 2 kT it is not.
    low = passage(double_well(0.25), -1.0, 1.0)
    assert low.law.quantiles[0] > 2 * -low.mean_time.value * np.log1p(-PROBABILITIES[0])


def test_without_a_barrier_the_spread_is_small() -> None:
    # Drift 1 against noise 0.01 over a distance of 1: inverse Gaussian, mean 1, variance a·d/b³.
    model = ScalarProcess(lambda x: 1 + 0 * x, lambda x: 0.01 + 0 * x, lambda x: 0 * x, (-3.0, 2.0))
    found = passage(model, 0.0, 1.0)
    assert found.deviation is not None
    assert found.deviation.value == pytest.approx(0.1, rel=1e-6)
    assert found.law.quantiles[2] == pytest.approx(1 - 0.005, abs=1e-3)


@pytest.mark.parametrize(("depth", "finite"), [(1.2, False), (6.0, True)])
def test_too_long_excursions_have_no_variance(depth: float, finite: bool) -> None:
    # π ~ |x|^(−2·depth): the mean time exists from depth ½, the variance from 1½.
    model = ScalarProcess(
        lambda x: -depth * x / (1 + x**2),
        lambda x: 1 + 0 * x,
        lambda x: -depth * (1 - x**2) / (1 + x**2) ** 2,
    )
    found = passage(model, 0.0, 1.0)
    assert found.mean_time.value is not None
    assert found.deviation is not None
    assert (found.deviation.value is not None) == finite
    if not finite:
        assert found.deviation.reason.outcome is Outcome.INFINITE


@pytest.mark.slow
def test_simulated_passages_have_this_mean_spread_and_these_quantiles() -> None:
    """Euler steps with the bridge's chance to have crossed between two samples.

    What is left of the step's error is O(Δt).
    """
    n, dt, a = 1_000, 2e-3, 0.25
    generator, x, times = np.random.default_rng(0), np.full(n, -1.0), np.full(n, np.nan)
    for step in range(200_000):
        alive = np.flatnonzero(np.isnan(times))
        if not alive.size:
            break
        before = x[alive]
        after = (
            before
            + (before - before**3) * dt
            + np.sqrt(a * dt) * generator.standard_normal(alive.size)
        )
        chance = np.where(after >= 0, 1.0, np.exp(-2 * before * after / (a * dt)))
        times[alive[generator.random(alive.size) < chance]] = (step + 0.5) * dt
        x[alive] = after
    assert not np.isnan(times).any()
    found = passage(double_well(a), -1.0, 0.0)
    assert found.mean_time.value is not None
    assert found.deviation is not None
    # Three standard errors; that of the standard deviation is σ √((kurtosis − 1)/4n) with 9 for an
    # exponential.
    assert abs(times.mean() - found.mean_time.value) < 3 * times.std() / np.sqrt(n)
    assert abs(times.std() - found.deviation.value) < 3 * times.std() * np.sqrt(8 / (4 * n))
    over = (times[:, None] <= np.array(found.law.quantiles)).mean(axis=0)
    p = np.array(PROBABILITIES)
    assert (np.abs(over - p) < 3.5 * np.sqrt(p * (1 - p) / n)).all()
