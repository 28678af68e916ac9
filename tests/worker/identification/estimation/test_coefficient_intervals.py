"""Intervals hold the truth as often as they say, whichever sampling rule is right."""

import numpy as np
import pytest
from scipy.special import ndtri

from worker.identification.model_sampling import CoefficientEstimate, confidence_interval


def _coverage(shift: float, truth: float, confidence: float = 0.95) -> float:
    """Share of intervals that cover `truth`, for values around 0 with a standard error of one."""
    values = np.random.default_rng(0).standard_normal(200_000)
    low, high = confidence_interval([CoefficientEstimate(1.0, 0.0, 1.0, shift)], confidence, 0.0)
    return float(np.mean((low + values <= truth) & (truth <= high + values)))


@pytest.mark.parametrize("shift", [-10.0, -1.5, -0.3, 0.0, 0.3, 1.5, 10.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_either_end_is_held_as_often_as_promised(shift: float, confidence: float) -> None:
    # Four standard errors of a share of 200 000: 0.002 at 95 %.
    allowed = 4 * np.sqrt(confidence * (1 - confidence) / 200_000)
    assert _coverage(shift, 0.0, confidence) == pytest.approx(confidence, abs=allowed)
    assert _coverage(shift, shift, confidence) == pytest.approx(confidence, abs=allowed)
    # What lies between both is held more often.
    assert _coverage(shift, shift / 2, confidence) >= confidence - allowed


def test_without_a_disagreement_it_is_the_usual_interval() -> None:
    assert confidence_interval([CoefficientEstimate(1.0, 2.0, 0.1)], 0.95, 2.0) == pytest.approx(
        (2 - 0.195996, 2 + 0.195996), abs=1e-6
    )


def test_a_term_that_may_be_absent_has_an_interval_that_holds_zero() -> None:
    """Closed form: with probability 0.6 of N(2, 0.1²), 0.95/0.6 is left above the lower end."""
    (low, high) = confidence_interval([CoefficientEstimate(0.6, 2.0, 0.1)], 0.95, 2.0)
    assert low == 0.0
    assert high == pytest.approx(2 + 0.1 * ndtri(1 - 0.025 / 0.6), abs=1e-6)
    certain = [CoefficientEstimate(0.5, 2.0, 0.1), CoefficientEstimate(0.5, 2.0, 0.1)]
    assert confidence_interval(certain, 0.95, 2.0) == pytest.approx(
        (2 - 0.195996, 2 + 0.195996), abs=1e-6
    )


@pytest.mark.parametrize("value", [0.0, 2.0, 7.0])
def test_it_holds_the_estimate_where_other_sets_of_terms_exclude_it(value: float) -> None:
    """A set of terms that is selected may be one in a hundred of all likely ones."""
    others = [CoefficientEstimate(0.99, 4.0, 0.1), CoefficientEstimate(0.01, 2.0, 0.1)]
    low, high = confidence_interval(others, 0.95, value)
    assert low <= value <= high
    # The rest of the interval stays: 0.99 N(4, 0.1²) and 0.01 far below it.
    assert max(high if value < 4 else low, -np.inf) == pytest.approx(
        4 + (0.1 if value < 4 else -0.1) * -ndtri(0.025 / 0.99 if value < 4 else 0.015 / 0.99),
        abs=1e-6,
    )


def test_ignoring_the_other_rule_would_miss_its_truth() -> None:
    """Negative control."""
    values = np.random.default_rng(0).standard_normal(200_000)
    assert np.mean(np.abs(values - 1.5) < 1.96) < 0.7
