"""Measurement noise y = X + η of several variables: functions corrected so that E[g̃(X + η)] = g(X) (docs/method.md §11)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from worker.identification.data.library import Library

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasurementNoise:
    """Gaussian η of covariance S (d, d), internal units, independent from sample to sample.

    The library holds monomials only: for these the correction C = exp(−½ Σ S_pq ∂_p ∂_q) is a finite sum.
    """

    covariance: Floats
    library: Library

    @cached_property
    def _derivatives(self) -> tuple[Floats, ...]:
        return tuple(_derivative_matrix(self.library, i) for i in range(self.library.dimension))

    @cached_property
    def correction(self) -> Floats:
        """C with g̃ = C g; (n_functions, n_functions)."""
        d = self.library.dimension
        smoothing = np.zeros((self.library.internal_size,) * 2)
        for p in range(d):
            for q in range(d):
                smoothing -= (
                    0.5 * self.covariance[p, q] * self._derivatives[p] @ self._derivatives[q]
                )
        out = power = np.eye(len(smoothing))
        for m in range(1, self.library.internal_degree // 2 + 1):
            power = power @ smoothing / m
            out = out + power
        return out

    def shared(self, p: int) -> Floats:
        """Σ_r S_pr ∂_r, corrected and transposed: functions @ shared(p) is Σ_r S_pr (∂_r g)~; (n_functions, n_functions)."""
        slope = np.einsum("r,rjk->jk", self.covariance[p], np.stack(self._derivatives))
        return np.asarray((slope @ self.correction).T)


def _derivative_matrix(library: Library, variable: int) -> Floats:
    """∂g_k/∂y_variable = Σ_j D_kj g_j."""
    exponents = library.internal_exponents
    place = {e: j for j, e in enumerate(exponents)}
    out = np.zeros((library.internal_size,) * 2)
    for k, e in enumerate(exponents):
        unit = np.zeros(e[variable] + 1)
        unit[-1] = 1.0
        for m, c in enumerate(chebyshev.chebder(unit) if e[variable] else ()):
            if c:
                out[k, place[(*e[:variable], m, *e[variable + 1 :])]] = c
    return out
