"""Coefficients that differ between records, from each record's score and information (M61)–(M64).

Each record's log-likelihood is quadratic in its coefficients, so that a normal distribution of
these between records integrates exactly, however short a record is. Nothing is averaged over
estimates of single records, whose errors depend on the estimates themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.stats import chi2, f, t

Floats = NDArray[np.float64]

SMALLEST = 1e-9
"""Share of the largest eigenvalue of a record's information below which it knows nothing."""

DETERMINED = 1e-4
"""Share of the average information that a record has to have in all directions to count in Q."""

MOST_OUTLIERS = 10
"""Outliers that are looked for at most, one after the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Log-likelihoods c·s_i − ½ cᵀ P_i c of records, c being the deviation from a common value.

    information   (N, k, k) P_i
    score         (N, k) s_i
    """

    information: Floats
    score: Floats

    @property
    def count(self) -> int:
        """Number of records."""
        return len(self.score)

    def along(self, basis: Floats) -> "Scores":
        """Return the scores of coordinates z with c = basis · z; (k, k) or (k, m)."""
        return Scores(basis.T @ self.information @ basis, self.score @ basis)

    def of(self, records: NDArray[np.bool_]) -> "Scores":
        """Return the scores of some of the records."""
        return Scores(self.information[records], self.score[records])


@dataclass(frozen=True, slots=True, eq=False)
class RandomEffects:
    """Distribution N(mean, between) of the coefficients, by restricted maximum likelihood.

    mean         (k,)
    covariance   (k, k) of the mean, with Knapp and Hartung's factor
    between      (k, k) covariance between records
    log_likelihood   restricted log-likelihood
    shrunken     (N, k) best linear unbiased predictions of each record's coefficients
    errors       (N, k, k) covariances of their errors
    """

    mean: Floats
    covariance: Floats
    between: Floats
    log_likelihood: float
    shrunken: Floats
    errors: Floats


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviation of one number between records.

    interval   its confidence interval
    p_value    probability of so large a restricted likelihood ratio if the number is the same in
               all records, which holds for records of any length
    """

    value: float
    interval: tuple[float, float]
    p_value: float


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Cochran's Q of the records' own estimates of one number.

    statistic   Q ~ χ²(degrees) if it is the same in all records
    degrees     number of records that determine it, less 1
    """

    statistic: float
    degrees: int

    @property
    def p_value(self) -> float:
        """Probability of a larger Q if the number is the same in all records."""
        return float(chi2.sf(self.statistic, self.degrees)) if self.degrees else 1.0

    @property
    def share(self) -> float:
        """I²: share of the estimates' variance that is not their errors'."""
        return max(0.0, 1 - self.degrees / self.statistic) if self.statistic > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Outlier:
    """Record that the others' distribution does not explain.

    record    its number
    p_value   of its distance from the others, times the number of records
    """

    record: int
    p_value: float


def random_effects(scores: Scores) -> RandomEffects:
    """Estimate the distribution of the coefficients between records, (M61) and (M62)."""
    frame = _frame(scores, np.eye(scores.score.shape[1])[0])
    likelihood = _Likelihood(scores.along(frame))
    root, value = likelihood.largest(likelihood.start())
    found = likelihood.at(root)
    back = frame.T
    return RandomEffects(
        frame @ found.mean,
        frame @ (found.covariance * likelihood.knapp_hartung(found)) @ back,
        frame @ root @ root.T @ back,
        value,
        found.shrunken @ back,
        frame @ found.errors @ back,
    )


def spread_of(scores: Scores, direction: Floats, confidence: float) -> Spread:
    """Estimate the standard deviation of direction · c between records, by profile likelihood.

    The likelihood is the restricted one. The interval begins at 0 unless no difference is refused.

    Parameters
    ----------
    scores : log-likelihoods of the records
    direction : (k,)
    confidence : coverage of the interval
    """
    frame = _frame(scores, direction)
    likelihood = _Likelihood(scores.along(frame))
    unit = float(direction @ frame[:, 0])
    root, top = likelihood.largest(likelihood.start())
    best = abs(float(root[0, 0]))
    # Student's quantile, as for the mean: that of χ² held 91.0 ± 1.4 % of 400 standard deviations.
    limit = student(confidence, scores.count)

    @cache
    def distance(sd: float) -> float:
        # The root of the deviance is nearly straight, so that a secant finds its zero.
        _, value = likelihood.largest(root, held=sd)
        return float(np.sqrt(max(2 * (top - value), 0.0))) - limit

    low, high = 0.0, best
    p_value = likelihood.no_difference(distance(0.0) + limit)
    if p_value < 1 - confidence and distance(0.0) > 0:
        low = _zero(lambda s: -distance(s), 0.0, best)
    reach = max(best, 0.1 / np.sqrt(np.sqrt(scores.count)))
    for _ in range(60):
        high += reach
        if distance(high) > 0:
            break
        reach *= 1.6
    high = _zero(distance, high - reach, high)
    return Spread(best * unit, (low * unit, high * unit), p_value)


