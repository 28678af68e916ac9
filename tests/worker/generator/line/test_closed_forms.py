"""Models whose time scales are known in closed form, and those the method page lists."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess
from worker.generator.quantities.report import GeneratorReport

INF = np.inf


def rates(report: GeneratorReport) -> np.ndarray:
    assert report.spectrum is not None
    return report.spectrum.eigenvalues.real


def ornstein_uhlenbeck(theta: float = 1.0, mean: float = 0.0, a: float = 0.49) -> ScalarProcess:
    return ScalarProcess(
        lambda x: -theta * (x - mean), lambda x: a + 0 * x, lambda x: -theta + 0 * x
    )


def double_well(a: float = 0.25) -> ScalarProcess:
    return ScalarProcess(lambda x: x - x**3, lambda x: a + 0 * x, lambda x: 1 - 3 * x**2)


def multiplicative() -> ScalarProcess:
    return ScalarProcess(lambda x: -2 * x, lambda x: 0.25 * (1 + x**2), lambda x: -2 + 0 * x)


def jacobi(kappa: float, eps: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: -kappa * x, lambda x: eps * (1 - x**2), lambda x: -kappa + 0 * x, (-1.0, 1.0)
    )


def square_root(kappa: float, mean: float, variance: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: kappa * (mean - x), lambda x: variance * x, lambda x: -kappa + 0 * x, (0.0, INF)
    )


def test_ornstein_uhlenbeck_has_rates_n_theta_and_a_gaussian_law() -> None:
    report = analyse(ornstein_uhlenbeck())
    assert report.ergodic
    np.testing.assert_allclose(rates(report), [1, 2, 3, 4, 5], rtol=1e-6)
    law = report.stationary
    assert law is not None
    assert law.mean[0] == pytest.approx(0, abs=1e-12)
    assert law.covariance[0][0] == pytest.approx(0.245, rel=1e-12)
    assert law.kurtosis[0] == pytest.approx(3, rel=1e-11)
    gaussian = np.exp(-(law.grid[0] ** 2) / 0.49) / np.sqrt(np.pi * 0.49)
    np.testing.assert_allclose(law.density, gaussian, rtol=1e-10)


def test_fifty_rates_of_ornstein_uhlenbeck() -> None:
    np.testing.assert_allclose(
        rates(analyse(ornstein_uhlenbeck(), eigenpairs=50)), np.arange(1, 51), rtol=1e-5
    )


def test_double_well_has_the_rates_and_escape_times_of_the_method_page() -> None:
    report = analyse(double_well(), passages=[(-1.0, 0.0), (-1.0, 1.0)])
    np.testing.assert_allclose(
        rates(report)[:4], [0.0568183, 1.019569, 1.901003, 2.987852], rtol=4e-6
    )
    to_top, across = report.passages[:2]
    assert to_top.mean_time.value == pytest.approx(18.42616, rel=1e-6)
    assert across.mean_time.value == pytest.approx(41.03428, rel=1e-6)
    assert across.kramers.value == pytest.approx(2 * np.pi / np.sqrt(2) * np.exp(2), rel=1e-10)
    assert to_top.kramers.value == pytest.approx(np.pi / np.sqrt(2) * np.exp(2), rel=1e-10)


def test_double_well_has_the_rates_of_schrodingers_equation() -> None:
    # −√π L/√π = −½a d²/dx² + b²/2a + ½b' on 120 sines. The method page's third and fourth rate are
    # 2e-6 and 3e-6 too low.
    a, k = 0.25, np.arange(1, 121)
    nodes, weights = leggauss(400)
    x = 3 * nodes
    sines = np.sin(k[:, None] * np.pi * (nodes + 1) / 2) * np.sqrt(weights)
    well = (sines * ((x - x**3) ** 2 / (2 * a) + (1 - 3 * x**2) / 2)) @ sines.T
    exact = np.linalg.eigvalsh(well + np.diag(a / 2 * (k * np.pi / 6) ** 2))[1:6]
    np.testing.assert_allclose(rates(analyse(double_well(a))), exact, rtol=2e-8)


def test_double_well_barrier_is_a_quarter_and_two_kt() -> None:
    report = analyse(double_well())
    np.testing.assert_allclose(
        [point.at[0] for point in report.fixed_points], [-1, 0, 1], atol=1e-15
    )
    assert [point.stable for point in report.fixed_points] == [True, False, True]
    ways = [(b.start, b.over, b.to) for b in report.barriers]
    np.testing.assert_allclose(np.array(ways, float), [(-1, 0, 1), (1, 0, -1)], atol=1e-15)
    for barrier in report.barriers:
        assert barrier.height == pytest.approx(0.25, rel=1e-12)
        assert barrier.height_over_noise == pytest.approx(2, rel=1e-10)


def test_multiplicative_noise_has_quadratic_rates_and_a_heavy_tail() -> None:
    report = analyse(multiplicative())
    n = np.arange(1, 6)
    np.testing.assert_allclose(rates(report), 2 * n - n * (n - 1) / 8, rtol=1e-6)
    law = report.stationary
    assert law is not None
    variance = 0.25 / 3.75
    assert law.covariance[0][0] == pytest.approx(variance, rel=1e-12)
    assert law.kurtosis[0] == pytest.approx(6 * 0.25 * variance / 6.5 / variance**2, rel=1e-11)


def test_rates_in_the_continuous_spectrum_are_not_reported() -> None:
    report = analyse(multiplicative(), eigenpairs=12)
    n = np.arange(1, 9)
    np.testing.assert_allclose(rates(report), 2 * n - n * (n - 1) / 8, rtol=1e-4)
    assert report.spectrum is not None
    assert "8 of 12" in str(report.spectrum.reasons[0])


@pytest.mark.parametrize(
    ("kappa", "eps"), [(0.2, 0.5), (0.5, 0.3), (0.05, 0.5), (1.0, 1.0), (3.0, 0.1)]
)
def test_jacobi_rates_whether_or_not_the_ends_are_reached(kappa: float, eps: float) -> None:
    report = analyse(jacobi(kappa, eps))
    n = np.arange(1, 6)
    np.testing.assert_allclose(rates(report), n * kappa + n * (n - 1) * eps / 2, rtol=1e-5)
    assert report.stationary is not None
    assert report.stationary.covariance[0][0] == pytest.approx(eps / (2 * kappa + eps), rel=1e-8)
    assert {end.kind for end in report.ends} == ({"regular"} if kappa < eps else {"entrance"})
    assert report.boundaries == "natural"


@pytest.mark.parametrize("variance", [0.04, 1.8, 4.0, 12.0])
def test_square_root_process_has_rates_n_kappa_and_a_gamma_law(variance: float) -> None:
    kappa, mean = 3.0, 0.3
    report = analyse(square_root(kappa, mean, variance))
    np.testing.assert_allclose(rates(report), kappa * np.arange(1, 6), rtol=1e-5)
    shape = 2 * kappa * mean / variance
    law = report.stationary
    assert law is not None
    assert law.mean[0] == pytest.approx(mean, rel=1e-8)
    assert law.covariance[0][0] == pytest.approx(mean**2 / shape, rel=1e-8)
    assert law.skewness[0] == pytest.approx(2 / np.sqrt(shape), rel=1e-8)
    assert law.kurtosis[0] == pytest.approx(3 + 6 / shape, rel=1e-8)


def test_moments_that_do_not_exist_are_none_with_a_reason() -> None:
    # π ~ (1 + x²)^−2: the variance is 1, the third absolute moment diverges.
    law = analyse(ScalarProcess(lambda x: -x, lambda x: 1 + x**2, lambda x: -1 + 0 * x)).stationary
    assert law is not None
    assert law.covariance[0][0] == pytest.approx(1, rel=1e-10)
    assert law.skewness == law.kurtosis == (None,)
    assert "x|^-4" in str(law.reasons[0])


def test_inverse_gamma_law_of_a_double_zero_at_the_end_of_the_domain() -> None:
    report = analyse(
        ScalarProcess(lambda x: 1 - x, lambda x: x**2, lambda x: -1 + 0 * x, (0.0, INF))
    )
    assert report.stationary is not None
    assert report.stationary.mean[0] == pytest.approx(1, rel=1e-10)
    assert report.stationary.covariance[0][0] == pytest.approx(1, rel=1e-10)
    np.testing.assert_allclose(rates(report), [1.0], rtol=1e-5)


def test_reflected_brownian_motion_on_a_declared_interval() -> None:
    report = analyse(
        ScalarProcess(lambda x: 0 * x, lambda x: 1 + 0 * x, lambda x: 0 * x, (0.0, 1.0))
    )
    assert report.ergodic
    assert report.boundaries == "reflecting"
    np.testing.assert_allclose(rates(report), np.pi**2 / 2 * np.arange(1, 6) ** 2, rtol=1e-6)


def test_drift_that_saturates_leaves_no_isolated_rate_above_its_continuum() -> None:
    # π ~ cosh^−2, continuum above b²/2a = 1/2, and no bound state but the constant.
    report = analyse(
        ScalarProcess(lambda x: -np.tanh(x), lambda x: 1 + 0 * x, lambda x: -1 / np.cosh(x) ** 2)
    )
    assert report.ergodic
    assert len(rates(report)) == 0
    assert report.spectrum is not None
    assert "continuous above 0.5" in str(report.spectrum.reasons[0])


def test_eigenfunctions_are_hermite_polynomials() -> None:
    report = analyse(ornstein_uhlenbeck(a=2.0), eigenpairs=3, eigenfunctions=True)
    assert report.spectrum is not None
    assert report.stationary is not None
    x = report.stationary.grid[0]
    hermite = np.array([x, (x**2 - 1) / np.sqrt(2), (x**3 - 3 * x) / np.sqrt(6)])
    inside = np.abs(x) < 3
    functions = report.spectrum.eigenfunctions
    assert functions is not None
    # Second order in cells of 0.1 standard deviations.
    np.testing.assert_allclose(functions[:, inside], hermite[:, inside], atol=1e-2)
