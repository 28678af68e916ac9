"""Quantities as quadratic functions of the model's coefficients, fitted to few analysed models."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray

RADIUS = 2.0
"""Distance of the models that are analysed, in standard deviations of the models drawn.

It is the distance of the ends of an interval."""
DIAGONAL = 0.75
"""Part of RADIUS along each of two directions at once."""
RANK = 1e-10
"""Ratio of a variance to the largest one below which models do not differ along its direction."""
LENGTH = 4.0
"""Correlation length of a Gaussian process, over the root mean square distance of the models."""
OUTLYING = 10.0
"""Distance from the median, in interquartile ranges, beyond which a model is as one at it."""
NOISES = 10.0 ** np.arange(-8, 1)
"""Variances of its noise, over the largest of the values."""


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """K directions of coefficients (m,) along which models differ, each of unit variance.

    centre   (m,) the coefficients they start from
    factor   (m, K) a step of one standard deviation along each
    """

    centre: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, models: FloatArray, centre: FloatArray) -> "Directions":
        """Return the directions in which models (n, m) are away from the centre (m,)."""
        away = models - centre
        scale = np.sqrt(np.mean(away**2, axis=0))
        active = scale > 0
        scaled = away[:, active] / scale[active]
        variances, axes = (
            np.linalg.eigh(scaled.T @ scaled / len(scaled))
            if len(scaled)
            else (np.zeros(0), np.zeros((0, 0)))
        )
        kept = variances > RANK * variances.max(initial=0.0)
        factor = np.zeros((len(centre), int(kept.sum())))
        factor[active] = scale[active, None] * axes[:, kept] * np.sqrt(variances[kept])
        return cls(centre, factor)

    @property
    def count(self) -> int:
        """Number of directions K."""
        return int(self.factor.shape[1])

    def at(self, steps: FloatArray) -> FloatArray:
        """Return (n, m) the models at steps (n, K)."""
        return np.asarray(self.centre + steps @ self.factor.T)

    def steps(self, models: FloatArray) -> FloatArray:
        """Return (n, K) the models (n, m) in standard deviations along each direction."""
        # A column's scale would drown the small coefficients of a least-squares fit.
        scale = np.linalg.norm(self.factor, axis=1)
        active = scale > 0
        inverse = np.linalg.pinv(self.factor[active] / scale[active, None])
        return np.asarray(((models - self.centre)[:, active] / scale[active]) @ inverse.T)


def design_size(count: int) -> int:
    """Return the number of models that a quadratic function of so many directions takes."""
    return 1 + 2 * count + count * (count - 1) // 2


def design(count: int) -> FloatArray:
    """Return (design_size, K) steps that determine a quadratic function, the centre first."""
    each = RADIUS * np.eye(count)
    pairs = [DIAGONAL * (each[i] + each[j]) for i in range(count) for j in range(i)]
    return np.concatenate([np.zeros((1, count)), each, -each, np.reshape(pairs, (-1, count))])


def features(steps: FloatArray) -> FloatArray:
    """Return (n, design_size) the terms of a quadratic function at steps (n, K)."""
    count = steps.shape[1]
    pairs = [steps[:, i] * steps[:, j] for i in range(count) for j in range(i)]
    return np.column_stack([np.ones(len(steps)), steps, steps**2, *pairs])


def quadratic(values: FloatArray, count: int) -> FloatArray:
    """Return (design_size, M) coefficients of quadratic functions through values on the design."""
    return np.asarray(np.linalg.solve(features(design(count)), values))


def regression(
    analysed: FloatArray, values: FloatArray, steps: FloatArray, *, scattered: bool
) -> FloatArray:
    """Return (N, M) values at steps (N, K), from models anywhere, however few.

    This is Gaussian process regression. What it misses of the nearest model that was analysed is
    added, so that it is exact at these models; the more of them there are, the less depends on it.
    Where the nearest model has no number, or an infinite one, there is none, or an infinite one.

    Parameters
    ----------
    analysed : (n, K) steps of the models that were analysed
    values : (n, M) their values; nan or infinite where they have none
    steps : (N, K) steps of the models that are asked for
    scattered : whether values are to vary as much as the models', for their quantiles: other
        models get what is missed of the nearest one by a regression without it. A regression on 60
        models in hundreds of directions misses nothing of them and most of any other: in six
        variables intervals were half as wide as over 600 models, and held covariances in 81 %
    """
    squares, size = _squared_distances(steps, analysed), steps.shape[1]
    nearest = np.argmin(squares, axis=1)
    other = np.any(steps != analysed[nearest], axis=1)
    found = values[nearest]
    patterns, pattern = np.unique(np.isfinite(values), axis=1, return_inverse=True)
    for number, known in enumerate(patterns.T):
        columns, here = np.flatnonzero(pattern.ravel() == number), known[nearest]
        if here.any():
            models, own = analysed[known], values[known][:, columns]
            low, middle, high = np.quantile(own, [0.25, 0.5, 0.75], axis=0)
            far = OUTLYING * np.where(high > low, high - low, own.std(axis=0))
            place = (np.cumsum(known) - 1)[nearest[here]]
            between, away = _covariance(models, models), _kernel(squares[np.ix_(here, known)], size)
            gaussian = _Gaussian.of(between, np.clip(own, middle - far, middle + far))
            added = (away - between[place]) @ gaussian.weights
            if scattered:
                more = gaussian.scatter(away, place)
                added += np.where(other[here, None], more, 0.0)
            if here.all() and len(patterns.T) == 1:
                return np.asarray(np.add(found, added, out=found))
            found[np.ix_(here, columns)] += added
    return np.asarray(found)


def _squared_distances(one: FloatArray, other: FloatArray) -> FloatArray:
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
    return np.asarray(np.maximum(squares, 0.0))


def _covariance(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return (n, N) the covariances of values at steps (n, K) and (N, K)."""
    return _kernel(_squared_distances(one, other), one.shape[1])


