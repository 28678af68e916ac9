"""Is the fitted diffusion tensor one, positive semi-definite, where data were seen?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""Of the smallest eigenvalue, over the largest mean diagonal: a degenerate tensor's zero is rounded."""


@dataclass(frozen=True, slots=True, eq=False)
class Indefinite:
    """Where the tensor has a negative eigenvalue, among the states looked at.

    share      of the states
    worst      (d,) the state with the lowest eigenvalue
    low, high  (d,) corners of the smallest box that holds them all
    """

    share: float
    worst: Floats
    low: Floats
    high: Floats


def indefinite(states: Floats, functions: Floats, tensor: Floats) -> Indefinite | None:
    """None where the tensor is positive semi-definite at all states.

    states   (n, d)      functions   (n, n_functions) at the states      tensor   (d, d, n_functions)
    """
    a = np.einsum("pqk,nk->npq", tensor, functions, optimize=True)
    scale = np.sqrt(np.abs(np.einsum("npp->p", a)) / len(a))
    scale = np.where(scale > 0, scale, 1.0)
    lowest = np.linalg.eigvalsh(a / np.outer(scale, scale))[:, 0]
    fails = lowest < -TOLERANCE
    if not fails.any():
        return None
    where = states[fails]
    return Indefinite(
        float(fails.mean()), states[np.argmin(lowest)], where.min(axis=0), where.max(axis=0)
    )
