"""Check that the fitted diffusion tensor is positive semi-definite where the data are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""Rounding of a zero eigenvalue of a degenerate tensor, over its mean diagonal."""


@dataclass(frozen=True, slots=True, eq=False)
class Indefinite:
    """States at which the tensor has a negative eigenvalue.

    share   share of all states that were checked
    worst   (d,) state with the lowest eigenvalue
    low     (d,) lower corner of the smallest box that holds these states
    high    (d,) upper corner of the box
    """

    share: float
    worst: Floats
    low: Floats
    high: Floats


def indefinite(states: Floats, functions: Floats, tensor: Floats) -> Indefinite | None:
    """Find where the tensor has a negative eigenvalue; None where it has none at any state.

    Parameters
    ----------
    states : (n, d)
    functions : (n, n_functions) internal functions at the states
    tensor : (d, d, n_functions) internal coefficients
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
