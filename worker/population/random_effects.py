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
"""Share of the average information that a record has in all directions if it has an estimate of
its own."""

RECORDS_PER_TERM = 10
"""Fewest records for each of 1 and the first states, to tell what first states say of levels."""

LEAST_VARIANCE = 1e-6
"""Smallest variance between records, in those of the mean record's error, that is not 0: where the
likelihood is largest at 0, the search stops near it."""

LEAST_ROOT = 0.1
"""Smallest diagonal of the root, in standard errors of the mean record, where a search begins."""

LARGEST_SHARE = 0.9
"""Largest share of the mean's information that the covariance between records may take from it."""

MOST_OUTLIERS = 10
"""Outliers that are looked for at most, one after the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Log-likelihoods c·s_i − ½ cᵀ P_i c of records, c being the deviation from a common value.

    information   (N, k, k) P_i
    score         (N, k) s_i
    first         (N, q) first states z_i, with mean 0 and covariance 1; q = 0 without them
    constant      (k,) coordinates of a constant, whose coefficient may depend on them
    """

    information: Floats
    score: Floats
    first: Floats
    constant: Floats

    @classmethod
    def alone(cls, information: Floats, score: Floats) -> "Scores":
        """Return scores whose coefficients have nothing to do with first states."""
        return cls(information, score, np.zeros((len(score), 0)), np.zeros(score.shape[1]))

    @property
    def count(self) -> int:
        """Number of records."""
        return len(self.score)

    @property
    def design(self) -> Floats:
        """Matrices A_i of the expectations A_i β of the coefficients; (N, k, k + q)."""
        k = len(self.constant)
        same = np.broadcast_to(np.eye(k), (self.count, k, k))
        by_first = self.constant[None, :, None] * self.first[:, None, :]
        return np.concatenate([same, by_first], axis=2)

    def along(self, basis: Floats) -> "Scores":
        """Return the scores of coordinates z with c = basis · z; (k, k) or (k, m)."""
        return Scores(
            basis.T @ self.information @ basis,
            self.score @ basis,
            self.first,
            np.linalg.pinv(basis) @ self.constant,
        )

    def of(self, records: NDArray[np.bool_]) -> "Scores":
        """Return the scores of some of the records."""
        return Scores(
            self.information[records], self.score[records], self.first[records], self.constant
        )

    def without_first(self) -> "Scores":
        """Return the scores with nothing known of first states."""
        return Scores.alone(self.information, self.score)


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
    share      I²: share of it in the variance of a typical record's own estimate; NaN without these
    """

    value: float
    interval: tuple[float, float]
    share: float


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Generalised Q of one number: the weighted squares of the records' scores.

    statistic   Q ~ χ²(degrees) if the number is the same in all records
    degrees     number of records, less 1, if all know equally much of it; else fewer
    by_first    probability of so large an effect of first states if they have none; 1 without them
    """

    statistic: float
    degrees: float
    by_first: float

    @property
    def p_value(self) -> float:
        """Probability of so much difference if the number is the same in all records."""
        p = float(chi2.sf(self.statistic, self.degrees)) if self.degrees > 0 else 1.0
        return p if self.by_first == 1 else min(2 * min(p, self.by_first), 1.0)


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
        frame @ likelihood.covariance_of_mean(found) @ back,
        frame @ root @ root.T @ back,
        value,
        found.shrunken @ back,
        frame @ found.errors @ back,
    )


def spread_of(scores: Scores, direction: Floats, confidence: float, p_value: float) -> Spread:
    """Estimate the standard deviation of direction · c between records, by profile likelihood.

    The likelihood is the restricted one. The interval begins at 0 unless no difference is refused.

    Parameters
    ----------
    scores : log-likelihoods of the records
    direction : (k,)
    confidence : coverage of the interval
    p_value : probability of so much difference if there is none
    """
    frame = _frame(scores, direction)
    likelihood = _Likelihood(scores.along(frame))
    unit = float(direction @ frame[:, 0])
    root, top = likelihood.largest(likelihood.start())
    best = float(root[0, 0])
    # At a diagonal of 0 the slope is 0, whatever the likelihood beside it is.
    begin = root + np.diag(np.maximum(LEAST_ROOT - np.diag(root), 0.0))
    by_first = likelihood.by_first(likelihood.at(root))
    # Student's quantile, as for the mean: that of χ² held 91.0 ± 1.4 % of 400 standard deviations.
    limit = student(confidence, scores.count)

    @cache
    def distance(sd: float) -> float:
        # The root of the deviance is nearly straight, so that a secant finds its zero.
        _, value = likelihood.largest(begin, held=sd)
        return float(np.sqrt(max(2 * (top - value), 0.0))) - limit

    def whole(sd: float) -> float:
        return float(unit * np.hypot(sd, by_first))

    low = 0.0
    if p_value < 1 - confidence:
        low = whole(_zero(lambda s: -distance(s), 0.0, best) if distance(0.0) > 0 else 0.0)
    reach, high = max(best, 0.1 / np.sqrt(np.sqrt(scores.count))), best
    for _ in range(60):
        high += reach
        if distance(high) > 0:
            break
        reach *= 1.6
    high = whole(_zero(distance, high - reach, high))
    value = whole(best)
    return Spread(value, (low, high), _share(scores, direction, value))


