"""Half-spaces of the coefficients of a component, and the nearest points inside (method.md §17)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.stats import chi2

Floats = NDArray[np.float64]

NULL_DRAWS = 4000
"""Draws that give the weights of χ̄²; each weight is then known to 0.01."""


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpaces:
    """Half-spaces A c ≥ b of the coefficients of a component, and the metric of its estimate.

    rows        (m, n_functions) A, along the internal functions
    least       (m,) b
    along       (n_functions, m) Cov(c) Aᵀ
    covariance  (m, m) A Cov(c) Aᵀ
    """

    rows: Floats
    least: Floats
    along: Floats
    covariance: Floats

    def multipliers(self, slack: Floats) -> Floats:
        """Compute λ ≥ 0 with which c + Cov(c) Aᵀ λ is the nearest point inside, (M72); (n, m).

        slack   (n, m) A c − b
        """
        norms = np.sqrt(np.diag(self.covariance))
        slack = slack / norms
        out = np.zeros_like(slack)
        outside = np.flatnonzero((slack < 0).any(axis=1))
        if len(norms) == 1:
            return (-slack / norms).clip(min=0)
        correlation = self.covariance / np.outer(norms, norms)
        root = cholesky(correlation + 1e-12 * np.eye(len(norms)))
        target = -solve_triangular(root, slack[outside].T, trans="T").T
        for i, row in enumerate(outside.tolist()):
            out[row] = nnls(root, target[i])[0]
        return out / norms

    def inside(self, points: Floats) -> Floats:
        """Move points (n, n_functions) to the nearest ones inside."""
        return np.asarray(
            points + self.multipliers(points @ self.rows.T - self.least) @ self.along.T
        )

    def probability(self, statistic: float) -> float:
        """Compute the largest probability of a larger statistic if A c ≥ b, equation (M73)."""
        m = len(self.least)
        if m == 1:
            return float(0.5 * chi2.sf(statistic, 1))
        root = np.linalg.cholesky(self.covariance + 1e-12 * np.diag(np.diag(self.covariance)))
        normal = np.random.default_rng(0).standard_normal((NULL_DRAWS, m)) @ root.T
        active = (self.multipliers(normal) > 0).sum(axis=1)
        share = np.bincount(active, minlength=m + 1) / NULL_DRAWS
        return float(sum(w * chi2.sf(statistic, j) for j, w in enumerate(share) if j))
