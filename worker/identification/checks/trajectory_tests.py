"""Tests whether all trajectories follow one model, and move independently of each other.

A trajectory with a level, a rate or a diffusion of its own leaves the same residuals in all its
parts. So residuals of one trajectory are compared with those of its own parts at least a quarter of
its length away: under one model they are uncorrelated, whatever their variance and whatever their
correlation at short lags, by measurement noise, overlapping windows, or a memory. Nothing but the
residuals themselves gives the statistic its scale, equation (M44).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.markov_tests import normal_equivalent
from worker.identification.checks.trajectory_pairs import PARTS, Pairs, local_variance
from worker.identification.data.trajectories import Integers
from worker.identification.data.windows import Space

Floats = NDArray[np.float64]

APART = PARTS // 4
"""Number of parts between those that are compared."""

OF_PARTS = 7.0
"""Degrees of freedom of the χ² that is as skewed as products of parts that far apart."""

DIFFER = 4.5
"""Standard normal score from which trajectories differ: by chance once in 300 000.

Of 71 alike records of the survey, with as few as eight trajectories, one had 4.2."""

MATERIAL = 0.1
"""Share by which a rate or a diffusion must differ, or a variance grow, to be worth a warning."""

RELAXED = 3.0
"""Relaxation times after which a state has forgotten another to 5 %."""

MOST_INSTANTS = 65_536
"""Number of times at which trajectories are compared with each other."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Scatter of one property between trajectories.

    z          standard normal score; large where trajectories differ
    variance   variance of the property between trajectories
    """

    z: float = 0.0
    variance: float = 0.0

    def exceeds(self, least: float = 0.0) -> bool:
        """Return whether the standard deviation exceeds `least`, and trajectories differ."""
        return bool(self.z > DIFFER and self.variance > least**2)


@dataclass(frozen=True, slots=True)
class TrajectoryTests:
    """Differences between trajectories in one variable, internal units.

    constant    scatter of the drift's constant
    rate        scatter of the drift's slope
    diffusion   scatter of the diffusion's factor, 1 on average
    position    scatter of the state
    common      correlation of the residuals of different trajectories at the same time, as variance
    within      relaxation rate about each trajectory's own level; negative where it runs away
    pooled      relaxation rate about the mean of all
    unexplained standard normal score of the attraction to a trajectory's own past that the drift
                leaves out
    duration    mean duration of a trajectory
    together    mean number of other trajectories at the same time
    """

    constant: Scatter = Scatter()
    rate: Scatter = Scatter()
    diffusion: Scatter = Scatter()
    position: Scatter = Scatter()
    common: Scatter = Scatter()
    within: float = 0.0
    pooled: float = 0.0
    unexplained: float = 0.0
    duration: float = 0.0
    together: float = 0.0

    @property
    def relaxes(self) -> bool:
        """Whether the parts of a trajectory that are compared are several relaxations apart."""
        return bool(self.within * self.duration * APART / PARTS > RELAXED)

    @property
    def level_differs(self) -> bool:
        """Whether the drift's constant differs.

        Of levels much further apart than each trajectory moves, the pooled drift shows nothing:
        there trajectories stay where they are though each relaxes, against the pooled drift. In a
        double well that is as the drift says.
        """
        stay = self.relaxes and self.position.exceeds() and self.unexplained > DIFFER
        return bool(self.constant.exceeds() or stay)

    @property
    def rate_differs(self) -> bool:
        """Whether the drift's slope differs."""
        return self.rate.exceeds(MATERIAL * abs(self.within))

    @property
    def diffusion_differs(self) -> bool:
        """Whether the diffusion differs."""
        return self.diffusion.exceeds(MATERIAL)

    @property
    def moves_together(self) -> bool:
        """Whether increments are correlated with those of all others, enough to matter."""
        return self.common.exceeds() and self.common.variance * self.together > MATERIAL

    @property
    def differs(self) -> bool:
        """Whether trajectories differ in anything, or move together."""
        return (
            self.level_differs or self.rate_differs or self.diffusion_differs or self.moves_together
        )


_CONSTANT, _RATE, _DIFFUSION, _POSITION = range(4)
"""Properties in the order of their columns: sums of scores and of what they are per unit."""


