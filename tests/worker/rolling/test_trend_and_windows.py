"""The line through the gaps, and where windows lie."""

from itertools import pairwise

import numpy as np
import pytest

from worker.identification.data.trajectories import from_arrays
from worker.rolling.rolling import trend_of
from worker.rolling.windows import PIECES, moving_windows


def test_the_line_is_that_of_weighted_least_squares() -> None:
    generator = np.random.default_rng(0)
    t, y, error = (
        np.sort(generator.uniform(0, 10, 7)),
        generator.standard_normal(7),
        generator.uniform(0.1, 1, 7),
    )
    (slope, _), covariance = np.polyfit(t, y, 1, w=1 / error, cov="unscaled")
    found = trend_of(list(t), list(y), list(error))
    assert found is not None
    assert found.slope == pytest.approx(slope)
    assert found.std_error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_scatter_that_no_line_explains_has_a_small_p_value() -> None:
    t, error = list(range(8)), [0.1] * 8
    straight, bent = (
        trend_of(t, [0.05 * k for k in t], error),
        trend_of(t, [0.05 * (k - 3.5) ** 2 for k in t], error),
    )
    assert straight is not None
    assert bent is not None
    assert straight.p_value > 0.99
    assert bent.p_value < 1e-6


def test_three_windows_are_too_few_for_a_trend() -> None:
    assert trend_of([0, 1, 2], [0, 1, 2], [1, 1, 1]) is None


@pytest.mark.parametrize(
    ("count", "share"),
    [(1, 0.5), (2, 0.5), (5, 0.2), (7, 0.9), (50, 0.2), (200, 0.1), (2000, 0.01)],
)
def test_windows_go_from_the_first_sample_to_the_last_and_are_as_long_as_asked(
    count: int, share: float
) -> None:
    data = from_arrays([np.sin(np.arange(50_001.0))], 0.01)
    windows = moving_windows(data, count, None, share)
    begin, end = windows.span(0)
    assert begin == 0
    assert end - begin == pytest.approx(500 * share, rel=0.6 / PIECES)
    if count > 1:
        assert windows.span(count - 1)[1] == pytest.approx(500)
    assert np.all(np.diff(windows.edges) >= 0)
    spans = [windows.span(i) for i in windows.disjoint()]
    assert all(second[0] >= first[1] - 1e-9 for first, second in pairwise(spans))
