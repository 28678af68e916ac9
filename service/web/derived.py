"""Numbers that follow from a result's, with the ends of their intervals."""

import math

from contract.results import Eigenvalue, Stationary
from service.web.numbers import with_interval
from service.web.plots.model import ROUNDING

Ends = tuple[float | None, float | None]


def inverted(ci: tuple[float, float] | None) -> Ends | None:
    """Of a rate → of its time."""
    if ci is None:
        return None
    low, high = ci
    return (1 / high if high > 0 else None, 1 / low if low > 0 else None)


def period_ends(eigenvalue: Eigenvalue) -> Ends | None:
    """Of its period; None where the interval of its frequency holds zero."""
    ends = eigenvalue.im_ci
    if ends is None or ends[0] * ends[1] <= 0:
        return None
    turns = sorted(2 * math.pi / abs(end) for end in ends)
    return turns[0], turns[1]


def mean_of(law: Stationary, k: int) -> tuple[str, str]:
    """Of variable k, with its interval, as text. Zero by symmetry is zero up to rounding, beside the width of the law."""
    variance = law.covariance[k][k] if k < len(law.covariance) else None
    least = ROUNDING * math.sqrt(variance or 0.0)
    ends = law.mean_ci[k] if k < len(law.mean_ci) else None
    known = [0.0 if v is not None and abs(v) < least else v for v in (law.mean[k], *(ends or ()))]
    return with_interval(known[0], (known[1], known[2]) if ends is not None else None)
