"""Plain least squares on the equations of Algorithm 1, without its selection of terms."""

from collections.abc import Sequence

import numpy as np

from benchmarks.recovery import Floats


def least_squares(design: Floats, response: Floats, terms: Sequence[int] | None = None) -> Floats:
    """Return coefficients of all terms (K,), zero outside `terms`; design (n, K), response (n,)."""
    chosen = list(range(design.shape[1])) if terms is None else list(terms)
    coefficients = np.zeros(design.shape[1])
    coefficients[chosen] = np.linalg.lstsq(design[:, chosen], response, rcond=None)[0]
    return coefficients