def trajectory_tests(
    walk: Iterable[Pairs],
    space: Space,
    drift: Floats,
    diagonal: Floats,
    noise_free: tuple[int, ...] = (),
) -> tuple[TrajectoryTests, ...]:
    """Test whether trajectories differ, by variable.

    Parameters
    ----------
    walk : increments
    space : internal units
    drift : (d, J) internal coefficients of the fitted drift
    diagonal : (d, J) internal coefficients of the fitted a_pp
    noise_free : variables without noise of their own, which are not tested
    """
    d = space.dimension
    sums = [_PartSums() for _ in range(d)]
    instants = [_InstantSums() for _ in range(d)]
    past = _Past(d)
    for pairs in walk:
        from_past = past.deviations(pairs)
        for p in range(d):
            if p in noise_free:
                continue
            r, s = pairs.residuals(p, p, drift, diagonal[p])
            a = local_variance(pairs.before, diagonal[p])
            weight, step = 1 / a, pairs.step
            # An angle has no level that it could be away from.
            away = weight * from_past[:, p] * (space.periods[p] is None)
            middle = pairs.state[:, p] + pairs.increment[:, p] / 2
            columns = [weight * r, weight * step, away * r, away**2 / weight * step]
            columns += [weight * s, step, pairs.state[:, p], np.ones(len(step)), away * step]
            regressors = np.stack([away, weight * pairs.state[:, p], weight])
            moved = np.stack([pairs.increment[:, p], middle * step, step], axis=1)
            sums[p].add(pairs, np.stack(columns, axis=1), regressors @ moved)
            instants[p].add(pairs, r / np.sqrt(a * step))
    return tuple(
        TrajectoryTests() if p in noise_free else sums[p].tests(instants[p]) for p in range(d)
    )


class _Past:
    """Deviations of states from the mean of earlier ones, known before an increment's noise."""

    def __init__(self, dimension: int) -> None:
        self._trajectory, self._count = -1, 0
        self._sum, self._last = np.zeros(dimension), np.zeros(dimension)

    def deviations(self, pairs: Pairs) -> Floats:
        """Return what the state before was less the mean of all before it; 0 where none is.

        Measurement noise of a state is in the increments on either side of it, and not in the next.
        """
        n = len(pairs.step)
        first = np.flatnonzero(np.diff(pairs.trajectory, prepend=-1))
        run = np.repeat(np.arange(len(first)), np.diff(np.append(first, n)))
        total = np.concatenate([np.zeros((1, pairs.state.shape[1])), np.cumsum(pairs.state, 0)])
        sums, count = total[:-1] - total[first[run]], (np.arange(n) - first[run])[:, None]
        goes_on = pairs.trajectory[0] == self._trajectory
        if goes_on:
            earlier = (run == 0)[:, None]
            sums, count = sums + earlier * self._sum, count + earlier * self._count
        away = np.where(count > 0, pairs.state - sums / np.maximum(count, 1), 0.0)
        before = np.concatenate([self._last[None], away[:-1]])
        before[first[1:] if goes_on else first] = 0.0
        self._trajectory, self._last = int(pairs.trajectory[-1]), away[-1]
        self._sum, self._count = sums[-1] + pairs.state[-1], int(count[-1, 0]) + 1
        return before


