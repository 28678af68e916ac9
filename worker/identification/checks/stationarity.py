"""Test of one drift and one diffusion from the beginning of the record to its end (M24).

The record is cut into stages. In each, a score test correlates the residuals with the library's
first functions, less the effect of an error of the coefficients. Under the null hypothesis, a
stationary record, the sum of squares is χ², whatever drift and diffusion are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtri

Floats = NDArray[np.float64]

STAGES = 8
"""Stretches of time of equal length since the trajectory's start."""

FUNCTIONS = 2
"""Number of the library's functions that are tested in every stage: level and slope."""


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Agreement of the stages with one model.

    z        standard normal equivalent of χ²: large where they disagree
    excess   (χ² − degrees of freedom) / 2: gain in log-likelihood of a model for every stage
    """

    z: float
    excess: float


@dataclass(frozen=True, slots=True, eq=False)
class StageSums:
    """Sums over the windows of each stage for the residuals r of the drift, or of the diffusion.

    The first of the n instruments f are the library's functions.

    score      (STAGES, n)         Σ f r
    variance   (STAGES, n, n)      Σ f fᵀ r²
    slope      (STAGES, n, size)   Σ f gᵀ, with g the factors of the coefficients in a window
    """

    score: Floats
    variance: Floats
    slope: Floats

    @classmethod
    def empty(cls, n: int, size: int) -> "StageSums":
        """Make sums over no windows."""
        return cls(np.zeros((STAGES, n)), np.zeros((STAGES, n, n)), np.zeros((STAGES, n, size)))

    def add(
        self, stage: NDArray[np.int64], instruments: Floats, residual: Floats, design: Floats
    ) -> None:
        """Add windows.

        Parameters
        ----------
        stage : (n_windows,) numbers of their stages
        instruments : (n_windows, n)
        residual : (n_windows,)
        design : (n_windows, size) factors of the coefficients
        """
        present = np.flatnonzero(np.bincount(stage, minlength=STAGES))
        for k in present:
            rows = slice(None) if len(present) == 1 else stage == k
            weighted = instruments[rows] * residual[rows, None]
            self.score[k] += weighted.sum(axis=0)
            self.variance[k] += weighted.T @ weighted
            self.slope[k] += instruments[rows].T @ design[rows]

    def homogeneity(self, inflation: float = 1.0) -> Homogeneity:
        """Test the scores of the stages by χ².

        inflation   factor of their variance, where neighbouring residuals are correlated
        """
        size = self.slope.shape[2]
        looked_at = np.arange(min(FUNCTIONS, size))
        score, variance, slope = (
            self.score[:, :size],
            self.variance[:, :size, :size],
            self.slope[:, :size],
        )
        total, of_total = score.sum(axis=0), variance.sum(axis=0)
        share = slope @ np.linalg.pinv(slope.sum(axis=0), 1e-12)
        scores = (score - share @ total)[:, looked_at]
        covariance = share[:, None] @ of_total @ share.transpose(0, 2, 1)[None]
        covariance -= (
            variance[:, None] @ share.transpose(0, 2, 1)[None] + share[:, None] @ variance[None]
        )
        covariance[np.arange(STAGES), np.arange(STAGES)] += variance
        chosen = covariance[:, :, looked_at[:, None], looked_at].transpose(0, 2, 1, 3)
        matrix = chosen.reshape(scores.size, scores.size) * inflation
        scale = np.sqrt(np.diag(matrix).clip(min=0))
        known = scale > 1e-9 * np.sqrt(np.diag(of_total)[looked_at].max() * inflation)
        if known.sum() < 2:
            return Homogeneity(0.0, 0.0)
        normal = (scores.ravel() / np.where(known, scale, 1.0))[known]
        values, vectors = np.linalg.eigh(
            matrix[np.ix_(known, known)] / np.outer(scale[known], scale[known])
        )
        # The stages' scores add up to zero: one direction for each function is empty.
        keep = values > 1e-8 * values[-1]
        chi_squared, freedom = (
            float(np.sum((vectors[:, keep].T @ normal) ** 2 / values[keep])),
            int(keep.sum()),
        )
        return Homogeneity(_normal_equivalent(chi_squared, freedom), (chi_squared - freedom) / 2)

    def levels(self, coefficients: Floats) -> Floats:
        """Return observed over expected by the first function, 1; NaN without data; (STAGES,)."""
        expected = self.slope[:, 0] @ coefficients
        seen = self.score[:, 0] + expected
        return np.asarray(
            np.divide(seen, expected, out=np.full(STAGES, np.nan), where=expected > 0)
        )


def stage_of(elapsed: Floats, longest: float) -> NDArray[np.int64]:
    """Return the number of each stage; `longest` is the longest trajectory's duration."""
    return np.clip(np.floor(elapsed * (STAGES / longest)), 0, STAGES - 1).astype(np.int64)


def _normal_equivalent(chi_squared: float, freedom: int) -> float:
    """Return the standard normal value with the same tail probability."""
    tail = float(gammaincc(freedom / 2, chi_squared / 2))
    return float(-ndtri(tail)) if tail > 1e-300 else float(np.sqrt(chi_squared))
