"""Autocorrelation, power spectrum and integrated time against closed forms and other meshes."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.linalg import expm

from worker.generator.analysis import analyse
from worker.generator.numerics.laplace_inversion import from_transform
from worker.generator.process import ScalarProcess
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.outcomes import HEAVY_TAIL, NO_VARIANCE, Outcome
from worker.generator.quantities.report import GeneratorReport
from worker.generator.request import autocorrelation, power_spectrum

INF = np.inf

# Drift −κ(x − m) and any noise: C(t) = exp(−κt), whatever the law.
LINEAR_DRIFT = {
    "Ornstein–Uhlenbeck": (
        ScalarProcess(lambda x: 5 - x, lambda x: 0.49 + 0 * x, lambda x: -1 + 0 * x),
        1.0,
    ),
    "multiplicative": (
        ScalarProcess(lambda x: -2 * x, lambda x: 0.25 * (1 + x**2), lambda x: -2 + 0 * x),
        2.0,
    ),
    "heavy tail, x^-3.4": (
        ScalarProcess(lambda x: -0.7 * x, lambda x: 1 + x**2, lambda x: -0.7 + 0 * x),
        0.7,
    ),
    "square root": (
        ScalarProcess(lambda x: 3 * (0.3 - x), lambda x: 12 * x, lambda x: -3 + 0 * x, (0.0, INF)),
        3.0,
    ),
    "Jacobi": (
        ScalarProcess(
            lambda x: -0.2 * x, lambda x: 0.5 * (1 - x**2), lambda x: -0.2 + 0 * x, (-1.0, 1.0)
        ),
        0.2,
    ),
    "inverse gamma": (
        ScalarProcess(lambda x: 1 - x, lambda x: x**2, lambda x: -1 + 0 * x, (0.0, INF)),
        1.0,
    ),
}


def double_well(a: float, tilt: float = 0.0) -> ScalarProcess:
    return ScalarProcess(lambda x: x - x**3 + tilt, lambda x: a + 0 * x, lambda x: 1 - 3 * x**2)


def pendulum(force: float, strength: float, a: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: force - strength * np.sin(x),
        lambda x: a + 0 * x,
        lambda x: -strength * np.cos(x),
        period=2 * np.pi,
    )


def correlations(report: GeneratorReport) -> Correlations:
    assert isinstance(report.correlations, Correlations)
    return report.correlations


@pytest.mark.parametrize("name", LINEAR_DRIFT)
def test_linear_drift_has_an_exponential_and_a_lorentzian(name: str) -> None:
    model, rate = LINEAR_DRIFT[name]
    report = analyse(model)
    found, variance = correlations(report), report.stationary.covariance[0][0]
    assert found.lags[0] == 0
    assert found.lags[-1] == pytest.approx(5 / rate, rel=1e-4)
    np.testing.assert_allclose(found.autocorrelation[0], np.exp(-rate * found.lags), atol=1e-5)
    lorentzian = 4 * variance * rate / (rate**2 + (2 * np.pi * found.frequencies) ** 2)
    np.testing.assert_allclose(found.power_spectrum[0], lorentzian, rtol=5e-5)
    assert found.integrated_times[0].value == pytest.approx(1 / rate, rel=1e-8)
    # The tolerance tells a rate that is a thousandth off.
    assert np.max(np.abs(found.autocorrelation[0] - np.exp(-1.001 * rate * found.lags))) > 1e-4


@pytest.mark.parametrize("tilt", [0.0, 0.15])
def test_double_well_against_schrodingers_equation(tilt: float) -> None:
    a = 0.25
    lags, frequencies = (
        np.array([0.0, 0.01, 0.3, 2.0, 30.0, 80.0]),
        np.array([1e-4, 3e-3, 0.1, 0.5, 2.0]),
    )
    report = analyse(double_well(a, tilt))
    # An independent route: −√π L/√π = −½a d²/dx² + b²/2a + ½b' on 120 sines between −3 and 3.
    nodes, weights = leggauss(400)
    x, k = 3 * nodes, np.arange(1, 121)
    b = x - x**3 + tilt
    sines = np.sin(k[:, None] * np.pi * (nodes + 1) / 2) * np.sqrt(weights)
    well = (sines * (b**2 / (2 * a) + (1 - 3 * x**2) / 2)) @ sines.T
    rates, modes = np.linalg.eigh(well + np.diag(a / 2 * (k * np.pi / 6) ** 2))
    law = weights * np.exp(2 / a * (x**2 / 2 - x**4 / 4 + tilt * x))
    share = (modes.T @ (sines @ (x * np.sqrt(law / law.sum()))))[1:] ** 2
    variance, rates = share.sum(), rates[1:]
    exact = np.exp(-lags[:, None] * rates) @ share / variance
    np.testing.assert_allclose(autocorrelation(report, lags)[0], exact, atol=3e-6)
    spectrum = 4 * (rates / (rates**2 + (2 * np.pi * frequencies[:, None]) ** 2)) @ share
    np.testing.assert_allclose(power_spectrum(report, frequencies)[0], spectrum, rtol=2e-5)
    assert correlations(report).integrated_times[0].value == pytest.approx(
        np.sum(share / rates) / variance, rel=1e-8
    )


@pytest.mark.parametrize("kt", [20, 40])
def test_over_a_high_barrier_the_slowest_rate_alone_is_seen(kt: float) -> None:
    report = analyse(double_well(1 / (2 * kt)))
    found, rate = correlations(report), report.spectrum.eigenvalues[0].real
    share = found.autocorrelation[0][10] * np.exp(rate * found.lags[10])
    assert share == pytest.approx(1, abs=0.1)
    np.testing.assert_allclose(
        found.autocorrelation[0][1:], share * np.exp(-rate * found.lags[1:]), atol=1e-6
    )
    assert found.integrated_times[0].value * rate == pytest.approx(share, rel=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        double_well(0.25),
        LINEAR_DRIFT["multiplicative"][0],
        pendulum(0.0, 1.0, 1.0),
        pendulum(1.5, 1.0, 0.5),
    ],
)
def test_power_spectrum_adds_up_to_the_variance_and_begins_with_the_integrated_time(
    model: ScalarProcess,
) -> None:
    report = analyse(model)
    found = correlations(report)
    slow = report.spectrum.eigenvalues[0].real
    # Beyond the last frequency S falls like 1/f², and the integral of that is S·f.
    f = np.geomspace(1e-4 * slow, 300 * slow, 3000)
    s = power_spectrum(report, f)[0]
    total = np.trapezoid(s * f, np.log(f)) + s[0] * f[0] + s[-1] * f[-1]
    variance = s[0] / (4 * found.integrated_times[0].value)
    assert total == pytest.approx(variance, rel=2e-4)
    if model.period is None:
        assert variance == pytest.approx(report.stationary.covariance[0][0], rel=1e-5)


def test_angle_that_is_driven_round_has_a_damped_cosine() -> None:
    report = analyse(pendulum(2.0, 0.0, 0.5))
    found = correlations(report)
    np.testing.assert_allclose(
        found.autocorrelation[0], np.exp(-found.lags / 4) * np.cos(2 * found.lags), atol=1e-12
    )
    assert found.integrated_times[0].value == pytest.approx(0.25 / (0.25**2 + 4), rel=1e-10)
    assert found.frequencies[np.argmax(found.power_spectrum[0])] == pytest.approx(
        2 / (2 * np.pi), rel=0.1
    )


@pytest.mark.parametrize(("force", "a"), [(0.0, 0.5), (1.5, 0.2)])
def test_pendulum_against_a_chain_of_steps(force: float, a: float) -> None:
    n, lags = 400, np.array([0.1, 1.0, 4.0])
    width = 2 * np.pi / n
    x = width * np.arange(n)
    # Steps to either side whose rates have the drift and the diffusion of the model to second
    # order.
    ahead, back = (
        a / (2 * width**2) + side * (force - np.sin(x)) / (2 * width) for side in (1, -1)
    )
    generator = np.diag(-ahead - back)
    generator[np.arange(n), (np.arange(n) + 1) % n] = ahead
    generator[np.arange(n), np.arange(n) - 1] = back
    law = np.linalg.solve(np.vstack([generator.T[:-1], np.ones(n)]), np.append(np.zeros(n - 1), 1))
    z = np.exp(1j * x)
    mean = law @ z
    exact = [
        np.real((np.conj(z) * law) @ expm(t * generator) @ z - abs(mean) ** 2)
        / (1 - abs(mean) ** 2)
        for t in lags
    ]
    np.testing.assert_allclose(
        autocorrelation(analyse(pendulum(force, 1.0, a)), lags)[0], exact, atol=1e-3
    )


def test_without_a_variance_there_is_a_reason() -> None:
    for rate, why in ((0.4, NO_VARIANCE), (0.505, HEAVY_TAIL)):
        report = analyse(
            ScalarProcess(
                lambda x, k=rate: -k * x, lambda x: 1 + x**2, lambda x, k=rate: -k + 0 * x
            )
        )
        assert report.correlations == why
        assert autocorrelation(report, np.array([1.0])) is None


def test_correlations_that_decay_like_a_power_have_a_function_and_no_integrated_time() -> None:
    # π ~ |x|^−4.4, where the noise does not grow: excursions last as long as their square.
    found = correlations(
        analyse(ScalarProcess(lambda x: -x / (1 + x**2), lambda x: 0.45 + 0 * x, lambda x: 0 * x))
    )
    assert found.integrated_times[0].value is None
    assert found.integrated_times[0].reason.outcome is Outcome.INFINITE
    assert np.all(np.diff(found.autocorrelation[0]) < 0)


def test_without_a_stationary_law_there_is_no_autocorrelation() -> None:
    report = analyse(ScalarProcess(lambda x: 0 * x, lambda x: 1 + 0 * x, lambda x: 0 * x))
    assert report.correlations is None
    assert autocorrelation(report, np.array([1.0])) is None
    walled = analyse(
        ScalarProcess(lambda x: 0 * x, lambda x: 1 + 0 * x, lambda x: 0 * x),
        observed_range=(0, 1),
        reflecting_ends=True,
    )
    # ∫ N²·2/a / variance with N = x(x − 1)/2 on (0, 1).
    assert correlations(walled).integrated_times[0].value == pytest.approx(2 * 12 / 120, rel=1e-9)


def test_number_of_lags_and_frequencies_is_as_asked_and_lags_may_be_negative() -> None:
    report = analyse(double_well(0.25), lags=7, frequencies=11)
    found = correlations(report)
    assert found.lags.shape == (7,)
    assert found.power_spectrum.shape == (1, 11)
    lags = np.array([-3.0, 0.0, 3.0])
    values = autocorrelation(report, lags)[0]
    assert values[0] == values[2]
    assert values[1] == 1


def test_contour_inverts_every_decay_from_the_slowest_to_the_fastest() -> None:
    for rate in (0.0, 1e-20, 1e-3, 1.0, 1e3, 1e20):
        times = np.array([1e-2, 1.0, 50.0])
        np.testing.assert_allclose(
            from_transform(lambda s, k=rate: 1 / (s + k), times), np.exp(-rate * times), atol=2e-7
        )
