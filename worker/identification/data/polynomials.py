"""Polynomials of one and of several variables, each evaluated in one compiled loop."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOGETHER = 64
"""Number of states whose monomials are computed together, as vector instructions in the cache."""


@nb.njit(cache=True, nogil=True)
def polynomial(x: Floats, origin: float, unit: float, powers: Floats) -> Floats:
    """Evaluate Σ_i powers_i y^i at y = (x − origin) / unit by Horner's rule, (n,) → (n,).

    Overflow gives inf or nan, silently.

    Parameters
    ----------
    x : (n,) states
    origin, unit : origin and unit of the coordinate y
    powers : (degree + 1,) coefficients, lowest first
    """
    y, result = np.empty(len(x)), np.empty(len(x))
    for s in range(len(x)):
        y[s] = (x[s] - origin) / unit
        # A constant is nan, too, where there is no state.
        result[s] = powers[-1] + y[s] * 0.0
    for k in range(len(powers) - 2, -1, -1):
        for s in range(len(x)):
            result[s] = powers[k] + result[s] * y[s]
    return result


@nb.njit(cache=True, nogil=True)
def polynomials(
    x: Floats, origins: Floats, units: Floats, exponents: NDArray[np.int64], coefficients: Floats
) -> Floats:
    """Evaluate Σ_k coefficients_jk Π_i y_i^exponents_ki at y = (x − origins) / units; (q, n).

    Far out a power overflows to inf and a difference of two such to nan, silently.

    Parameters
    ----------
    x : (n, d) states
    origins, units : (d,) origins and units of the coordinates y
    exponents : (m, d) exponents of the monomials
    coefficients : (q, m) coefficients of the q polynomials
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
                # A monomial that overflows must not spoil a polynomial that does not contain it.
                if coefficients[j, k] != 0.0:
                    for s in range(size):
                        result[j, first + s] += coefficients[j, k] * value[s]
    return result
