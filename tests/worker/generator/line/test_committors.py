"""Committors, splitting probabilities and exit times on the line against closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import dawsn, erfi

from worker.generator.analysis import analyse
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.outcomes import NOISE_NOT_POSITIVE, Outcome, Reason
from worker.generator.quantities.passages import Committed, Committor
from worker.generator.quantities.regions import Region

INF = np.inf


def double_well(a: float, tilt: float = 0.0) -> ScalarProcess:
    return ScalarProcess(lambda x: x - x**3 + tilt, lambda x: a + 0 * x, lambda x: 1 - 3 * x**2)


def straight(speed: float, a: float, **more: object) -> ScalarProcess:
    return ScalarProcess(lambda x: speed + 0 * x, lambda x: a + 0 * x, lambda x: 0 * x, **more)


def linear(a: float) -> ScalarProcess:
    return ScalarProcess(lambda x: -x, lambda x: a + 0 * x, lambda x: -1 + 0 * x)


def values(committor: Committor) -> tuple[FloatArray, FloatArray]:
    assert isinstance(committor.found, Committed), committor.found
    return committor.found.grid[0], committor.found.values


def test_neighbouring_wells_have_a_committor_of_one_half_on_top_of_the_barrier() -> None:
    (committor,) = analyse(double_well(0.25)).committors
    q = values(committor)[1]
    assert (committor.start, committor.to) == pytest.approx((-1, 1))
    assert (q[0], q[50], q[-1]) == (0, pytest.approx(0.5, rel=1e-10), 1)
    assert np.all(np.diff(q) > 0)


def test_linear_process_to_full_relative_accuracy_however_small() -> None:
    # r ~ exp(x²/a): from 0 to 6 at a = 0.49 the committor begins at 1e-33.
    x, q = values(analyse(linear(0.49), committors=[(0.0, 6.0)]).committors[0])
    z = x[1:] / 0.7
    exact = np.exp(z**2 - z[-1] ** 2) * dawsn(z) / dawsn(z[-1])
    assert exact[0] < 1e-31
    np.testing.assert_allclose(q[1:], exact, rtol=1e-9)
    back = values(analyse(linear(0.49), committors=[(6.0, 0.0)]).committors[0])[1]
    np.testing.assert_allclose(back[:-1], 1 - q[:-1], atol=1e-14)


def test_committor_needs_no_stationary_law_and_takes_intervals_by_facing_ends() -> None:
    pair = (Region(((-INF, -1.0),)), Region(((2.0, INF),)))
    report = analyse(straight(0.5, 0.8), committors=[pair])
    assert not report.ergodic
    x, q = values(report.committors[0])
    assert (x[0], x[-1]) == (-1, 2)
    np.testing.assert_allclose(
        q, np.expm1(-2 * 0.5 / 0.8 * (x + 1)) / np.expm1(-2 * 0.5 / 0.8 * 3), rtol=1e-10
    )


def test_committor_up_to_an_end_that_is_reached() -> None:
    kappa, eps = 0.2, 0.5
    model = ScalarProcess(
        lambda x: -kappa * x, lambda x: eps * (1 - x**2), lambda x: -kappa + 0 * x, (-1.0, 1.0)
    )
    x, q = values(analyse(model, committors=[(0.0, 1.0)]).committors[0])
    p = 1 - kappa / eps

    def resistance(low: float, high: float) -> float:
        # ∫ (1 − y²)^(−κ/ε) dy with s = (1 − y)^p.
        top, bottom = (1 - low) ** p, (1 - high) ** p
        return quad(lambda s: (2 - s ** (1 / p)) ** (-kappa / eps) / p, bottom, top, epsrel=1e-12)[
            0
        ]

    for i in (10, 60, 99):
        assert q[i] == pytest.approx(resistance(0, x[i]) / resistance(0, 1), rel=1e-8)


@pytest.mark.parametrize(
    ("pair", "why"),
    [
        ((0.0, 0.0), Outcome.NO_PLACE),
        ((0.0, 2.0), Outcome.OUTSIDE),
        ((0.0, 1.0), Outcome.UNREACHABLE),
        (((0.0, 0.0), 0.5), Outcome.NO_PLACE),
    ],
)
def test_without_a_committor_there_is_a_reason(pair: tuple, why: Outcome) -> None:
    model = ScalarProcess(
        lambda x: -0.6 * x, lambda x: 0.5 * (1 - x**2), lambda x: -0.6 + 0 * x, (-1.0, 1.0)
    )
    (committor,) = analyse(model, committors=[pair]).committors
    assert isinstance(committor.found, Reason)
    assert committor.found.outcome is why


def test_brownian_motion_with_drift_leaves_an_interval_as_wald_says() -> None:
    speed, a, low, high, start = 0.3, 0.7, -1.0, 2.0, 0.25
    (found,) = analyse(straight(speed, a), exits=[(start, low, high)]).exits
    g = -2 * speed / a
    splitting = np.expm1(g * (start - low)) / np.expm1(g * (high - low))
    assert found.probability_high == pytest.approx(splitting, rel=1e-10)
    # Wald's identity: the mean displacement is the drift times the mean time.
    assert found.mean_time.value == pytest.approx(
        (splitting * (high - low) - (start - low)) / speed, rel=1e-9
    )


def test_exit_probabilities_and_times_keep_their_digits_over_a_high_barrier() -> None:
    a = 0.0125
    (far, near) = analyse(double_well(a), exits=[(-1.0, -1.2, 1.0), (-1.0, -2.0, 1.0)]).exits

    def resistance(low: float, high: float) -> float:
        return quad(lambda x: np.exp((x**4 / 2 - x**2) / a), low, high, epsrel=1e-11)[0]

    expected = resistance(-1.2, -1.0) / (resistance(-1.2, 0.0) + resistance(0.0, 1.0))
    assert expected < 1e-10
    assert far.probability_high == pytest.approx(expected, rel=1e-8)
    # −2 is uphill by 380 kT: the process leaves over the barrier, and a way that is never taken
    # makes no difference.
    passage = analyse(double_well(a), passages=[(-1.0, 1.0)]).passages[0]
    assert near.probability_high == pytest.approx(1, abs=1e-12)
    assert near.mean_time.value == pytest.approx(passage.mean_time.value, rel=1e-9)


def test_exit_time_of_the_linear_process_against_nested_quadrature() -> None:
    (found,) = analyse(linear(0.49), exits=[(0.3, -0.5, 1.0)]).exits

    def scale(x: float) -> float:
        return float(erfi(x / 0.7))

    whole = scale(1.0) - scale(-0.5)

    def density(z: float) -> float:
        # Green's function: 2/(a s') (S(x∧z) − S(l)) (S(h) − S(x∨z)) / (S(h) − S(l)).
        green = (scale(min(0.3, z)) - scale(-0.5)) * (scale(1.0) - scale(max(0.3, z))) / whole
        return float(2 / 0.49 * np.exp(-(z**2) / 0.49) * green * 0.7 * np.sqrt(np.pi) / 2)

    assert found.mean_time.value == pytest.approx(
        quad(density, -0.5, 1.0, points=[0.3], epsrel=1e-11)[0], rel=1e-9
    )


def test_geometric_brownian_motion_leaves_an_interval_and_never_reaches_zero() -> None:
    mu, a = 0.1, 0.5
    model = ScalarProcess(lambda x: mu * x, lambda x: a * x**2, lambda x: mu + 0 * x, (0.0, INF))
    inside, to_zero = analyse(model, exits=[(1.0, 0.5, 3.0), (1.0, 0.0, 3.0)]).exits
    power = 1 - 2 * mu / a
    expected = (1 - 0.5**power) / (3**power - 0.5**power)
    assert inside.probability_high == pytest.approx(expected, rel=1e-9)
    # ln X drifts at μ − a/2.
    assert inside.mean_time.value == pytest.approx(
        (expected * np.log(3) + (1 - expected) * np.log(0.5)) / (mu - a / 2), rel=1e-8
    )
    assert to_zero.probability_high is None
    assert to_zero.reason.outcome is Outcome.UNREACHABLE


def test_population_that_dies_out_or_takes_over_has_kimuras_probability() -> None:
    # dX = s X(1 − X) dt + √(X(1 − X)) dW: both ends are exits.
    s = 1.5
    model = ScalarProcess(
        lambda x: s * x * (1 - x), lambda x: x * (1 - x), lambda x: s * (1 - 2 * x), (0.0, 1.0)
    )
    found = analyse(model, exits=[(0.1, 0.0, 1.0)], committors=[(0.0, 1.0)])
    assert found.exits[0].probability_high == pytest.approx(
        np.expm1(-2 * s * 0.1) / np.expm1(-2 * s), rel=1e-7
    )
    x, q = values(found.committors[0])
    np.testing.assert_allclose(q, np.expm1(-2 * s * x) / np.expm1(-2 * s), rtol=1e-7)
    neutral = ScalarProcess(lambda x: 0 * x, lambda x: x * (1 - x), lambda x: 0 * x, (0.0, 1.0))
    time = analyse(neutral, exits=[(0.3, 0.0, 1.0)]).exits[0].mean_time
    assert time.value == pytest.approx(-2 * (0.3 * np.log(0.3) + 0.7 * np.log(0.7)), rel=1e-6)


def test_start_at_an_end_and_a_start_outside() -> None:
    at_low, at_high, outside = analyse(
        linear(0.5), exits=[(0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (2.0, 0.0, 1.0)]
    ).exits
    assert (at_low.probability_high, at_high.probability_high) == (0, 1)
    assert at_low.mean_time.value == at_high.mean_time.value == 0
    assert outside.probability_high is None
    assert outside.reason.outcome is Outcome.OUTSIDE


def test_on_a_circle_the_goal_may_be_reached_from_behind() -> None:
    free = straight(0.4, 1.0, period=2.0)
    report = analyse(
        free, committors=[(0.0, 0.5)], exits=[(0.25, 0.0, 0.5), (0.0, 1.75, 0.5), (1.0, 0.0, 0.5)]
    )
    x, q = values(report.committors[0])
    g = -2 * 0.4
    ahead = x <= 0.5
    np.testing.assert_allclose(q[ahead], np.expm1(g * x[ahead]) / np.expm1(g * 0.5), rtol=1e-9)
    np.testing.assert_allclose(
        q[~ahead], 1 - np.expm1(g * (x[~ahead] - 0.5)) / np.expm1(g * 1.5), atol=1e-12
    )
    inside, across, outside = report.exits
    assert inside.probability_high == pytest.approx(
        np.expm1(g * 0.25) / np.expm1(g * 0.5), rel=1e-10
    )
    assert across.probability_high == pytest.approx(
        np.expm1(g * 0.25) / np.expm1(g * 0.75), rel=1e-10
    )
    assert outside.probability_high is None


def test_without_noise_nothing_can_be_said() -> None:
    model = ScalarProcess(lambda x: -x, lambda x: 0 * x, lambda x: -1 + 0 * x)
    report = analyse(model, committors=[(0.0, 1.0)], exits=[(0.5, 0.0, 1.0)])
    assert report.committors[0].found == report.exits[0].reason == NOISE_NOT_POSITIVE
