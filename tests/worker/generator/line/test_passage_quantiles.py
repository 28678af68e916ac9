"""Intervals of passage times' quantiles: the time until a linear process is first at its mean, and others' own laws."""

import numpy as np
import pytest
from scipy.special import erfcinv

from worker.documents.generator import analysis_of
from worker.generator.analysis import analyse
from worker.generator.line.passages.distribution import PROBABILITIES, PassageCurve
from worker.generator.process import ScalarProcess
from worker.generator.uncertainty.batch import analysed_together
from worker.generator.uncertainty.confidence_intervals import spread
from worker.generator.uncertainty.single_model import analysed_alone


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
    found = spread([linear(t) for t in thetas], analyse(linear(1.0), passages=[(start, 0.0)]), 0.9)
    for probability, interval in zip(PROBABILITIES, found.quantiles[0], strict=True):
        times = [time_to_the_mean(t, 1.0, start, probability) for t in thetas]
        # A law is given to a thousandth of its peak, the early times of it to as much.
        assert interval == pytest.approx(
            np.quantile(times, [0.05, 0.95], method="nearest"), rel=3e-3
        )
    # Negative control: they do not all scale like the mean, as they would if only it were known.
    mean = found.passages[0]
    assert mean is not None
    early = found.quantiles[0][0]
    assert early is not None
    assert early[1] / early[0] < 0.9 * mean[1] / mean[0]


@pytest.mark.parametrize("pair", [(-1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (1.0, 0.5)])
def test_together_and_alone_they_are_those_of_the_models_own_law(pair: tuple[float, float]) -> None:
    reference = analyse(double_well(0.25), passages=[pair])
    models = [double_well(0.2375, 1.04, 0.01), double_well(0.265, 0.97, -0.02)]
    pairs = tuple((passage.start, passage.to) for passage in reference.passages)
    known = reference.passages[0].law
    assert isinstance(known, PassageCurve)
    for model, sample in zip(
        models, analysed_together(models, reference, pairs, None), strict=True
    ):
        law = analyse(model, passages=[pair]).passages[0].law
        assert isinstance(law, PassageCurve)
        assert sample is not None
        alone = analysed_alone(model, reference, pairs, None, in_full=True)
        assert sample.log_quantiles[0] == pytest.approx(np.log(law.quantiles), abs=4e-3)
        assert alone.log_quantiles[0] == pytest.approx(np.log(law.quantiles), abs=5e-4)
        # Negative control: they are not the reference's.
        assert np.max(np.abs(np.log(known.quantiles) - np.log(law.quantiles))) > 0.05


def test_samples_that_may_never_arrive_leave_the_interval_open() -> None:
    samples = [linear(t) for t in [*np.linspace(0.8, 1.2, 30), *np.linspace(-0.3, -0.1, 10)]]
    reference = analyse(linear(1.0), passages=[(0.0, 1.0)])
    found = spread(samples, reference, 0.9)
    median = found.quantiles[0][2]
    assert median is not None
    assert np.isfinite(median[0])
    assert median[1] == np.inf
    document = analysis_of(reference, found).passages[0].quantiles
    assert document[2].ci == (median[0], None)


def test_the_first_hundred_samples_make_them() -> None:
    reference = analyse(linear(1.0), passages=[(0.7, 0.0)])
    first = [linear(t) for t in np.linspace(0.9, 1.1, 100)]
    found = spread([*first, *(linear(2.0) for _ in range(60))], reference, 0.9)
    alone = spread(first, reference, 0.9)
    np.testing.assert_allclose(found.quantiles[0], alone.quantiles[0], rtol=1e-9)
    assert found.passages[0] != pytest.approx(alone.passages[0])