def _kernel(squares: FloatArray, size: int) -> FloatArray:
    """Return the covariances of values at squared distances in so many directions."""
    return np.asarray(np.exp(-squares / (2 * LENGTH**2 * max(1, size))))


@dataclass(frozen=True, slots=True, eq=False)
class _Gaussian:
    """Gaussian process regression on n models; each of M columns has a noise of its own.

    axes      (n, n) eigenvectors of the models' covariance
    inverse   (n, M) eigenvalues of the inverse of covariance and noise
    noise     (M,) variances of the noise
    weights   (n, M) of the models' covariances
    """

    axes: FloatArray
    inverse: FloatArray
    noise: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, covariance: FloatArray, values: FloatArray) -> "_Gaussian":
        variances, axes = np.linalg.eigh(covariance)
        along = axes.T @ (values - values.mean(axis=0))
        noise = NOISES[:, None] * variances[-1]
        left = noise / (np.maximum(variances, 0.0) + noise)
        # Generalised cross-validation, Golub, Heath and Wahba (1979).
        best = np.argmin((left**2 @ along**2) / left.mean(axis=1)[:, None] ** 2, axis=0)
        inverse = (left / noise)[best].T
        return cls(axes, inverse, noise[best, 0], axes @ (along * inverse))

    def scatter(self, covariance: FloatArray, place: NDArray[np.int64]) -> FloatArray:
        """Return (N, M) how much more is missed of models than of those nearest to them.

        Of each, the regression without it misses weight · variance, the variance being one over the
        diagonal of the inverse. Of another model it misses as much, or less in proportion to the
        root of its variance. (Not more: a model with a rare term is far from all others, but its
        quantities need not be.)

        Parameters
        ----------
        covariance : (N, n) of the models with those that were analysed
        place : (N,) number of the nearest of these
        """
        variance = 1 / (self.axes**2 @ self.inverse)
        own = 1 + self.noise - (covariance @ self.axes) ** 2 @ self.inverse
        missed = self.weights[place] * np.sqrt(np.clip(own, 0.0, variance[place]) * variance[place])
        return np.asarray(missed - self.weights[place] * self.noise)
