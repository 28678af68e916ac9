"""Angles: closed forms, the flow round the circle, and independence of where it is cut."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import iv

from worker.generator.analysis import analyse
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.outcomes import ANGLE, NOISE_NOT_POSITIVE, Outcome
from worker.generator.quantities.report import GeneratorReport

TURN = 2 * np.pi


def pendulum(push: float = 0.0, a: float = 1.2, low: float = -np.pi) -> ScalarProcess:
    bounds = (low, low + TURN)
    return ScalarProcess(
        lambda x: push - np.sin(x), lambda x: a + 0 * x, lambda x: -np.cos(x), bounds, TURN
    )


def rates(report: GeneratorReport) -> np.ndarray:
    assert report.spectrum is not None
    return np.asarray(report.spectrum.eigenvalues)


def test_free_rotation_with_drift_has_damped_waves() -> None:
    report = analyse(
        ScalarProcess(lambda x: 3 + 0 * x, lambda x: 2 + 0 * x, lambda x: 0 * x, period=TURN),
        eigenpairs=4,
    )
    # f = e^{ikx}: −L f = (k² a/2 − i k b) f.
    np.testing.assert_allclose(rates(report), [1 + 3j, 1 - 3j, 4 + 6j, 4 - 6j], rtol=1e-10)
    assert report.probability_current == pytest.approx(3 / TURN, rel=1e-12)


def test_pendulum_in_equilibrium_has_the_von_mises_law_and_no_current() -> None:
    report = analyse(pendulum())
    assert report.stationary is not None
    kappa = 2 / 1.2
    von_mises = np.exp(kappa * np.cos(report.stationary.grid[0])) / (TURN * iv(0, kappa))
    np.testing.assert_allclose(report.stationary.density, von_mises, rtol=1e-9)
    assert report.probability_current == pytest.approx(0, abs=1e-14)
    assert np.all(rates(report).imag == 0)
    assert report.stationary.mean == (None,)
    assert report.stationary.reasons == (ANGLE,)


def test_driven_pendulum_obeys_the_equation_of_its_current() -> None:
    report = analyse(pendulum(push=0.7), density_points=4001)
    assert report.stationary is not None
    x, density = report.stationary.grid[0], report.stationary.density
    current = (0.7 - np.sin(x)) * density - 0.6 * np.gradient(density, x)
    # Central differences: error of order step² = 2e−6.
    assert report.probability_current is not None
    np.testing.assert_allclose(current[1:-1], report.probability_current, atol=1e-5)
    # One turn takes 1/J on average, and the probability is one.
    assert np.trapezoid(density, x) == pytest.approx(1, rel=1e-6)


def test_strongly_driven_pendulum_turns_as_fast_as_without_noise() -> None:
    # F = 2, a → 0: period 2π/√(F² − 1), with a correction of order a.
    report = analyse(pendulum(push=2.0, a=0.01))
    assert report.probability_current == pytest.approx(np.sqrt(3) / TURN, rel=0.01)


def test_passage_to_the_top_may_go_either_way_round() -> None:
    passage = analyse(pendulum(), passages=[(0.0, np.pi)]).passages[0]

    def density(x: float) -> float:
        return float(np.exp(2 / 1.2 * np.cos(x)))

    # By symmetry 0 reflects: half the circle with a reflecting end.
    expected = quad(
        lambda y: 2 / 1.2 / density(y) * quad(density, 0, y, epsrel=1e-12)[0],
        0,
        np.pi,
        epsrel=1e-11,
    )[0]
    assert passage.mean_time.value == pytest.approx(expected, rel=1e-8)
    assert passage.kramers.value is None


def test_wells_and_both_ways_over_their_barriers() -> None:
    report = analyse(pendulum(push=0.3))
    stable, unstable = np.arcsin(0.3), np.pi - np.arcsin(0.3)
    assert [point.at[0] for point in report.fixed_points] == pytest.approx(
        [stable, unstable], rel=1e-12
    )
    assert [point.stable for point in report.fixed_points] == [True, False]
    back, forth = report.barriers
    rise = 2 * np.cos(stable)
    assert forth.height == pytest.approx(rise - 0.3 * (unstable - stable), rel=1e-9)
    assert back.height == pytest.approx(rise + 0.3 * (TURN - unstable + stable), rel=1e-9)
    assert forth.height_over_noise == pytest.approx(2 * forth.height / 1.2, rel=1e-9)
    assert back.height_over_noise == pytest.approx(2 * back.height / 1.2, rel=1e-9)


@pytest.mark.parametrize("low", [-1.0, 0.0, 2.5])
def test_the_cut_does_not_matter(low: float) -> None:
    here, there = (analyse(pendulum(0.4, low=cut), passages=[(0.1, 1.7)]) for cut in (-np.pi, low))
    np.testing.assert_allclose(rates(there), rates(here), rtol=1e-8)
    assert there.probability_current == pytest.approx(here.probability_current, rel=1e-9)
    assert there.passages[0].mean_time.value == pytest.approx(
        here.passages[0].mean_time.value, rel=1e-9
    )


def test_angle_in_degrees_is_the_same_process() -> None:
    degrees = ScalarProcess(
        lambda x: 180 / np.pi * (0.4 - np.sin(np.pi / 180 * x)),
        lambda x: 1.2 * (180 / np.pi) ** 2 + 0 * x,
        lambda x: -np.cos(np.pi / 180 * x),
        (-180.0, 180.0),
        360.0,
    )
    np.testing.assert_allclose(rates(analyse(degrees)), rates(analyse(pendulum(0.4))), rtol=1e-9)


@pytest.mark.parametrize(
    ("noise", "why", "where"),
    [
        (np.cos, Outcome.NOT_POSITIVE, "x = "),
        (lambda x: 1 - np.cos(x - 1), Outcome.NOT_POSITIVE, "x = 1"),
        (lambda x: 0 * x, Outcome.DETERMINISTIC, "everywhere"),
        (lambda x: 1 + np.cos(x), Outcome.NOT_POSITIVE, "x = -3.14"),
    ],
)
def test_a_circle_where_the_noise_vanishes_has_no_law(
    noise: Callable[[FloatArray], FloatArray], why: Outcome, where: str
) -> None:
    model = ScalarProcess(lambda x: -np.sin(x), noise, lambda x: -np.cos(x), period=TURN)
    report = analyse(model, passages=[(0.5, 2.0)], committors=[(0.5, 2.0)], exits=[(1.0, 0.5, 2.0)])
    assert not report.ergodic
    assert report.reason.outcome is why
    assert where in report.reason.sentence
    assert [(round(point.at[0], 9), point.stable) for point in report.fixed_points][-1] == (
        0.0,
        True,
    )
    assert report.stationary is None
    assert report.spectrum is None
    assert report.committors[0].found == NOISE_NOT_POSITIVE
    assert report.exits[0].mean_time.reason == NOISE_NOT_POSITIVE


def test_a_circle_with_noise_all_the_way_round_has_a_law() -> None:
    assert analyse(
        ScalarProcess(
            lambda x: -np.sin(x), lambda x: 1.001 + np.cos(x), lambda x: -np.cos(x), period=TURN
        )
    ).ergodic


@pytest.mark.parametrize(("drift", "distance"), [(0.0, 2.0), (0.7, 2.0), (-3.0, 0.5), (0.7, 5.0)])
def test_time_round_a_circle_at_constant_drift_varies_as_its_transform_says(
    drift: float, distance: float
) -> None:
    a = 0.8
    model = ScalarProcess(
        lambda x: drift + 0 * x, lambda x: a + 0 * x, lambda x: 0 * x, (-np.pi, np.pi), 2 * np.pi
    )
    found = analyse(model, passages=[(1.0 + distance, 1.0)]).passages[0].deviation

    def log_transform(s: float) -> float:
        k = np.sqrt(complex(drift**2 + 2 * a * s)) / a
        up = np.exp(drift * (TURN - distance) / a) * np.sinh(distance * k)
        down = np.exp(-drift * distance / a) * np.sinh((TURN - distance) * k)
        return float(np.log(((up + down) / np.sinh(TURN * k)).real))

    def second(h: float) -> float:
        return (
            log_transform(h)
            + log_transform(-h)
            - 2 * (log_transform(1e-9) + log_transform(-1e-9)) / 2
        ) / h**2

    variance = (4 * second(1e-3) - second(2e-3)) / 3
    assert found is not None
    assert found.value == pytest.approx(np.sqrt(variance), rel=1e-5)
    # Negative control: it is not the mean.
    assert found.value != pytest.approx(
        analyse(model, passages=[(1.0 + distance, 1.0)]).passages[0].mean_time.value, rel=0.02
    )


def test_over_a_high_barrier_on_a_circle_the_time_varies_as_much_as_it_lasts() -> None:
    passage = analyse(pendulum(a=0.05), passages=[(0.0, np.pi)]).passages[0]
    assert passage.deviation is not None
    assert passage.deviation.value == pytest.approx(passage.mean_time.value, rel=1e-4)


def test_a_gap_that_rounding_hides_is_not_given_for_a_faster_rate() -> None:
    def wells(a: float) -> GeneratorReport:
        return analyse(
            ScalarProcess(
                lambda x: -np.sin(2 * x),
                lambda x: a + 0 * x,
                lambda x: -2 * np.cos(2 * x),
                period=TURN,
            )
        )

    seen, hidden = wells(0.25), wells(0.09)
    # Between two wells, each left over either barrier: twice the rate of the passage.
    time = seen.passages[0].mean_time.value
    assert time is not None
    assert rates(seen)[0].real == pytest.approx(2 / time, rel=5e-3)
    # At 22 kT it is 1e-10 of the fastest on 16 modes; the next, 1.5, is not the gap.
    assert hidden.spectrum is not None
    assert len(hidden.spectrum.eigenvalues) == 0
    assert [why.outcome for why in hidden.spectrum.reasons] == [Outcome.UNRESOLVED]
    assert hidden.passages[0].mean_time.value is not None


def test_a_turn_of_the_angle_is_not_outside_the_data() -> None:
    """Unwrapped angles of 0.5 … 490 had their well at −1.7, "outside the observed range"."""
    circle = ScalarProcess(
        lambda x: 0.8 + 0.86 * np.sin(x),
        lambda x: 0.4 + 0 * x,
        lambda x: 0.86 * np.cos(x),
        period=2 * np.pi,
    )
    assert len(analyse(circle, observed_range=(0.5, 490.0)).fixed_points) == 2
    assert analyse(circle, observed_range=(0.5, 490.0)).extrapolated == ()
