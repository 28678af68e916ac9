"""Ratios of coefficients, and p-values of several tests."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri


def ratio_interval(
    value: float, error: float, of_value: float, of_error: float, confidence: float
) -> tuple[float, float] | None:
    """Return Fieller's interval of the ratio of two independent normal estimates.

    It holds the r with (value − r of_value)² ≤ z² (error² + r² of_error²), equation (M59). It is
    unbounded where `of_value` may be zero, and None is returned.

    Parameters
    ----------
    value, error : estimate, and its standard error
    of_value, of_error : estimate that it is divided by, and its standard error
    confidence : coverage
    """
    z = float(ndtri((1 + confidence) / 2))
    square = of_value**2 - (z * of_error) ** 2
    if not square > 0:
        return None
    middle = value * of_value / square
    root = np.sqrt(max(middle**2 - (value**2 - (z * error) ** 2) / square, 0.0))
    return float(middle - root), float(middle + root)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values for their number, by Holm's method.

    Of those up to α, the probability that any belongs to a true hypothesis is at most α.
    """
    n, largest = len(p_values), 0.0
    adjusted = [0.0] * n
    for rank, place in enumerate(sorted(range(n), key=lambda i: p_values[i])):
        largest = max(largest, min((n - rank) * p_values[place], 1.0))
        adjusted[place] = largest
    return tuple(adjusted)