def _share(scores: Scores, direction: Floats, sd: float) -> float:
    """Return I² by the variance of a typical record's own estimate (Higgins and Thompson 2002)."""
    _, variances = own_estimates(scores, direction)
    weights = 1 / variances[np.isfinite(variances)]
    left = weights.sum() ** 2 - (weights**2).sum()
    if len(weights) < 2 or not left > 0:
        return float("nan")
    typical = (len(weights) - 1) * weights.sum() / left
    return float(sd**2 / (sd**2 + typical))


def _zero(function: Callable[[float], float], low: float, high: float) -> float:
    if function(low) * function(high) >= 0:
        return low
    return float(brentq(function, low, high, xtol=1e-3 * high, rtol=1e-3))


def heterogeneity(scores: Scores, direction: Floats) -> Heterogeneity:
    """Test by a generalised Q whether direction · c is the same in all records, (M63).

    It is the score test of a variance between records, the other coefficients having the covariance
    that they have without it. Scores are martingales, so that its expectation is right for records
    of any length; Q of the records' own estimates is not.
    """
    frame = _frame(scores, direction)
    seen = scores.along(frame)
    likelihood = _Likelihood(seen)
    root, _ = likelihood.largest(likelihood.start(), common=True)
    found = likelihood.at(root)
    by_first = 1.0
    if abs(seen.constant[0]) > SMALLEST * np.abs(seen.constant).max(initial=0.0):
        # What first states say of the number is part of its difference.
        by_first = likelihood.p_of_first(found)
    weights = found.weights[:, 0, 0]
    rows = np.einsum("nj,njp->np", found.weights[:, 0], found.design)
    of_mean = np.einsum("np,pq,nq->n", rows, found.fixed, rows)
    total = found.fixed @ rows.T @ rows
    expected = float((weights - of_mean).sum())
    variance = 2 * float(weights @ weights - 2 * weights @ of_mean + np.trace(total @ total))
    if not (expected > 0 and variance > 0):
        return Heterogeneity(0.0, 0.0, by_first)
    # Two moments make a χ² of the sum (Satterthwaite 1946).
    unit = 2 * expected / variance
    statistic = unit * float((found.left[:, 0] ** 2).sum())
    return Heterogeneity(statistic, unit * expected, by_first)


def determined_without(scores: Scores, count: int) -> bool:
    """Return whether records determine all coefficients without those that know most of them."""
    frame = _frame(scores, np.eye(scores.score.shape[1])[0])
    information = scores.along(frame).information
    most = np.argsort(np.einsum("nii->n", information))[-count:]
    others = information.sum(axis=0) - information[most].sum(axis=0)
    return bool(np.linalg.eigvalsh(others)[0] > SMALLEST * scores.count)


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


