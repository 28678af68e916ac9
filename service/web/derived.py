"""Numbers derived from a result, with the ends of their confidence intervals."""

import math

from contract.results import Eigenvalue, Stationary
from service.web.numbers import with_interval
from service.web.plots.model import ROUNDING

Ends = tuple[float | None, float | None]


def inverted(ci: tuple[float, float] | None) -> Ends | None:
    """Convert the confidence interval of a rate to that of its relaxation time."""
    if ci is None:
        return None
    low, high = ci
    return (1 / high if high > 0 else None, 1 / low if low > 0 else None)


def period_ends(eigenvalue: Eigenvalue) -> Ends | None:
    """Return the interval of an eigenvalue's period; None if that of its frequency contains 0."""
    ends = eigenvalue.im_ci
    if ends is None or ends[0] * ends[1] <= 0:
        return None
    turns = sorted(2 * math.pi / abs(end) for end in ends)
    return turns[0], turns[1]


def mean_of(stationary: Stationary, k: int) -> tuple[str, str]:
    """Write the mean of variable k and its interval as text.

    A mean that is zero by symmetry is zero up to rounding, relative to the standard deviation.
    """
    variance = stationary.covariance[k][k] if k < len(stationary.covariance) else None
    least = ROUNDING * math.sqrt(variance or 0.0)
    ends = stationary.mean_ci[k] if k < len(stationary.mean_ci) else None
    known = [
        0.0 if v is not None and abs(v) < least else v for v in (stationary.mean[k], *(ends or ()))
    ]
    return with_interval(known[0], (known[1], known[2]) if ends is not None else None)
