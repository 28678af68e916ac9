"""Scores and informations of every record, in one pass over the increments (M60).

The scores are residuals of the pooled model weighted by its diffusion, so that their sums over a
record are martingales, with the informations as their variances, however short the record is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.trajectory_pairs import Pairs, local_variance
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem, Shares, components_of
from worker.identification.estimation.trajectory_errors import walk
from worker.identification.selection.supports import support_basis
from worker.population.random_effects import RECORDS_PER_TERM, Scores

Floats = NDArray[np.float64]

LAGS = 3
"""Increments over which measurement noise correlates residuals, with some to spare.

Of the neuron's record (d07) the variance of sums of residuals is 0.15, 0.30 and 0.27 of that of
single ones after lags 1, 2 and 3."""


@dataclass(frozen=True, slots=True, eq=False)
class ComponentScores:
    """Scores of all records in one component of drift or diffusion, about the pooled estimate.

    terms    positions of its terms in the library
    pooled   (k,) pooled raw coefficients, internal units
    to_raw   (k, k) raw coefficients from coordinates along the terms' span
    scores   scores in these coordinates
    """

    terms: tuple[int, ...]
    pooled: Floats
    to_raw: Floats
    scores: Scores


@dataclass(frozen=True, slots=True, eq=False)
class RecordSums:
    """Scores of all records in all components.

    increments   (N,) number of increments of each record
    components   by name: `x` for the drift, `x,y` for the diffusion
    """

    increments: NDArray[np.int_]
    components: Mapping[str, ComponentScores]


def record_sums(problem: Problem, fit: Fit) -> RecordSums:
    """Take the sums of every record; memory grows with records, not with their samples.

    Parameters
    ----------
    problem : data and library
    fit : pooled model
    """
    names = problem.library.variables
    parts = {
        names[p]: _Part(problem, fit, p, {(p, p): 1.0}, of_drift=True)
        for p in range(len(names))
        if p not in fit.noise_free and p not in problem.velocities
    }
    for (p, q), shares in components_of(problem).items():
        name = f"{names[p]},{names[q]}"
        if not {p, q} & set(fit.noise_free):
            parts[name] = _Part(problem, fit, p, shares, of_drift=False)
    parts = {name: part for name, part in parts.items() if part.pooled}
    increments = np.zeros(problem.data.n_trajectories, dtype=np.int_)
    first = np.full((len(increments), len(names)), np.nan)
    for pairs in walk(problem, fit, 1):
        found, at = np.unique(pairs.trajectory, return_index=True)
        new = increments[found] == 0
        first[found[new]] = pairs.state[at[new]]
        increments += np.bincount(pairs.trajectory, minlength=len(increments))
        for part in parts.values():
            part.add(pairs)
    # Of a single increment or two, what the first state says of the level and the slope are one.
    first = _standardised(np.where(increments[:, None] > 2, first, np.nan))
    return RecordSums(
        increments,
        {name: part.scores(increments, first) for name, part in parts.items()},
    )


def _standardised(first: Floats) -> Floats:
    """Return first states with mean 0 and covariance 1, without directions that are the same.

    Those of few records are left out. A record without increments has the mean.
    """
    known = np.isfinite(first[:, 0])
    if known.sum() < RECORDS_PER_TERM * (1 + first.shape[1]):
        return np.zeros((len(first), 0))
    away = np.where(known[:, None], first - first[known].mean(axis=0), 0.0)
    values, vectors = np.linalg.eigh(away.T @ away / known.sum())
    keep = values > 1e-9 * max(float(values[-1]), 1e-300)
    return np.asarray(away @ (vectors[:, keep] / np.sqrt(values[keep])))


class _Part:
    """Sums of one component."""

    def __init__(
        self, problem: Problem, fit: Fit, p: int, shares: Shares, *, of_drift: bool
    ) -> None:
        self._p, self._shares, self._of_drift, self._fit = p, shares, of_drift, fit
        pair = next(iter(shares)) if len(shares) == 1 else (0, 0)
        selected = fit.drift[p] if of_drift else fit.diffusion[pair]
        constraint = problem.of_drift(p) if of_drift else problem.of_diffusion(pair)
        held = {k for k, _ in constraint.known}
        chosen = selected.estimate
        pooled = {k: c for k, c in zip(chosen.support, chosen.raw, strict=True) if k not in held}
        if of_drift:
            # Of levels or rates that differ the pooled drift may show nothing; and differences of
            # levels that are too small for the test slow the mean rate down.
            test = fit.trajectories[p] if p < len(fit.trajectories) else None
            differ = test is not None and (test.level_differs or test.rate_differs)
            free = set(constraint.terms(problem.library)) - held
            added = _linear(problem, p, level_alone=not differ)
            pooled |= {k: 0.0 for k in added if k in free and k not in pooled}
        self.pooled = dict(sorted(pooled.items()))
        self._chosen = np.array([k in chosen.support for k in self.pooled])
        one = (0,) * problem.library.dimension
        self._is_one = np.array([problem.library.exponents[k] == one for k in self.pooled])
        self._basis = support_basis(problem.library, tuple(self.pooled))
        k = len(self._basis.rows)
        self._sums = np.zeros((problem.data.n_trajectories, 2 * k * k + k + 2))

    def add(self, pairs: Pairs) -> None:
        """Add increments, whose trajectories come one after the other."""
        rows = self._basis.rows
        before, after = pairs.before @ rows.T, pairs.after @ rows.T
        residual, variance = self._residuals(pairs)
        step = pairs.step[:, None]
        # Per unit of the component: an increment grows by the function times its step.
        instrument = before * step / variance[:, None]
        design = (before + after) * (step / 2)
        n, whole = len(before), residual / np.sqrt(variance)
        columns = np.concatenate(
            [
                (instrument[:, :, None] * (before * step)[:, None, :]).reshape(n, -1),
                (instrument[:, :, None] * design[:, None, :]).reshape(n, -1),
                instrument * residual[:, None],
                (whole * whole)[:, None],
                (whole * _sum_of_next(whole, pairs.trajectory))[:, None],
            ],
            axis=1,
        )
        first = np.flatnonzero(np.diff(pairs.trajectory, prepend=-1))
        self._sums[pairs.trajectory[first]] += np.add.reduceat(columns, first, axis=0)

    def _residuals(self, pairs: Pairs) -> tuple[Floats, Floats]:
        """Return residuals of the pooled model and their variances; each (n,)."""
        tensor, drift = self._fit.tensor, self._fit.coefficients
        a = {p: local_variance(pairs.before, tensor[p, p]) for pq in self._shares for p in pq}
        if self._of_drift:
            residual, _ = pairs.residuals(self._p, self._p, drift, tensor[self._p, self._p])
            return residual, a[self._p] * pairs.step
        residual, variance = np.zeros(len(pairs.step)), np.zeros(len(pairs.step))
        for (p, q), w in self._shares.items():
            residual += w * pairs.residuals(p, q, drift, tensor[p, q])[1]
            cross = a[p] if p == q else pairs.before @ tensor[p, q]
            variance += w**2 * (a[p] * a[q] + cross**2)
        return residual, variance * pairs.step**2

    def scores(self, increments: NDArray[np.int_], first: Floats) -> ComponentScores:
        """Return the scores after the pass."""
        k = len(self._basis.rows)
        explicit = self._sums[:, : k * k].reshape(-1, k, k)
        design = self._sums[:, k * k : 2 * k * k].reshape(-1, k, k)
        score, (square, product) = self._sums[:, 2 * k * k : -2], self._sums[:, -2:].T
        # Slope of the trapezoid's residuals against that of Euler's, whose scores have these
        # variances: one matrix for all records, which so keep symmetric informations.
        slope = np.linalg.pinv(explicit.sum(axis=0), 1e-13) @ design.sum(axis=0)
        information = slope.T @ explicit @ slope
        score = score @ slope
        # What biases the residuals of all records alike is in their sum: measurement noise by the
        # increment, the rule's own error by the information.
        noisy = self._fit.rule.noise is not None or self._fit.noise is not None
        to_raw = np.stack([self._basis.raw_coefficients(e) for e in np.eye(k)], axis=1)
        if noisy:
            score = score - np.outer(increments, self._estimated(score, to_raw) / increments.sum())
        else:
            score = score - information @ self._common(information, score, to_raw)
        if self._of_drift and not noisy:
            scale = _own_variances(square, increments)
        else:
            # Measurement noise is in neighbouring residuals, whose sums have less of it.
            total = square.sum() + (2 * product.sum() if noisy else 0.0)
            scale = np.full(len(square), max(total, 0.1 * square.sum()) / increments.sum())
        constant = np.zeros(k)
        if self._of_drift and self._is_one.any():
            constant += np.linalg.solve(to_raw, self._is_one.astype(np.float64))
        else:
            first = first[:, :0]
        score, information = score / scale[:, None], information / scale[:, None, None]
        scores = Scores(information, score, first, constant)
        return ComponentScores(
            tuple(self.pooled), np.array(list(self.pooled.values())), to_raw, scores
        )

    def _common(self, information: Floats, score: Floats, to_raw: Floats) -> Floats:
        """Return the common deviation of the terms that the pooled model has; (k,)."""
        whole, total = information.sum(axis=0), score.sum(axis=0)
        if self._chosen.all():
            return np.asarray(np.linalg.pinv(whole, 1e-13) @ total)
        along = np.linalg.inv(to_raw)[:, self._chosen]
        return np.asarray(along @ np.linalg.pinv(along.T @ whole @ along, 1e-13) @ along.T @ total)

    def _estimated(self, score: Floats, to_raw: Floats) -> Floats:
        """Return the part of the sum of scores that the pooled model made zero; (k,)."""
        total = score.sum(axis=0)
        if self._chosen.all():
            return np.asarray(total)
        raw = np.linalg.solve(to_raw.T, total)
        return np.asarray(to_raw.T @ np.where(self._chosen, raw, 0.0))


def _sum_of_next(residuals: Floats, trajectory: NDArray[np.int_]) -> Floats:
    """Return the sum of the next residuals of the same record; (n,)."""
    total = np.zeros(len(residuals))
    for lag in range(1, LAGS + 1):
        total[:-lag] += residuals[lag:] * (trajectory[lag:] == trajectory[:-lag])
    return total


def _linear(problem: Problem, p: int, *, level_alone: bool) -> tuple[int, ...]:
    """Return the positions of 1, or of it and variable p, in the library, where it has them."""
    d = problem.library.dimension
    wanted = ((0,) * d, tuple(int(q == p) for q in range(d)))[: 1 if level_alone else 2]
    return tuple(k for k, e in enumerate(problem.library.exponents) if e in wanted)


def _own_variances(ratio: Floats, increments: NDArray[np.int_]) -> Floats:
    """Return by how much each record's noise is stronger than the pooled diffusion; (N,).

    It is the record's mean square over its expectation, drawn to 1 by the share of the scatter
    between records that chance explains: 2/n each.

    Parameters
    ----------
    ratio : (N,) sums of squares over their expectations
    increments : (N,) their numbers
    """
    n = np.maximum(increments, 1)
    away = ratio / n - 1
    chance = 2 / n
    weights = increments / max(increments.sum(), 1)
    variance = float(weights @ (away**2 - chance))
    if not variance > 2 * np.sqrt(2 * float(weights**2 @ chance**2)):
        return np.ones(len(n))
    return np.asarray(1 + away * variance / (variance + chance))
