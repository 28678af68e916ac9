"""Intervals of quantiles: the time until a linear process is first at its mean, and others."""

import numpy as np
import pytest
from scipy.special import erfcinv

from worker.documents.generator import analysis_of
from worker.generator.analysis import analyse, analysis
from worker.generator.process import ScalarProcess
from worker.generator.quantities.passages import PROBABILITIES, PassageCurve
from worker.generator.uncertainty.confidence_intervals import intervals_over


def linear(theta: float, a: float = 1.0) -> ScalarProcess:
    return ScalarProcess(lambda x: -theta * x, lambda x: a + 0 * x, lambda x: -theta + 0 * x)


def double_well(a: float, slope: float = 1.0, tilt: float = 0.0) -> ScalarProcess:
    return ScalarProcess(
        lambda x: tilt + slope * x - x**3, lambda x: a + 0 * x, lambda x: slope - 3 * x**2
    )


def time_to_the_mean(theta: float, a: float, start: float, probability: float) -> float:
    """Reflection at 0: P(T < t) = erfc(z), z² = θ x² u / (a (1 − u)), u = e^(−2θt)."""
    z = erfcinv(probability)
    return float(-np.log(z**2 * a / (theta * start**2 + z**2 * a)) / (2 * theta))


def test_first_times_at_the_mean_have_the_closed_forms_percentiles() -> None:
    thetas, start = np.linspace(0.8, 1.2, 41), 0.7
    found = intervals_over(
        [linear(t) for t in thetas], analysis(linear(1.0), passages=[(start, 0.0)]), 0.9
    )
    for probability, interval in zip(
        PROBABILITIES, found.ranges("passages", 0, "quantiles"), strict=True
    ):
        times = [time_to_the_mean(t, 1.0, start, probability) for t in thetas]
        # A law is given to a thousandth of its peak, the early times of it to as much.
        assert interval == pytest.approx(
            np.quantile(times, [0.05, 0.95], method="nearest"), rel=3e-3
        )
    # Negative control: they do not all scale like the mean, as they would if only it were known.
    mean = found.range("passages", 0, "mean_time")
    assert mean is not None
    early = found.range("passages", 0, "quantiles", 0)
    assert early is not None
    assert early[1] / early[0] < 0.9 * mean[1] / mean[0]


@pytest.mark.parametrize("pair", [(-1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (1.0, 0.5)])
def test_near_another_model_they_are_those_of_the_models_own_law(pair: tuple[float, float]) -> None:
    reference = analysis(double_well(0.25), passages=[pair])
    models = [double_well(0.2375, 1.04, 0.01), double_well(0.265, 0.97, -0.02)]
    known = reference.report.passages[0].law
    assert isinstance(known, PassageCurve)
    assert reference.perturbed is not None
    for model in models:
        law = analyse(model, passages=[pair]).passages[0].law
        assert isinstance(law, PassageCurve)
        own, itself = (
            np.log(reference.perturbed(process).passages[0].quantiles)
            for process in (model, reference.process)
        )
        # What the cells miss of the reference they miss of the model.
        assert np.log(known.quantiles) + own - itself == pytest.approx(
            np.log(law.quantiles), abs=5e-4
        )
        # Negative control: they are not the reference's.
        assert np.max(np.abs(np.log(known.quantiles) - np.log(law.quantiles))) > 0.05


def test_samples_that_may_never_arrive_leave_the_interval_open() -> None:
    samples = [linear(t) for t in [*np.linspace(0.8, 1.2, 30), *np.linspace(-0.3, -0.1, 10)]]
    reference = analysis(linear(1.0), passages=[(0.0, 1.0)])
    found = intervals_over(samples, reference, 0.9)
    median = found.range("passages", 0, "quantiles", 2)
    assert median is not None
    assert np.isfinite(median[0])
    assert median[1] == np.inf
    document = analysis_of(reference.report, found).passages[0].quantiles
    assert document[2].ci == (median[0], None)