def outliers(
    scores: Scores, level: float = 0.05, variance: float | None = None
) -> tuple[Outlier, ...]:
    """Find records that the distribution of the others does not explain, (M64).

    The most distant record is compared with the distribution of the others without it, then the
    next one; Holm's correction is for all records.

    Parameters
    ----------
    scores : log-likelihoods of the records
    level : probability that a record is found where none stands apart
    variance : common value of a single coefficient that is a variance, whose estimates are skewed
    """
    kept = np.ones(scores.count, dtype=np.bool_)
    found: list[Outlier] = []
    while len(found) < min(MOST_OUTLIERS, scores.count // 5):
        numbers = np.flatnonzero(kept)
        distances, _ = _distances(scores.of(kept), scores.of(kept), variance)
        worst = numbers[int(np.argmax(distances))]
        others = kept.copy()
        others[worst] = False
        if not determined_without(scores.of(others), 1):
            break
        one = scores.of(np.arange(len(kept)) == worst)
        distance, degrees = _distances(scores.of(others), one, variance)
        k, n = int(degrees[0]), int(others.sum())
        if k == 0 or n <= k:
            break
        p = float(f.sf(distance[0] * (n - k) / (k * (n - 1)), k, n - k)) * len(numbers)
        if p >= level:
            break
        found.append(Outlier(int(worst), p))
        kept = others
    return tuple(found)


def _distances(
    of: Scores, records: Scores, variance: float | None
) -> tuple[Floats, NDArray[np.int_]]:
    """Return squared distances of records from a distribution, and their degrees of freedom."""
    frame = _frame(of, np.eye(of.score.shape[1])[0])
    likelihood = _Likelihood(of.along(frame))
    root, _ = likelihood.largest(likelihood.start())
    found = likelihood.at(root)
    own = records.along(frame)
    left = own.score - np.einsum("nij,nj->ni", own.information, own.design @ found.beta)
    total = root @ root.T + own.design @ found.fixed @ own.design.swapaxes(1, 2)
    if variance is not None:
        middle = variance / frame[0, 0] + found.mean[0]
        return _of_variances(left[:, 0], own.information[:, 0, 0], total[:, 0, 0], middle)
    noise = own.information + own.information @ total @ own.information
    values, vectors = np.linalg.eigh(noise)
    known = values > SMALLEST * np.maximum(values[:, -1:], np.finfo(float).tiny)
    along = np.einsum("nji,nj->ni", vectors, left)
    squares = np.divide(along**2, values, out=np.zeros_like(values), where=known)
    return squares.sum(axis=1), known.sum(axis=1)


def _of_variances(
    left: Floats, information: Floats, between: Floats, middle: float
) -> tuple[Floats, NDArray[np.int_]]:
    """Return squared distances of variances from their middle, by their cube roots.

    These are nearly normal (Wilson and Hilferty 1931). By the variances themselves a record stood
    apart in 5 of 12 populations of 1000 equal records of 50 increments.
    """
    known = information > DETERMINED * max(float(information.max(initial=0.0)), 1e-300)
    own = np.divide(left, information, out=np.zeros_like(left), where=known)
    error = np.divide(1.0, information, out=np.ones_like(left), where=known)
    ratio = (1 + own / middle).clip(min=0.0)
    share = (error + between) / middle**2 / 9
    return np.where(known, (np.cbrt(ratio) - 1 + share) ** 2 / share, 0.0), known.astype(np.int_)


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
    """Expectations, their covariance, and predictions under a covariance between records.

    beta     (p,) mean, and what first states add to the constant
    fixed    (p, p) its covariance C, if that between records is known
    """

    beta: Floats
    fixed: Floats
    left: Floats
    weights: Floats
    between: Floats
    design: Floats

    @property
    def mean(self) -> Floats:
        return self.beta[: len(self.between)]

    @property
    def shrunken(self) -> Floats:
        return np.asarray(self.design @ self.beta + self.left @ self.between)

    @property
    def errors(self) -> Floats:
        of_mean = (np.eye(len(self.between)) - self.between @ self.weights) @ self.design
        within = self.between - self.between @ self.weights @ self.between
        return np.asarray(within + of_mean @ self.fixed @ of_mean.swapaxes(1, 2))


class _Likelihood:
    """Restricted likelihood of the root L of the covariance Σ = L Lᵀ between records."""

    def __init__(self, scores: Scores) -> None:
        self._p, self._s = scores.information, scores.score
        self._first, self._constant, self._design = scores.first, scores.constant, scores.design
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
        """Solve for the expectations, and the records' weights and scores left over."""
        between = root @ root.T
        shrink = np.linalg.inv(np.eye(self._k) + self._p @ between)
        weights = shrink @ self._p
        sides = np.einsum("nap,nab->npb", self._design, weights)
        fixed = np.linalg.inv(np.einsum("npb,nbq->pq", sides, self._design))
        scores = np.einsum("nij,nj->ni", shrink, self._s)
        beta = fixed @ np.einsum("nap,na->p", self._design, scores)
        left = scores - np.einsum("nij,nj->ni", weights, self._design @ beta)
        return _Moments(beta, fixed, left, weights, between, self._design)

    def value(self, root: Floats) -> tuple[float, Floats]:
        """Compute the restricted log-likelihood, and its gradient in L; (k, k)."""
        found = self.at(root)
        # log|1 + ΣP| = log|1 + LᵀPL|, which is symmetric.
        dets = np.linalg.slogdet(np.eye(self._k) + root.T @ self._p @ root)[1].sum()
        expected = self._design @ found.beta
        seen = np.einsum("nij,nj->ni", self._p, expected)
        quadratic = np.einsum("ni,ij,nj->", self._s - seen, found.between, found.left)
        fixed = float(np.linalg.slogdet(found.fixed)[1])
        of_mean = float(((self._s - 0.5 * seen) * expected).sum())
        value = 0.5 * (quadratic - dets + fixed) + of_mean
        sides = found.weights @ self._design
        slope = (
            found.left.T @ found.left
            - found.weights.sum(axis=0)
            + np.einsum("nip,pq,njq->ij", sides, found.fixed, sides)
        )
        return float(value), np.asarray(slope @ root)

    def largest(
        self, start: Floats, *, held: float | None = None, common: bool = False
    ) -> tuple[Floats, float]:
        """Return the root with the largest likelihood, and that.

        Parameters
        ----------
        start : (k, k) where the search begins
        held : standard deviation at which that of the first coordinate is held
        common : whether the first coordinate is the same in all records
        """
        begin = start[self._lower].copy()
        free = np.ones(len(begin), dtype=np.bool_)
        if held is not None:
            begin[0], free[0] = held, False
        if common:
            free = self._lower[1] > 0
            begin[~free] = 0.0
        root = np.zeros((self._k, self._k))

        def filled(values: Floats) -> Floats:
            entries = begin.copy()
            entries[free] = values
            root[self._lower] = entries
            return root

        def negative(values: Floats) -> tuple[float, Floats]:
            value, slope = self.value(filled(values))
            return -value, -slope[self._lower][free]

        if not free.any():
            return filled(begin[free]).copy(), -negative(begin[free])[0]
        found = minimize(negative, begin[free], jac=True, method="BFGS", options={"gtol": 1e-4})
        best = filled(found.x)
        # Columns with other signs are the same covariance; of those held, only one is near.
        return best * np.where(np.diag(best) < 0, -1.0, 1.0), -float(found.fun)

    def by_first(self, found: _Moments) -> float:
        """Return the standard deviation of the first coordinate that first states explain."""
        k = self._k
        variance = found.beta[k:] @ found.beta[k:] - np.trace(found.fixed[k:, k:])
        return float(abs(self._constant[0]) * np.sqrt(max(variance, 0.0)))

    def p_of_first(self, found: _Moments) -> float:
        """Return the probability of so large an effect of first states if they have none."""
        slopes, fixed = found.beta[self._k :], found.fixed[self._k :, self._k :]
        if not len(slopes):
            return 1.0
        return float(chi2.sf(slopes @ np.linalg.solve(fixed, slopes), len(slopes)))

    def covariance_of_mean(self, found: _Moments) -> Floats:
        """Estimate the covariance of the mean (M95)."""
        k = self._k
        covariance = self._knapp_hartung(found) * self._with_between_unknown(found)[:k, :k]
        # The mean first state of the records is not that of the population.
        slopes = found.beta[k:]
        of_first = float(slopes @ slopes) / len(self._s)
        return np.asarray(covariance + of_first * np.outer(self._constant, self._constant))

    def _with_between_unknown(self, found: _Moments) -> Floats:
        """Return the covariance of β if the covariance between records is estimated, too.

        Short records' informations depend on their scores, so that the estimates of β and Σ are
        correlated: H is the share of β's information that goes into Σ. Where Σ is 0, it takes none.
        """
        n = len(self._s)
        variances, axes = np.linalg.eigh(found.between)
        units = np.array(
            [
                np.outer(axes[:, i], axes[:, j]) + np.outer(axes[:, j], axes[:, i])
                for i, j in zip(*self._lower, strict=True)
                if max(variances[i], variances[j]) > LEAST_VARIANCE
            ]
        )
        if not len(units):
            return found.fixed
        moved = np.einsum("nab,qbc,nc->qna", found.weights, units, found.left)
        cross = np.einsum("nap,qna->pq", self._design, moved)
        weights = found.weights
        excess = np.einsum("ni,nj->nij", found.left, found.left) - weights
        own = np.einsum("qij,nij->nq", units, excess) / 2
        products = np.einsum("nbc,nda->abcd", weights, weights, optimize=True)
        expected = np.einsum("qab,abcd,rcd->qr", units, products, units, optimize=True) / 2
        # Their own scatter is that of short records, but uncertain by √(14/N) of itself.
        between = (n * (own.T @ own) + 14 * expected) / (n + 14)
        root = np.linalg.cholesky(found.fixed)
        seen = root.T @ cross
        shares, turn = np.linalg.eigh(seen @ np.linalg.pinv(between, 1e-9, hermitian=True) @ seen.T)
        wide = (turn / (1 - shares.clip(0.0, LARGEST_SHARE))) @ turn.T
        return np.asarray(root @ wide @ root.T)

    def _knapp_hartung(self, found: _Moments) -> float:
        """Return the factor of the mean's variance, from the records' scatter about it."""
        noise = self._p + self._p @ found.between @ self._p
        own = self._s - np.einsum("nij,nj->ni", self._p, self._design @ found.beta)
        values, vectors = np.linalg.eigh(noise)
        known = values > SMALLEST * np.maximum(values[:, -1:], np.finfo(float).tiny)
        along = np.einsum("nji,nj->ni", vectors, own)
        squares = np.divide(along**2, values, out=np.zeros_like(values), where=known)
        left = int(known.sum()) - len(found.beta)
        return float(squares.sum()) / left if left > 0 else 1.0


def student(confidence: float, count: int) -> float:
    """Return Student's quantile for the mean of this many records."""
    return float(t.ppf((1 + confidence) / 2, max(count - 1, 1)))
