"""Passage times against independent quadrature, at any height of the barrier, and their limits."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess
from worker.generator.quantities.outcomes import TOO_FLAT, Outcome

INF = np.inf
Function = Callable[[float], float]


def double_well(a: float, tilt: float = 0.0) -> ScalarProcess:
    return ScalarProcess(lambda x: x - x**3 + tilt, lambda x: a + 0 * x, lambda x: 1 - 3 * x**2)


def nested_quadrature(psi: Function, a: Function, low: float, start: float, to: float) -> float:
    """∫ 2/(aπ)(y) ∫_low^y π(z) dz dy, adaptively, with nothing shared with the code under test."""

    def inner(y: float) -> float:
        return quad(
            lambda z: np.exp(psi(z) - psi(y)) / a(z), low, y, limit=400, epsabs=0, epsrel=1e-11
        )[0]

    return 2 * quad(inner, start, to, limit=400, epsabs=0, epsrel=1e-10)[0]


@pytest.mark.parametrize(("start", "to"), [(-1.0, 0.0), (-1.0, 1.0), (0.3, 2.0), (-2.0, -0.5)])
def test_double_well_against_nested_quadrature(start: float, to: float) -> None:
    passage = analyse(double_well(0.25), passages=[(start, to)]).passages[0]
    expected = nested_quadrature(
        lambda x: (x**2 - x**4 / 2) / 0.25, lambda x: 0.25, -4.0, start, to
    )
    assert passage.mean_time.value == pytest.approx(expected, rel=1e-8)


def test_multiplicative_noise_against_nested_quadrature() -> None:
    model = ScalarProcess(lambda x: -2 * x, lambda x: 0.25 * (1 + x**2), lambda x: -2 + 0 * x)
    up, down = analyse(model, passages=[(-0.5, 1.0), (1.5, -0.2)]).passages
    expected = nested_quadrature(
        lambda x: -8 * np.log1p(x**2), lambda x: 0.25 * (1 + x**2), -200.0, -0.5, 1.0
    )
    assert up.mean_time.value == pytest.approx(expected, rel=1e-8)
    mirrored = nested_quadrature(
        lambda x: -8 * np.log1p(x**2), lambda x: 0.25 * (1 + x**2), -200.0, -1.5, 0.2
    )
    assert down.mean_time.value == pytest.approx(mirrored, rel=1e-8)


def test_square_root_process_hits_a_level_from_its_end() -> None:
    # T(x → y) solves L T = −1: for a = σ²x, T = ∫ 2/(aπ) ∫π with an incomplete gamma; here σ² = 2κμ
    # makes it elementary.
    kappa, mean = 1.5, 0.4
    model = ScalarProcess(
        lambda x: kappa * (mean - x),
        lambda x: 2 * kappa * mean * x,
        lambda x: -kappa + 0 * x,
        (0.0, INF),
    )
    passage = analyse(model, passages=[(0.1, 0.9)]).passages[0]
    expected = quad(lambda y: np.expm1(y / mean) / (kappa * y), 0.1, 0.9, epsrel=1e-12)[0]
    assert passage.mean_time.value == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kt", [20.0, 40.0, 400.0, 1500.0])
def test_high_barriers_keep_their_digits(kt: float) -> None:
    # Barrier in kT: 2 ΔV / a = 1/(2a). Laplace's series for both integrals of (G14) in powers of a.
    a = 0.5 / kt
    report = analyse(double_well(a), passages=[(-1.0, 1.0)])
    across = report.passages[0]
    y, w = np.linspace(-1.0, 1.0, 400_001, retstep=True)
    psi = (y**2 - y**4 / 2) / a
    outer = np.log(np.sum(np.exp(-psi[1:-1])) * w)
    z = np.linspace(-1.9, -0.1, 400_001)
    well = (z**2 - z**4 / 2) / a
    inner = well.max() + np.log(np.sum(np.exp(well - well.max())) * (z[1] - z[0]))
    assert across.mean_time.log_value is not None
    assert across.mean_time.log_value / np.log(10) == pytest.approx(
        (np.log(2 / a) + outer + inner) / np.log(10), abs=1e-6
    )
    assert across.kramers.log_value == pytest.approx(across.mean_time.log_value, abs=1 / kt)
    if kt > 700:
        assert across.mean_time.value is None
        assert across.mean_time.reason.outcome is Outcome.OVERFLOWS


@pytest.mark.parametrize("tilt", [0.0, 0.05])
def test_slowest_rate_tends_to_the_sum_of_both_escape_rates(tilt: float) -> None:
    # The deviation shrinks as e^−barrier times the barrier's prefactors.
    deviations = []
    for a in (0.25, 0.1, 0.04, 0.02):
        report = analyse(double_well(a, tilt=tilt))
        assert report.spectrum is not None
        forth, back = (passage.mean_time.value for passage in report.passages)
        assert forth is not None
        assert back is not None
        deviations.append(abs(report.spectrum.eigenvalues[0].real / (1 / forth + 1 / back) - 1))
    assert all(later < earlier for earlier, later in pairwise(deviations))
    assert deviations[-1] < 1e-4


def test_forty_kt_spectrum_has_the_tunnelling_rate_and_the_wells_rates() -> None:
    report = analyse(double_well(0.0125))
    assert report.spectrum is not None
    rates = report.spectrum.eigenvalues.real
    time = report.passages[0].mean_time.value
    assert time is not None
    assert rates[0] * time / 2 == pytest.approx(1, abs=1e-6)
    # Curvatures 1 at the top and 2 in the wells, to first order in the noise.
    np.testing.assert_allclose(rates[1:], [1, 2, 2, 2], rtol=0.05)


def test_passage_without_a_barrier_has_no_kramers_time() -> None:
    model = ScalarProcess(lambda x: 0.3 - 25 * x, lambda x: 4e-4 + 0 * x, lambda x: -25 + 0 * x)
    passage = analyse(model, passages=[(0.0, 0.016)]).passages[0]
    expected = nested_quadrature(
        lambda x: -25 * (x - 0.012) ** 2 / 4e-4, lambda x: 4e-4, -0.02, 0.0, 0.016
    )
    assert passage.mean_time.value == pytest.approx(expected, rel=1e-8)
    assert passage.kramers.value is None
    assert passage.kramers.reason.outcome is Outcome.NO_BARRIER


def test_flat_bottomed_well_has_no_kramers_time_but_an_exact_one() -> None:
    model = ScalarProcess(
        lambda x: x**3 * (1 - x), lambda x: 0.02 + 0 * x, lambda x: 3 * x**2 - 4 * x**3
    )
    passage = analyse(model, passages=[(1.0, -0.5)]).passages[0]
    assert passage.mean_time.value is not None
    assert passage.kramers.value is None
    assert passage.kramers.reason == TOO_FLAT


def test_metastable_well_of_a_model_without_a_law_still_has_an_escape_time() -> None:
    model = ScalarProcess(lambda x: -x + x**2, lambda x: 0.05 + 0 * x, lambda x: -1 + 2 * x)
    report = analyse(model, passages=[(0.0, 2.0), (2.0, 0.0)])
    assert not report.ergodic
    out, back = report.passages
    expected = nested_quadrature(
        lambda x: (-(x**2) + 2 * x**3 / 3) / 0.05, lambda x: 0.05, -3.0, 0.0, 2.0
    )
    assert out.mean_time.value == pytest.approx(expected, rel=1e-8)
    assert back.mean_time.value is None
    assert back.mean_time.reason.outcome is Outcome.INFINITE


def test_passage_from_or_to_outside_the_domain_is_none_with_a_reason() -> None:
    model = ScalarProcess(
        lambda x: -0.5 * x, lambda x: 0.3 * (1 - x**2), lambda x: -0.5 + 0 * x, (-1.0, 1.0)
    )
    outside, to_the_end = analyse(model, passages=[(0.0, 1.5), (0.0, 1.0)]).passages
    assert outside.mean_time.value is None
    assert outside.mean_time.reason.outcome is Outcome.OUTSIDE
    # κ > ε: the ends of this Jacobi process are never reached.
    assert to_the_end.mean_time.reason.outcome is Outcome.UNREACHABLE


def test_jacobi_process_reaches_a_regular_end_in_finite_time() -> None:
    kappa, eps = 0.2, 0.5
    model = ScalarProcess(
        lambda x: -kappa * x, lambda x: eps * (1 - x**2), lambda x: -kappa + 0 * x, (-1.0, 1.0)
    )
    passage = analyse(model, passages=[(0.0, 1.0)]).passages[0]

    def mass_below(y: float) -> float:
        # ∫_{−1}^y (1 − z²)^{κ/ε − 1} dz with z = −1 + t^{ε/κ} to take the singularity out.
        top = (1 + y) ** (kappa / eps)
        return quad(
            lambda t: (2 - t ** (eps / kappa)) ** (kappa / eps - 1) * eps / kappa,
            0,
            top,
            epsrel=1e-12,
        )[0]

    # dy = −(1 − κ/ε)^{-1} d(1 − y)^{1 − κ/ε} does the same for the outer integral.
    p = 1 - kappa / eps

    def rate_of_ascent(s: float) -> float:
        distance = s ** (1 / p)
        return float(2 / eps * mass_below(1 - distance) * (2 - distance) ** (-kappa / eps) / p)

    expected = quad(rate_of_ascent, 0, 1, epsrel=1e-10)[0]
    assert passage.mean_time.value == pytest.approx(expected, rel=1e-6)


def test_far_well_behind_a_mountain_is_kept_and_its_time_given_as_a_power_of_ten() -> None:
    # A fit's small false cubic term: a second well at x = 27.8 behind 10⁵ kT, and where all the
    # probability is.
    model = ScalarProcess(
        lambda x: -0.37 * x + 1.446 * x**2 - 0.0514 * x**3,
        lambda x: 0.02 + 0 * x,
        lambda x: -0.37 + 2.892 * x - 0.1542 * x**2,
    )
    report = analyse(model, observed_range=(-0.15, 0.15))
    assert report.ergodic
    assert [point.stable for point in report.fixed_points] == [True, False, True]
    assert report.stationary is not None
    assert report.stationary.mean[0] == pytest.approx(report.fixed_points[2].at[0], rel=1e-3)
    out, back = report.passages
    assert out.mean_time.value is not None
    assert back.mean_time.value is None
    assert back.kramers.log_value == pytest.approx(back.mean_time.log_value, rel=1e-6)
    assert any("well at x = 27.8" in sentence for sentence in report.extrapolated)
