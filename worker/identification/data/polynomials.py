"""Polynomials of one and of several variables, in one compiled loop."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOGETHER = 64
"""States whose monomials are taken together, so that they are vector instructions and stay in the cache."""


@nb.njit(cache=True, nogil=True)
def polynomial(x: Floats, origin: float, unit: float, powers: Floats) -> Floats:
    """(n,) → (n,): Σ_i powers_i y^i at y = (x − origin) / unit, by Horner's rule. Overflow gives inf or nan, silently."""
    y, result = np.empty(len(x)), np.empty(len(x))
    for s in range(len(x)):
        y[s] = (x[s] - origin) / unit
        # A constant, too, is nan where there is no state.
        result[s] = powers[-1] + y[s] * 0.0
    for k in range(len(powers) - 2, -1, -1):
        for s in range(len(x)):
            result[s] = powers[k] + result[s] * y[s]
    return result


@nb.njit(cache=True, nogil=True)
def polynomials(
    x: Floats, origins: Floats, units: Floats, exponents: NDArray[np.int64], coefficients: Floats
) -> Floats:
    """(n, d) → (q, n): Σ_k coefficients_jk Π_i y_i^exponents_ki at y = (x − origins) / units.

    exponents (m, d), coefficients (q, m). Far out a power overflows to inf and a difference of two such to nan, silently.
    """
    (n, d), (q, m) = x.shape, coefficients.shape
    result = np.zeros((q, n))
    y, value = np.empty((d, TOGETHER)), np.empty(TOGETHER)
    for first in range(0, n, TOGETHER):
        size = min(TOGETHER, n - first)
        for i in range(d):
            for s in range(size):
                y[i, s] = (x[first + s, i] - origins[i]) / units[i]
        for k in range(m):
            for s in range(size):
                value[s] = 1.0
            for i in range(d):
                for _ in range(exponents[k, i]):
                    for s in range(size):
                        value[s] *= y[i, s]
            for j in range(q):
                # A monomial may overflow: it must not spoil a polynomial that has it not.
                if coefficients[j, k] != 0.0:
                    for s in range(size):
                        result[j, first + s] += coefficients[j, k] * value[s]
    return result
