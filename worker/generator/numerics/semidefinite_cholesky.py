"""Square roots σ of the diffusion tensor, σσᵀ = a, at many states at once."""

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray

ROUNDING = 1e-12
"""Pivot, over the diagonal, below which it counts as zero."""
NEGATIVE = 1e-6
"""Negative pivot, over the diagonal, beyond which the tensor is not positive semi-definite."""


def root_of(tensors: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return lower triangular roots (n, d, d) of tensors (n, d, d), and which are indefinite.

    The second array, (n,), marks the tensors that are not positive semi-definite. Cholesky's
    recursion runs over all states at once. A pivot that is zero or negative leaves its column
    empty, so that singular noise needs no special case.
    """
    n, d = tensors.shape[:2]
    a = np.ascontiguousarray(tensors.transpose(1, 2, 0))
    sigma = np.zeros((d, d, n))
    indefinite = np.zeros(n, dtype=np.bool_)
    for j in range(d):
        size = np.abs(a[j, j])
        pivot = a[j, j].copy()
        for k in range(j):
            pivot -= sigma[j, k] ** 2
        indefinite |= pivot < -NEGATIVE * size
        usable = pivot > ROUNDING * size
        np.sqrt(pivot, out=sigma[j, j], where=usable)
        for i in range(j + 1, d):
            rest = a[i, j].copy()
            for k in range(j):
                rest -= sigma[i, k] * sigma[j, k]
            np.divide(rest, sigma[j, j], out=sigma[i, j], where=usable)
    return sigma.transpose(2, 0, 1), indefinite
