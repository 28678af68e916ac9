"""Parameters of a document as the core takes them."""

from collections.abc import Mapping

import numpy as np

from contract.base import Interval


def bounds_of(domain: Mapping[str, Interval], variable: str = "x") -> tuple[float, float]:
    """Bounds of a variable, infinite where open."""
    low, high = domain.get(variable, (None, None))
    return (-np.inf if low is None else low, np.inf if high is None else high)


def period_of(periodic: Mapping[str, float], variable: str = "x") -> float | None:
    """Period of a variable, or None."""
    return periodic.get(variable)
