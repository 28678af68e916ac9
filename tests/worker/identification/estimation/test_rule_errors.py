"""Coarse samples: the trapezoid's own error is gone, and the errors are those of the exact law."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.estimation.components import re_estimated
from worker.identification.estimation.rule_errors import _typical

SEEDS = 24


def _ou(h: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw dX = −X dt + √2 dW exactly at steps h; times and states."""
    random = np.random.default_rng(seed)
    decay, x = np.exp(-h), np.empty(len(h) + 1)
    noise = np.sqrt(1 - decay**2) * random.standard_normal(len(h))
    if np.ptp(h) == 0:
        first = random.standard_normal()
        x = np.append(first, lfilter([1.0], [1.0, -decay[0]], noise, zi=[decay[0] * first])[0])
    else:
        x[0] = random.standard_normal()
        for n in range(len(h)):
            x[n + 1] = decay[n] * x[n] + noise[n]
    return np.append(0.0, np.cumsum(h)), x


def _diffusion(fit, times: np.ndarray, x: np.ndarray, **settings) -> tuple[float, float]:
    """Return estimate and standard error of a constant diffusion."""
    data = Trajectories(x[:, None], times, np.array([[0, len(x), 0]]))
    identified, _, scales = fit(data, **settings)
    estimate = identified.diffusion[0, 0].estimate
    assert estimate.support == (0,)
    factor = scales.unit**2 / scales.time
    return float(estimate.raw[0] * factor), float(estimate.std_error[0] * factor)


@pytest.mark.parametrize("h", [0.3, 0.5])
def test_a_coarse_diffusion_has_no_bias_and_the_errors_of_the_exact_likelihood(
    fit, h: float
) -> None:
    n = 20_000
    found = np.array(
        [_diffusion(fit, *_ou(np.full(n, h), seed), noise="none") for seed in range(SEEDS)]
    )
    # ln a is a function of the regression φ = e^(−h), of variance (1 − φ²)/n, and of the residual
    # variance, of relative variance 2/n.
    phi = np.exp(-h)
    slope = -1 / (phi * h) + 2 * phi / (1 - phi**2)
    exact = 2 * np.sqrt((2 + slope**2 * (1 - phi**2)) / n)
    np.testing.assert_allclose(np.median(found[:, 1]), exact, rtol=0.06)
    z = (found[:, 0] - 2) / exact
    # Three standard errors of a mean of 24; the trapezoid's own error, h²/12, is 0.8 and 1.6 errors
    # of each.
    assert abs(z.mean()) < 3 / np.sqrt(SEEDS)
    assert abs((z**2).mean() - 1) < 3 * np.sqrt(2 / SEEDS)


def test_an_uneven_clock_adds_no_bias(fit) -> None:
    z = []
    for seed in range(SEEDS):
        steps = 0.25 * (np.random.default_rng(100 + seed).gamma(4, 0.25, 20_000) + 0.05)
        value, error = _diffusion(fit, *_ou(steps, seed), noise="none")
        z.append((value - 2) / error)
    assert abs(np.mean(z)) < 3 / np.sqrt(SEEDS)
    assert abs(np.mean(np.square(z)) - 1) < 3 * np.sqrt(2 / SEEDS)


def test_the_trapezoid_alone_has_the_error_that_is_removed(fit) -> None:
    """A negative control: without the correction, a at half a relaxation time is too small."""
    values = []
    for seed in range(6):
        _, x = _ou(np.full(20_000, 0.5), seed)
        identified, _, scales = fit(from_arrays([x], 0.5), noise="none")
        assert identified.coarse_step
        plain = replace(identified.equations, expected=None)
        _, found = re_estimated(plain.problem, plain, identified.covariances, identified)
        values.append(found[0, 0].raw[0] * scales.unit**2 / scales.time)
    # Its equations hold on average for this rate, and for this diffusion.
    h, phi = 0.5, np.exp(-0.5)
    rate = 2 / h * (1 - phi) / (1 + phi)
    expected = (1 - phi) * (2 + h * rate) / h
    assert expected < 0.985 * 2
    assert np.mean(values) == pytest.approx(expected, abs=3 * 2 * 0.013 / np.sqrt(6))


def test_drift_and_diffusion_of_a_double_well_at_a_fifth_of_its_time(paths, fit) -> None:
    data = from_arrays(list(paths("double-well", 20, 0.01, 10_000)[:, ::20]), 0.2)
    identified, library, scales = fit(data)
    assert identified.coarse_step
    unit, time = scales.unit, scales.time
    for selected, factor, true in (
        (identified.drift[0], unit / time, {"x": 1.0, "x^3": -1.0}),
        (identified.diffusion[0, 0], unit**2 / time, {"1": 0.25}),
    ):
        e = selected.estimate
        assert {library.names[k] for k in e.support} == set(true)
        for k, value, error in zip(e.support, e.raw, e.std_error, strict=True):
            assert abs(value * factor - true[library.names[k]]) < 4 * error * factor


def test_typical_steps_have_the_moments_of_all() -> None:
    steps = np.random.default_rng(1).gamma(4, 0.25, 1_000)
    h, share = np.array(_typical(steps)).T
    for power in range(6):
        assert share @ h**power == pytest.approx(np.mean(steps**power), rel=1e-9)
    assert _typical(np.full(10, 0.3)) == [(pytest.approx(0.3), 1.0)]
