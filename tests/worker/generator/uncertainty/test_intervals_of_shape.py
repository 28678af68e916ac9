"""Intervals of deviations, of the distribution's shape and of committors against closed forms."""

import numpy as np
import pytest
from scipy.special import erfi

from worker.documents.generator import analysis_of
from worker.generator.analysis import analyse, analysis
from worker.generator.process import ScalarProcess
from worker.generator.uncertainty.confidence_intervals import intervals_over


def linear(theta: float, a: float = 1.0) -> ScalarProcess:
    return ScalarProcess(lambda x: -theta * x, lambda x: a + 0 * x, lambda x: -theta + 0 * x)


def double_well(a: float, slope: float = 1.0, tilt: float = 0.0) -> ScalarProcess:
    return ScalarProcess(
        lambda x: tilt + slope * x - x**3, lambda x: a + 0 * x, lambda x: slope - 3 * x**2
    )


def multiplicative(growth: float) -> ScalarProcess:
    return ScalarProcess(lambda x: -2 * x, lambda x: 0.25 + growth * x**2, lambda x: -2 + 0 * x)


def test_spread_of_a_linear_passage_scales_like_its_time() -> None:
    thetas = np.linspace(0.8, 1.2, 25)
    pair = (-0.5, 0.7)
    # With a = θ all models are one, run faster or slower.
    result = intervals_over(
        [linear(t, t) for t in thetas], analysis(linear(1.0), passages=[pair]), 0.9
    )
    low, high = np.quantile(thetas, [0.05, 0.95], method="nearest")
    one = analyse(linear(1.0), passages=[pair]).passages[0].deviation
    assert one is not None
    assert one.value is not None
    assert result.range("passages", 0, "deviation") == pytest.approx(
        (one.value / high, one.value / low), rel=1e-6
    )
    # Negative control: with the noise alone changed the time is not the same, only slower.
    other = intervals_over(
        [linear(1.0, t) for t in thetas], analysis(linear(1.0), passages=[pair]), 0.9
    )
    assert other.range("passages", 0, "deviation") != pytest.approx(
        (one.value / high, one.value / low), rel=0.02
    )


def test_over_a_high_barrier_the_time_varies_as_much_as_it_lasts() -> None:
    result = intervals_over(
        [double_well(a) for a in np.linspace(0.035, 0.045, 25)], analysis(double_well(0.04)), 0.9
    )
    assert result.range("passages", 0, "deviation") == pytest.approx(
        result.range("passages", 0, "mean_time"), rel=1e-4
    )
    # Negative control: on the way down it does not.
    down = intervals_over(
        [double_well(a) for a in np.linspace(0.035, 0.045, 25)],
        analysis(double_well(0.04), passages=[(0.3, 1.0)]),
        0.9,
    )
    assert down.range("passages", 0, "deviation") != pytest.approx(
        down.range("passages", 0, "mean_time"), rel=0.1
    )


def test_kurtosis_of_multiplicative_noise_and_no_skewness() -> None:
    growths = np.linspace(0.2, 0.3, 25)
    result = intervals_over(
        [multiplicative(g) for g in growths], analysis(multiplicative(0.25)), 0.9
    )
    low, high = np.quantile(growths, [0.05, 0.95], method="nearest")
    # Of the law (1 + g x²/0.25)^−(1 + 2/g), a Student's t.
    expected = tuple(3 * (4 / g - 1) / (4 / g - 3) for g in (low, high))
    assert result.range("stationary", "kurtosis", 0) == pytest.approx(expected, rel=1e-6)
    assert result.range("stationary", "skewness", 0) == pytest.approx((0, 0), abs=1e-9)
    gaussian = intervals_over(
        [linear(t) for t in np.linspace(0.8, 1.2, 25)], analysis(linear(1.0)), 0.9
    )
    assert gaussian.range("stationary", "kurtosis", 0) == pytest.approx((3, 3), rel=1e-9)


@pytest.mark.slow
def test_a_fourth_moment_that_does_not_exist_has_no_interval() -> None:
    result = intervals_over(
        [multiplicative(g) for g in np.linspace(1.1, 1.25, 25)], analysis(multiplicative(1.2)), 0.9
    )
    assert result.range("stationary", "covariance", 0, 0) is not None
    assert result.range("stationary", "kurtosis", 0) is not None
    heavy = intervals_over(
        [multiplicative(g) for g in np.linspace(1.35, 1.45, 25)], analysis(multiplicative(1.4)), 0.9
    )
    assert heavy.range("stationary", "kurtosis", 0) is None


def test_committors_of_linear_models_have_the_bands_of_their_closed_form() -> None:
    noises = np.linspace(0.5, 2.0, 41)
    reference = analysis(linear(1.0), committors=[(-1.0, 1.5)])
    result = intervals_over([linear(1.0, a) for a in noises], reference, 0.9)
    band, found = (
        result.band("committors", 0, "found", "values"),
        reference.report.committors[0].found,
    )
    assert band is not None
    assert found is not None
    x = found.grid[0]
    curves = [
        (erfi(x / a**0.5) - erfi(-1 / a**0.5)) / (erfi(1.5 / a**0.5) - erfi(-1 / a**0.5))
        for a in noises
    ]
    low, high = np.quantile(curves, [0.05, 0.95], axis=0, method="nearest")
    np.testing.assert_allclose(band[0], low, atol=2e-6)
    np.testing.assert_allclose(band[1], high, atol=2e-6)
    # Negative control: they are no wider than that.
    assert np.max(np.ptp(curves, axis=0) - (band[1] - band[0])) > 1e-3


def test_the_document_has_them() -> None:
    reference = analysis(double_well(0.25))
    result = intervals_over([double_well(a) for a in np.linspace(0.24, 0.26, 25)], reference, 0.9)
    document = analysis_of(reference.report, result)
    assert document.committors[0].values_ci is not None
    assert document.passages[0].standard_deviation is not None
    assert document.passages[0].standard_deviation.ci == result.range("passages", 0, "deviation")
    assert document.stationary is not None
    assert document.stationary.kurtosis_ci == result.ranges("stationary", "kurtosis")


def test_circles_have_intervals_of_their_committors() -> None:
    def pendulum(push: float) -> ScalarProcess:
        return ScalarProcess(
            lambda x: push - np.sin(x),
            lambda x: 1.2 + 0 * x,
            lambda x: -np.cos(x),
            (-np.pi, np.pi),
            2 * np.pi,
        )

    reference = analysis(pendulum(0.0), committors=[(0.0, 2.0)])
    result = intervals_over([pendulum(p) for p in np.linspace(-0.1, 0.1, 21)], reference, 0.9999)
    found, band = (
        reference.report.committors[0].found,
        result.band("committors", 0, "found", "values"),
    )
    assert found is not None
    assert band is not None
    assert np.all((band[0] <= found.values + 1e-12) & (found.values <= band[1] + 1e-12))