def _zero(function: Callable[[float], float], low: float, high: float) -> float:
    if function(low) * function(high) >= 0:
        return low
    return float(brentq(function, low, high, xtol=1e-3 * high, rtol=1e-3))


def heterogeneity(scores: Scores, direction: Floats) -> Heterogeneity:
    """Compute Q of direction · c, of the records that determine all coefficients, (M63)."""
    values, variances = own_estimates(scores, direction)
    known = np.isfinite(values)
    if not known.any():
        return Heterogeneity(0.0, 0)
    weights = 1 / variances[known]
    mean = weights @ values[known] / weights.sum()
    statistic = float(weights @ (values[known] - mean) ** 2)
    return Heterogeneity(statistic, int(known.sum()) - 1)


def own_estimates(scores: Scores, direction: Floats) -> tuple[Floats, Floats]:
    """Estimate direction · c of each record by itself, and its variance; NaN where undetermined."""
    frame = _frame(scores, direction)
    own = scores.along(frame)
    values, vectors = np.linalg.eigh(own.information)
    known = values[:, 0] > DETERMINED
    estimates, variances = (np.full(scores.count, np.nan) for _ in range(2))
    inverse = (vectors[known] / values[known, None, :]) @ vectors[known].swapaxes(1, 2)
    unit = float(direction @ frame[:, 0])
    estimates[known] = unit * np.einsum("nj,nj->n", inverse[:, 0], own.score[known])
    variances[known] = unit**2 * inverse[:, 0, 0]
    return estimates, variances