class _PartSums:
    """Sums over the parts of trajectories for one variable."""

    def __init__(self) -> None:
        self._keys: list[Integers] = []
        self._sums: list[Floats] = []
        self._regression = np.zeros((3, 3))

    def add(self, pairs: Pairs, columns: Floats, regression: Floats) -> None:
        """Add increments.

        Parameters
        ----------
        pairs : increments
        columns : (n, 9) scores of each property, and what they grow by with it, in turn; then the
            deviation from the past times the step
        regression : (3, 3) sums of (deviation from the past, state, 1) times (increment, path,
            step)
        """
        key = pairs.trajectory * PARTS + pairs.part
        first = np.flatnonzero(np.diff(key, prepend=-1))
        self._keys.append(key[first])
        self._sums.append(np.add.reduceat(columns, first, axis=0))
        self._regression += regression

    def tests(self, instants: "_InstantSums") -> TrajectoryTests:
        """Return the tests of all increments so far."""
        if not self._keys:
            return TrajectoryTests()
        key, sums = np.concatenate(self._keys), np.concatenate(self._sums)
        first = np.flatnonzero(np.diff(key, prepend=-1))
        key, sums = key[first], np.add.reduceat(sums, first, axis=0)
        # The mean over all trajectories is no difference between them.
        score, unit = sums[:, :8:2], sums[:, 1:8:2]
        whole = unit.sum(axis=0)
        mean = np.divide(score.sum(axis=0), whole, out=np.zeros(4), where=whole != 0)
        centred = score - unit * mean
        found = [compare_parts(key, centred[:, k], unit[:, k]) for k in range(4)]
        of_past, of_state, of_one = self._regression
        about_mean = of_state - of_one * (of_state[2] / of_one[2])
        of_trajectories = np.add.reduceat(sums, np.flatnonzero(np.diff(key // PARTS, prepend=-1)))
        levels = of_trajectories[:, 2 * _POSITION] / of_trajectories[:, 2 * _POSITION + 1]
        about_own = of_past - [0, of_trajectories[:, 8] @ levels, 0]
        of_rate = float(np.sqrt(np.sum(score[:, _RATE] ** 2)))
        durations = of_trajectories[:, 2 * _DIFFUSION + 1]
        return TrajectoryTests(
            found[_CONSTANT],
            found[_RATE],
            found[_DIFFUSION],
            found[_POSITION],
            instants.correlation(),
            _rate(about_own),
            _rate(about_mean),
            -float(score[:, _RATE].sum()) / of_rate if of_rate > 0 else 0.0,
            float(np.sum(durations**2) / np.sum(durations)),
            instants.together,
        )


def _rate(regression: Floats) -> float:
    """Return the relaxation rate, from sums of increments and of paths."""
    return float(-regression[0] / regression[1]) if regression[1] > 0 else 0.0


def compare_parts(key: Integers, score: Floats, unit: Floats) -> Scatter:
    """Compare the parts of one trajectory with each other, (M44).

    Parameters
    ----------
    key : (n,) number of the trajectory times PARTS plus that of the part
    score : (n,) scores less those of the mean over all trajectories
    unit : (n,) what the scores grow by with the property
    """
    products = np.stack([score, score**2, unit], axis=1)
    trajectory, part = key // PARTS, key % PARTS
    starts = np.flatnonzero(np.diff(trajectory, prepend=-1))
    row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(key))))
    totals = []
    for begin in range(0, len(starts), 4096):
        here = (row >= begin) & (row < begin + 4096)
        of_parts = np.zeros((min(4096, len(starts) - begin), PARTS, 3))
        of_parts[row[here] - begin, part[here]] = products[here]
        earlier = np.cumsum(of_parts, axis=1)[:, :-APART]
        totals.append((earlier * of_parts[:, APART:]).sum(axis=1))
    product, variance, units = np.concatenate(totals).T
    known = variance.sum() > 0 and abs(units.sum()) > 0
    return (
        Scatter(_score(product, variance, OF_PARTS), float(product.sum() / units.sum()))
        if known
        else Scatter()
    )


def _score(products: Floats, variances: Floats, each: float) -> float:
    """Return the normal score of Σ products, of independent groups with these variances.

    The sum over a few groups is skewed, like χ² less its mean.

    Parameters
    ----------
    products : (n,) sums of products in each group
    variances : (n,) their variances
    each : degrees of freedom of the χ² that is as skewed as the products of one group
    """
    total = float(variances.sum())
    if not total > 0:
        return 0.0
    groups = float(np.sqrt(variances).sum() ** 2 / total)
    freedom = each * max(groups - 1, 1.0)
    z = float(products.sum()) / np.sqrt(total)
    return normal_equivalent(max(freedom + np.sqrt(2 * freedom) * z, freedom / 2), freedom)


class _InstantSums:
    """Sums over trajectories at each instant for one variable."""

    def __init__(self) -> None:
        self._sums, self._every = np.zeros((MOST_INSTANTS, 4)), 1

    def add(self, pairs: Pairs, u: Floats) -> None:
        """Add residuals over their standard deviations (n,); every k-th instant of a long record.

        Trajectories follow one another, so instants are thinned as they come.
        """
        instant = pairs.instant
        while instant.max() // self._every >= MOST_INSTANTS:
            kept = self._sums[::2].copy()
            self._sums[:] = 0
            self._sums[: len(kept)] = kept
            self._every *= 2
        kept_here = instant % self._every == 0
        place, u = instant[kept_here] // self._every, u[kept_here]
        if not len(u):
            return
        low, high, square = int(place.min()), int(place.max()) + 1, u * u
        for k, values in enumerate((u, square, square * square, np.ones(len(u)))):
            self._sums[low:high, k] += np.bincount(place - low, values, high - low)

    def _products(self) -> tuple[Floats, Floats, Floats]:
        one, two, four, n = self._sums.T
        return (one**2 - two) / 2, (two**2 - four) / 2, (n**2 - n) / 2

    @property
    def together(self) -> float:
        """Mean number of other trajectories at the time of an increment."""
        n = self._sums[:, 3]
        return float((n**2 - n).sum() / n.sum()) if n.sum() > 0 else 0.0

    def correlation(self) -> Scatter:
        """Correlate residuals at the same time."""
        product, variance, pairs = self._products()
        together = pairs > 0
        if not together.any():
            return Scatter()
        return Scatter(
            _score(product[together], variance[together], 1.0),
            float(product.sum() / pairs.sum()),
        )
