"""Intervals over sampled models are what the samples say, no more and no less."""

import numpy as np
import pytest

from worker.generator.analysis import analyse, analysis
from worker.generator.process import ScalarProcess
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.generator.uncertainty.intervals import FEWEST


def linear(theta: float, a: float = 1.0) -> ScalarProcess:
    return ScalarProcess(lambda x: -theta * x, lambda x: a + 0 * x, lambda x: -theta + 0 * x)


def double_well(slope: float, cubic: float, a: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: slope * x - cubic * x**3, lambda x: a + 0 * x, lambda x: slope - 3 * cubic * x**2
    )


def test_intervals_are_the_percentiles_of_the_samples_own_values() -> None:
    thetas = np.linspace(0.8, 1.2, 41)
    result = intervals_over([linear(theta) for theta in thetas], analysis(linear(1.0)), 0.9)
    low, high = np.quantile(thetas, [0.05, 0.95], method="nearest")
    for k, interval in enumerate(result.ranges("spectrum", "eigenvalues", "re")):
        assert interval is not None
        assert interval == pytest.approx(((k + 1) * low, (k + 1) * high), rel=1e-4)
    variance = result.range("stationary", "covariance", 0, 0)
    assert variance is not None
    assert variance == pytest.approx((0.5 / high, 0.5 / low), rel=1e-6)
    assert result.ergodic_share == 1


def test_escape_time_intervals_hold_exact_times_of_the_extreme_models() -> None:
    noises = np.linspace(0.2, 0.3, 21)
    reference = analysis(double_well(1, 1, 0.25), passages=[(-1.0, 1.0), (-1.0, 0.0)])
    result = intervals_over([double_well(1, 1, a) for a in noises], reference, 0.9999)
    slowest, fastest = (
        analyse(double_well(1, 1, a), passages=[(-1.0, 1.0)]).passages[0] for a in (0.2, 0.3)
    )
    assert result.range("passages", 0, "mean_time") == pytest.approx(
        (fastest.mean_time.value, slowest.mean_time.value), rel=1e-6
    )
    assert result.range("passages", 0, "kramers") == pytest.approx(
        (fastest.kramers.value, slowest.kramers.value), rel=1e-6
    )
    # A sample's barrier is to one side or the other of the reference's, and the asymptotic time to
    # it jumps.
    assert result.range("passages", 1, "kramers") is None


def test_samples_without_a_law_lower_the_share_and_make_the_longest_times_infinite() -> None:
    samples = [linear(theta) for theta in np.linspace(0.5, 1.5, 30)] + [
        linear(-theta) for theta in np.linspace(0.1, 0.5, 10)
    ]
    result = intervals_over(samples, analysis(linear(1.0), passages=[(0.0, 1.0)]), 0.9)
    assert result.ergodic_share == 0.75
    time = result.range("passages", 0, "mean_time")
    assert time is not None
    assert np.isfinite(time[0])
    assert time[1] == np.inf
    rate = result.range("spectrum", "eigenvalues", "re", 0)
    assert rate is not None
    assert rate[0] > 0


def test_too_few_samples_give_no_interval() -> None:
    result = intervals_over([linear(1.0)] * (FEWEST - 1), analysis(linear(1.0)), 0.95)
    assert result.range("spectrum", "eigenvalues", "re", 0) is None
    assert result.ergodic_share == 1
    assert intervals_over([], analysis(linear(1.0)), 0.95).ergodic_share is None


def test_samples_whose_noise_turns_negative_beyond_the_data_are_narrowed_to_it() -> None:
    def fitted(curvature: float) -> ScalarProcess:
        return ScalarProcess(
            lambda x: -0.5 * x, lambda x: 0.3 - curvature * x**2, lambda x: -0.5 + 0 * x
        )

    samples = [fitted(curvature) for curvature in np.linspace(0.25, 0.3, 25)]
    process = ScalarProcess(
        lambda x: -0.5 * x, lambda x: 0.3 * (1 - x**2), lambda x: -0.5 + 0 * x, (-1.0, 1.0)
    )
    assert intervals_over(samples, analysis(process), 0.95).ergodic_share == 0
    narrowed = intervals_over(samples, analysis(process, observed_range=(-0.9, 0.9)), 0.95)
    assert narrowed.ergodic_share == 1
    assert narrowed.range("spectrum", "eigenvalues", "re", 0) == pytest.approx((0.5, 0.5), rel=1e-4)


def test_samples_of_a_closed_reference_are_closed_too_and_counted_as_they_are() -> None:
    reference = analysis(linear(-0.1), observed_range=(-1.0, 1.0), reflecting_ends=True)
    assert reference.report.boundaries == "reflecting"
    result = intervals_over(
        [linear(theta) for theta in np.linspace(-0.3, 0.1, 41)], reference, 0.95
    )
    # Half the Neumann rate of Brownian motion on [−1, 1] is π²/8; the drift changes it a little.
    rate = result.range("spectrum", "eigenvalues", "re", 0)
    assert rate is not None
    assert 0.9 < rate[0] < rate[1] < 1.5
    assert result.ergodic_share == pytest.approx(10 / 41)


def test_samples_on_a_circle_are_analysed_on_the_circle() -> None:
    def driven(push: float) -> ScalarProcess:
        return ScalarProcess(
            lambda x: push + 0 * x, lambda x: 2 + 0 * x, lambda x: 0 * x, period=2 * np.pi
        )

    reference = analysis(driven(1.0), passages=[(0.0, 1.0)])
    result = intervals_over([driven(push) for push in np.linspace(0.5, 1.5, 25)], reference, 0.9)
    assert result.ergodic_share == 1
    # The drift turns the waves but does not damp them.
    assert result.range("spectrum", "eigenvalues", "re", 0) == pytest.approx((1, 1), rel=1e-9)
    time, exact = (
        result.range("passages", 0, "mean_time"),
        reference.report.passages[0].mean_time.value,
    )
    assert time is not None
    assert exact is not None
    assert time[0] < exact < time[1]


def test_exits_and_the_correlation_time_have_intervals_around_their_values() -> None:
    random = np.random.default_rng(2)

    def process(rate: float, a: float) -> ScalarProcess:
        return ScalarProcess(lambda x: -rate * x, lambda x: a + 0 * x, lambda x: -rate + 0 * x)

    reference = analysis(process(1.0, 0.5), exits=[(0.1, -0.5, 0.6)])
    models = [process(float(rate), 0.5) for rate in 1 + 0.1 * random.standard_normal(200)]
    found = intervals_over(models, reference, 0.95)
    probability, time = (
        found.range("exits", 0, "probability_high"),
        found.range("exits", 0, "mean_time"),
    )
    assert probability is not None
    assert time is not None
    assert reference.report.exits[0].probability_high is not None
    assert probability[0] < reference.report.exits[0].probability_high < probability[1]
    assert time[0] < (reference.report.exits[0].mean_time.value or 0) < time[1]
    # The correlation time of a linear drift is 1 / rate.
    rates = sorted(1 / (1 + 0.1 * np.random.default_rng(2).standard_normal(200)))
    assert found.range("correlations", "integrated_times", 0) == pytest.approx(
        (rates[5], rates[194]), rel=2e-2
    )