def outliers(scores: Scores, level: float = 0.05) -> tuple[Outlier, ...]:
    """Find records that the distribution of the others does not explain, (M64).

    The most distant record is compared with the distribution of the others without it, then the
    next one; Holm's correction is for all records.
    """
    kept = np.ones(scores.count, dtype=np.bool_)
    found: list[Outlier] = []
    while len(found) < min(MOST_OUTLIERS, scores.count // 5):
        numbers = np.flatnonzero(kept)
        distances, _ = _distances(scores.of(kept), scores.of(kept))
        worst = numbers[int(np.argmax(distances))]
        others = kept.copy()
        others[worst] = False
        distance, degrees = _distances(scores.of(others), scores.of(np.arange(len(kept)) == worst))
        k, n = int(degrees[0]), int(others.sum())
        if k == 0 or n <= k:
            break
        p = float(f.sf(distance[0] * (n - k) / (k * (n - 1)), k, n - k)) * len(numbers)
        if p >= level:
            break
        found.append(Outlier(int(worst), p))
        kept = others
    return tuple(found)


def _distances(of: Scores, records: Scores) -> tuple[Floats, NDArray[np.int_]]:
    """Return squared distances of records from a distribution, and their degrees of freedom."""
    frame = _frame(of, np.eye(of.score.shape[1])[0])
    likelihood = _Likelihood(of.along(frame))
    root, _ = likelihood.largest(likelihood.start())
    found = likelihood.at(root)
    own = records.along(frame)
    left = own.score - own.information @ found.mean
    total = root @ root.T + found.covariance
    noise = own.information + own.information @ total @ own.information
    values, vectors = np.linalg.eigh(noise)
    known = values > SMALLEST * np.maximum(values[:, -1:], np.finfo(float).tiny)
    along = np.einsum("nji,nj->ni", vectors, left)
    squares = np.divide(along**2, values, out=np.zeros_like(values), where=known)
    return squares.sum(axis=1), known.sum(axis=1)


def _frame(scores: Scores, direction: Floats) -> Floats:
    """Return coordinates in which the mean information is 1, and the first is along a direction.

    direction · (frame z) is a multiple of z_1. Directions that no record knows are left out.
    """
    mean = scores.information.mean(axis=0)
    scale = np.sqrt(np.diag(mean))
    values, vectors = np.linalg.eigh(mean / np.outer(scale, scale))
    keep = values > 1e-13
    root = (vectors[:, keep] / np.sqrt(values[keep])) / scale[:, None]
    # Any rotation of the root will do: one that turns the direction into the first axis.
    first = (direction @ root)[:, None]
    turned = np.linalg.qr(np.column_stack([first, np.eye(len(first))]))[0][:, : len(first)]
    turned[:, 0] *= np.sign(float(turned[:, 0] @ first[:, 0])) or 1.0
    return np.asarray(root @ turned)


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Mean, its covariance, and predictions under a covariance between records."""

    mean: Floats
    covariance: Floats
    left: Floats
    weights: Floats
    between: Floats

    @property
    def shrunken(self) -> Floats:
        return np.asarray(self.mean + self.left @ self.between)

    @property
    def errors(self) -> Floats:
        of_mean = np.eye(len(self.mean)) - self.between @ self.weights
        within = self.between - self.between @ self.weights @ self.between
        return np.asarray(within + of_mean @ self.covariance @ of_mean.swapaxes(1, 2))


class _Likelihood:
    """Restricted likelihood of the root L of the covariance Σ = L Lᵀ between records."""

    def __init__(self, scores: Scores) -> None:
        self._p, self._s = scores.information, scores.score
        self._k = scores.score.shape[1]
        self._lower = np.tril_indices(self._k)

    def start(self) -> Floats:
        """Return a root from the moments of the scores: E[s sᵀ − P] = P Σ P."""
        excess = np.einsum("ni,nj->ij", self._s, self._s) / len(self._s) - np.eye(self._k)
        size = np.einsum("nij,nij->i", self._p, self._p) / len(self._p)
        values, vectors = np.linalg.eigh(excess / np.sqrt(np.outer(size, size)))
        values = values.clip(min=0.02)
        return np.linalg.cholesky((vectors * values) @ vectors.T)

    def at(self, root: Floats) -> _Moments:
        """Solve for the mean, and the records' weights and scores left over."""
        between = root @ root.T
        shrink = np.linalg.inv(np.eye(self._k) + self._p @ between)
        weights = shrink @ self._p
        covariance = np.linalg.inv(weights.sum(axis=0))
        scores = np.einsum("nij,nj->ni", shrink, self._s)
        mean = covariance @ scores.sum(axis=0)
        return _Moments(mean, covariance, scores - weights @ mean, weights, between)

    def value(self, root: Floats) -> tuple[float, Floats]:
        """Compute the restricted log-likelihood, and its gradient in L; (k, k)."""
        found = self.at(root)
        # log|1 + ΣP| = log|1 + LᵀPL|, which is symmetric.
        dets = np.linalg.slogdet(np.eye(self._k) + root.T @ self._p @ root)[1].sum()
        own = self._s - self._p @ found.mean
        quadratic = np.einsum("ni,ij,nj->", own, found.between, found.left)
        fixed = float(np.linalg.slogdet(found.covariance)[1])
        total = self._s.sum(axis=0)
        of_mean = total @ found.mean - 0.5 * found.mean @ self._p.sum(axis=0) @ found.mean
        value = 0.5 * (quadratic - dets + fixed) + of_mean
        weights = found.weights
        slope = (
            found.left.T @ found.left
            - weights.sum(axis=0)
            + np.einsum("nij,jk,nkl->il", weights, found.covariance, weights)
        )
        return float(value), np.asarray(slope @ root)

    def largest(self, start: Floats, held: float | None = None) -> tuple[Floats, float]:
        """Return the root with the largest likelihood, and that; its first entry may be held."""
        free = slice(0 if held is None else 1, None)
        begin = start[self._lower].copy()
        if held is not None:
            begin[0] = held
        root = np.zeros((self._k, self._k))

        def filled(values: Floats) -> Floats:
            entries = begin.copy()
            entries[free] = values
            root[self._lower] = entries
            return root

        def negative(values: Floats) -> tuple[float, Floats]:
            value, slope = self.value(filled(values))
            return -value, -slope[self._lower][free]

        if not len(begin[free]):
            return filled(begin[free]).copy(), -negative(begin[free])[0]
        found = minimize(negative, begin[free], jac=True, method="BFGS", options={"gtol": 1e-4})
        return filled(found.x).copy(), -float(found.fun)

    def no_difference(self, deviance_root: float) -> float:
        """Return the probability of a larger root of the deviance if the first number is common.

        Its variance then is at the edge, and its covariances with the others are gone, too: half
        χ²(k − 1), half χ²(k) (Stram and Lee 1994); fewer where the others do not differ either.
        """
        if deviance_root <= 0:
            return 1.0
        halves = (chi2.sf(deviance_root**2, df) if df else 0.0 for df in (self._k - 1, self._k))
        return float(sum(halves) / 2)

    def knapp_hartung(self, found: _Moments) -> float:
        """Return the factor of the mean's variance, from the records' scatter about it."""
        noise = self._p + self._p @ found.between @ self._p
        own = self._s - self._p @ found.mean
        values, vectors = np.linalg.eigh(noise)
        known = values > SMALLEST * np.maximum(values[:, -1:], np.finfo(float).tiny)
        along = np.einsum("nji,nj->ni", vectors, own)
        squares = np.divide(along**2, values, out=np.zeros_like(values), where=known)
        left = int(known.sum()) - self._k
        return float(squares.sum()) / left if left > 0 else 1.0


def student(confidence: float, count: int) -> float:
    """Return Student's quantile for the mean of this many records."""
    return float(t.ppf((1 + confidence) / 2, max(count - 1, 1)))
