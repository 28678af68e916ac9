"""Intervals hold the truth as often as they say, whichever sampling rule is right."""

import numpy as np
import pytest
from scipy.special import ndtri

from worker.identification.model_sampling import CoefficientEstimate, confidence_interval


def _coverage(shift: float, truth: float, confidence: float = 0.95) -> float:
    """Share of intervals that cover `truth`, for values around 0 with a standard error of one."""
    values = np.random.default_rng(0).standard_normal(200_000)
    low, high = confidence_interval([CoefficientEstimate(1.0, 0.0, 1.0, shift)], confidence)
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
    assert confidence_interval([CoefficientEstimate(1.0, 2.0, 0.1)], 0.95) == pytest.approx(
        (2 - 0.195996, 2 + 0.195996), abs=1e-6
    )


def test_a_term_that_may_be_absent_has_an_interval_that_holds_zero() -> None:
    """Closed form: with probability 0.6 of N(2, 0.1²), 0.95/0.6 is left above the lower end."""
    (low, high) = confidence_interval([CoefficientEstimate(0.6, 2.0, 0.1)], 0.95)
    assert low == 0.0
    assert high == pytest.approx(2 + 0.1 * ndtri(1 - 0.025 / 0.6), abs=1e-6)
    certain = [CoefficientEstimate(0.5, 2.0, 0.1), CoefficientEstimate(0.5, 2.0, 0.1)]
    assert confidence_interval(certain, 0.95) == pytest.approx(
        (2 - 0.195996, 2 + 0.195996), abs=1e-6
    )


def test_ignoring_the_other_rule_would_miss_its_truth() -> None:
    """Negative control."""
    values = np.random.default_rng(0).standard_normal(200_000)
    assert np.mean(np.abs(values - 1.5) < 1.96) < 0.7
