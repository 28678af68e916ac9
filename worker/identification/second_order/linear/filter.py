"""Exact likelihood of positions under linear dynamics of first or second order, any number of them.

    dx = v dt,  dv = (c + A x + B v) dt + σ dW    or    dx = (c + A x) dt + σ dW,    y = x + η

with constant a = σσᵀ and noise of variance r in each coordinate. The state z is Gaussian: over a
step h its mean goes to Φ z + f and its covariance to Φ P Φᵀ + Q (equation S10), and samples are
Kalman's updates, coordinate by coordinate. Φ and Q are found once for every length of step, with
their derivatives, so that the score and Fisher's information are exact at any clock.

Units are those of `filter.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from worker.identification.second_order.filter import (
    PRIOR_VELOCITY_VARIANCE,
    Likelihood,
    Positions,
    compiled,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FINE, ORDER = 0.25, 12
"""Step times rate up to which the series for Φ and Q are summed, and their number of terms: the
next is 10⁻¹⁴. Longer steps are these doubled."""

MOST_DOUBLINGS = 40
"""Doublings from which trial parameters count as explosive."""

KEPT_STEPS = 1024
"""Lengths of steps whose Φ and Q are kept; those of rarer ones are found at every sample."""

SETTLED = 1e-11
"""Relative change of the covariance from which it stays as it is while steps are equal."""


@compiled
def _product(out: Floats, a: Floats, b: Floats) -> None:
    """Fill a b."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            value = 0.0
            for k in range(a.shape[1]):
                value += a[i, k] * b[k, j]
            out[i, j] = value


@compiled
def _both_sides(out: Floats, a: Floats, p: Floats, spare: Floats) -> None:
    """Add a p aᵀ, of as many rows and columns of a as p has."""
    n = len(p)
    for i in range(n):
        for j in range(n):
            value = 0.0
            for k in range(n):
                value += a[i, k] * p[k, j]
            spare[i, j] = value
    for i in range(n):
        for j in range(n):
            value = 0.0
            for k in range(n):
                value += spare[i, k] * a[j, k]
            out[i, j] += value


@compiled
def _mixed(out: Floats, a: Floats, p: Floats, b: Floats, spare: Floats) -> None:
    """Add a p bᵀ + b p aᵀ, p symmetric."""
    n = len(p)
    for i in range(n):
        for j in range(n):
            value = 0.0
            for k in range(n):
                value += a[i, k] * p[k, j]
            spare[i, j] = value
    for i in range(n):
        for j in range(n):
            value = 0.0
            for k in range(n):
                value += spare[i, k] * b[j, k]
            out[i, j] += value
            out[j, i] += value


@compiled
def _transition(
    h: float,
    matrix: Floats,
    tensor: Floats,
    d: int,
    gradient: bool,
    step: Floats,
    kicks: Floats,
    d_step: Floats,
    d_kicks: Floats,
) -> bool:
    """Fill Φ with f as its last column, Q, and their derivatives; return whether h is not too long.

    matrix     (m, m)             rates of (z, 1)
    tensor     (n, n)             a, n = m − 1
    step       (m, m)             Φ and f
    kicks      (n, n)             Q
    d_step     (d m, m, m)        along the entries of the last d rows of the rates, row by row, the
                                  constant first
    d_kicks    (d m + pairs, n, n)
    """
    m, n = len(matrix), len(tensor)
    n_force = d * m if gradient else 0
    n_all = n_force + (d * (d + 1) // 2 if gradient else 0)
    rate = 0.0
    for i in range(n):
        row = 0.0
        for j in range(n):
            row += abs(matrix[i, j])
        rate = max(rate, row)
    doublings = 0
    while rate * h > FINE:
        h /= 2
        doublings += 1
        if doublings > MOST_DOUBLINGS:
            return False
    if not np.isfinite(rate):
        return False
    step[:] = np.eye(m)
    d_step[:], d_kicks[:] = 0.0, 0.0
    term, spare = np.eye(m), np.zeros((m, m))
    d_term = np.zeros((n_force, m, m))
    for k in range(1, ORDER + 1):
        for i in range(n_force):
            row, column = n - d + i // m, (i % m + m - 1) % m
            _product(spare, d_term[i], matrix)
            spare[:, column] += term[:, row]
            d_term[i] = spare * (h / k)
            d_step[i] += d_term[i]
        _product(spare, term, matrix)
        term[:] = spare * (h / k)
        step += term
    of_kicks, half = tensor * h, np.zeros((n, n))
    d_of_kicks = np.zeros((n_all, n, n))
    i = n_force
    for p in range(d if gradient else 0):
        for q in range(p, d):
            d_of_kicks[i, n - d + p, n - d + q] = h
            d_of_kicks[i, n - d + q, n - d + p] = h
            d_kicks[i] = d_of_kicks[i]
            i += 1
    kicks[:] = of_kicks
    rates = matrix[:n, :n].copy()
    for k in range(1, ORDER + 1):
        for i in range(n_all):
            _product(half, rates, d_of_kicks[i])
            if i < n_force and i % m > 0:
                half[n - d + i // m] += of_kicks[i % m - 1]
            d_of_kicks[i] = (half + half.T) * (h / (k + 1))
            d_kicks[i] += d_of_kicks[i]
        _product(half, rates, of_kicks)
        of_kicks[:] = (half + half.T) * (h / (k + 1))
        kicks += of_kicks
    before = np.zeros((n, n))
    for _ in range(doublings):
        for i in range(n_all):
            before[:] = d_kicks[i]
            _both_sides(d_kicks[i], step, before, half)
            if i < n_force:
                _mixed(d_kicks[i], d_step[i], kicks, step, half)
        before[:] = kicks
        _both_sides(kicks, step, before, half)
        for i in range(n_force):
            _product(spare, d_step[i], step)
            _product(term, step, d_step[i])
            d_step[i] = spare + term
        _product(spare, step, step)
        step[:] = spare
    return True


@compiled
def _between(
    h: float,
    exposure: float,
    matrix: Floats,
    tensor: Floats,
    d: int,
    gradient: bool,
    step: Floats,
    kicks: Floats,
    d_step: Floats,
    d_kicks: Floats,
) -> bool:
    """Fill what leads from one sample to the next; see `_transition`.

    With an exposure the first d variables are integrals of the others, from zero at its beginning.
    """
    if exposure == 0:
        return _transition(h, matrix, tensor, d, gradient, step, kicks, d_step, d_kicks)
    first, of_first = np.zeros_like(step), np.zeros_like(kicks)
    d_first, d_of_first = np.zeros_like(d_step), np.zeros_like(d_kicks)
    rest = max(h - exposure, 0.0)
    if not (
        _transition(rest, matrix, tensor, d, gradient, first, of_first, d_first, d_of_first)
        and _transition(exposure, matrix, tensor, d, gradient, step, kicks, d_step, d_kicks)
    ):
        return False
    first[:d], d_first[:, :d] = 0.0, 0.0
    of_first[:d], of_first[:, :d], d_of_first[:, :d], d_of_first[:, :, :d] = 0.0, 0.0, 0.0, 0.0
    half, one, other = np.zeros_like(kicks), np.zeros_like(step), np.zeros_like(step)
    for i in range(len(d_kicks)):
        _both_sides(d_kicks[i], step, d_of_first[i], half)
        if i < len(d_step):
            _mixed(d_kicks[i], d_step[i], of_first, step, half)
    for i in range(len(d_step)):
        _product(one, d_step[i], first)
        _product(other, step, d_first[i])
        d_step[i] = one + other
    _both_sides(kicks, step, of_first, half)
    _product(one, step, first)
    step[:] = one
    return True


@compiled
def _filter(
    positions: Floats,
    segments: Integers,
    blocks: Integers,
    kinds: Integers,
    lengths: Floats,
    exposure: float,
    matrix: Floats,
    tensor: Floats,
    noise: Floats,
    gradient: bool,
    block_score: Floats,
    block_information: Floats,
    innovations: Floats,
) -> float:
    """Run the filter; return the log-likelihood, −inf for explosive parameters.

    kinds         (n_samples,) number of the length of the step to each sample
    innovations   (n_samples, d) filled with innovations over their standard deviations; (0, d)
                  where they are not wanted
    """
    d, n, m = positions.shape[1], len(tensor), len(matrix)
    n_force, n_pairs = d * m, d * (d + 1) // 2
    n_kicks = n_force + n_pairs
    size = n_kicks + d if gradient else 0
    n_force, n_kicks = (n_force, n_kicks) if gradient else (0, 0)
    slots = min(len(lengths), KEPT_STEPS) + 1
    steps, kicks = np.zeros((slots, m, m)), np.zeros((slots, n, n))
    d_steps, d_kicks = np.zeros((slots, n_force, m, m)), np.zeros((slots, n_kicks, n, n))
    for i in range(slots - 1):
        if not _between(
            lengths[i],
            exposure,
            matrix,
            tensor,
            d,
            gradient,
            steps[i],
            kicks[i],
            d_steps[i],
            d_kicks[i],
        ):
            return -np.inf
    mean, ahead, spare = np.zeros(n), np.zeros(n), np.zeros((n, n))
    p, predicted = np.zeros((n, n)), np.zeros((n, n))
    dm, dp = np.zeros((size, n)), np.zeros((size, n, n))
    d_ahead, d_predicted = np.zeros(n), np.zeros((n, n))
    # Of each coordinate's update: S, K, and their derivatives.
    s, gain = np.zeros(d), np.zeros((d, n))
    ds, d_gain = np.zeros((d, size)), np.zeros((d, size, n))
    de = np.zeros(size)
    value = 0.0
    for segment in range(len(segments)):
        start, stop = segments[segment, 0], segments[segment, 1]
        mean[:], p[:], dm[:], dp[:] = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            if j < d:
                mean[j], p[j, j] = positions[start, j], noise[j]
                if gradient:
                    dp[n_kicks + j, j, j] = 1.0
            else:
                p[j, j] = PRIOR_VELOCITY_VARIANCE
        predicted[:] = 0.0
        since, settled = 0, 0
        for sample in range(start + 1, stop):
            kind = min(kinds[sample], slots - 1)
            if kind == slots - 1 and not _between(
                lengths[kinds[sample]],
                exposure,
                matrix,
                tensor,
                d,
                gradient,
                steps[kind],
                kicks[kind],
                d_steps[kind],
                d_kicks[kind],
            ):
                return -np.inf
            if sample > start + 1 and kinds[sample] != kinds[sample - 1]:
                since, settled = 0, 0
            since += 1
            # The derivatives settle at the covariance's own rate.
            steady = settled > 0 and since > 2 * settled + 2
            step = steps[kind]
            for i in range(n):
                total = step[i, n]
                for k in range(n):
                    total += step[i, k] * mean[k]
                ahead[i] = total
            for q in range(size):
                for i in range(n):
                    total = 0.0
                    for k in range(n):
                        total += step[i, k] * dm[q, k]
                    if q < n_force:
                        total += d_steps[kind, q, i, n]
                        for k in range(n):
                            total += d_steps[kind, q, i, k] * mean[k]
                    d_ahead[i] = total
                dm[q] = d_ahead
            mean[:] = ahead
            if not steady:
                spare[:] = predicted
                predicted[:] = kicks[kind]
                _both_sides(predicted, step, p, d_predicted)
                change = 0.0
                for i in range(n):
                    for k in range(n):
                        scale = np.sqrt(abs(predicted[i, i] * predicted[k, k]))
                        change = max(change, abs(predicted[i, k] - spare[i, k]) / (scale + 1e-300))
                if settled == 0 and since > 1 and change < SETTLED:
                    settled = since
                for q in range(size):
                    d_predicted[:] = 0.0
                    if q < n_kicks:
                        d_predicted[:] = d_kicks[kind, q]
                    _both_sides(d_predicted, step, dp[q], spare)
                    if q < n_force:
                        _mixed(d_predicted, d_steps[kind, q], p, step, spare)
                    dp[q] = d_predicted
                p[:] = predicted
            counts = sample > start + 1
            for j in range(d):
                if not steady:
                    s[j] = p[j, j] + noise[j]
                    if not (s[j] > 0 and np.isfinite(s[j])):
                        return -np.inf
                    for i in range(n):
                        gain[j, i] = p[i, j] / s[j]
                    for q in range(size):
                        own = 1.0 if q == n_kicks + j else 0.0
                        ds[j, q] = dp[q, j, j] + own
                        for i in range(n):
                            d_gain[j, q, i] = (dp[q, i, j] - gain[j, i] * ds[j, q]) / s[j]
                        for i in range(n):
                            for k in range(n):
                                if i != j and k != j:
                                    dp[q, i, k] -= (
                                        d_gain[j, q, i] * p[j, k] + gain[j, i] * dp[q, j, k]
                                    )
                        for i in range(n):
                            changed = d_gain[j, q, i] * noise[j] + own * gain[j, i]
                            dp[q, i, j], dp[q, j, i] = changed, changed
                    for i in range(n):
                        for k in range(n):
                            if i != j and k != j:
                                p[i, k] -= gain[j, i] * p[j, k]
                    for i in range(n):
                        p[i, j], p[j, i] = gain[j, i] * noise[j], gain[j, i] * noise[j]
                e = positions[sample, j] - mean[j]
                for q in range(size):
                    de[q] = -dm[q, j]
                    for i in range(n):
                        dm[q, i] += d_gain[j, q, i] * e + gain[j, i] * de[q]
                for i in range(n):
                    mean[i] += gain[j, i] * e
                if len(innovations) > 0:
                    innovations[sample, j] = e / np.sqrt(s[j])
                if not counts:
                    continue
                value -= 0.5 * (np.log(2 * np.pi * s[j]) + e * e / s[j])
                excess = 0.5 * (e * e / s[j] - 1) / s[j]
                of_e, of_s = 1 / s[j], 0.5 / s[j] ** 2
                for q in range(size):
                    block_score[blocks[sample], q] += excess * ds[j, q] - of_e * e * de[q]
                    left, right = of_e * de[q], of_s * ds[j, q]
                    for r in range(q + 1):
                        block_information[blocks[sample], q, r] += left * de[r] + right * ds[j, r]
    return value


@dataclass(frozen=True, slots=True, eq=False)
class LinearTerms:
    """Parameters that linear dynamics are sums of.

    order       1 or 2
    dimension   number of coordinates, d
    basis       (size, d (1 + order d) + d (d + 1)/2 + d) parameters along the coefficients of each
                component of the force (1, then positions, then velocities), the pairs of a (11, 12,
                …, 22, …), and the noises r
    scales      positions of the parameters that are positive
    exposure    time over which each sample is a mean of first-order dynamics; they are written as
                if of second order, with the integral for the position; 0 for none
    """

    order: int
    dimension: int
    basis: Floats
    scales: tuple[int, ...]
    exposure: float = 0.0

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.basis)

    def likelihood(self, record: Positions, parameters: Floats) -> Likelihood:
        """Compute the log-likelihood with its score and information."""
        n, blocks = self.basis.shape[1], record.n_blocks
        score, information = np.zeros((blocks, n)), np.zeros((blocks, n, n))
        value = self._run(record, parameters, True, score, information, _none(self.dimension))
        if value == -np.inf:
            score[:], information[:] = 0.0, 0.0
        # The noise's derivatives are along that of the integral.
        unit = np.ones(n)
        unit[-self.dimension :] = (self.exposure or 1.0) ** 2
        score, information = score * unit, information * np.outer(unit, unit)
        lower = np.tril(information)
        information = lower + np.tril(information, -1).transpose(0, 2, 1)
        return Likelihood(
            value,
            score @ self.basis.T,
            self.basis @ information @ self.basis.T,
            np.zeros(0, dtype=np.int64),
        )

    def log_likelihood(
        self, record: Positions, parameters: Floats, substeps: Integers | None = None
    ) -> float:
        """Compute the log-likelihood alone; there are no sub-steps."""
        del substeps
        nothing = np.zeros((1, 0)), np.zeros((1, 0, 0))
        return self._run(record, parameters, False, *nothing, _none(self.dimension))

    def innovations(self, record: Positions, parameters: Floats) -> Floats:
        """Compute what each sample differs from its prediction, in standard deviations; (n, d).

        They are zero at each segment's first sample.
        """
        out, nothing = np.zeros(record.columns.shape), (np.zeros((1, 0)), np.zeros((1, 0, 0)))
        self._run(record, parameters, False, *nothing, out)
        return out

    def _run(
        self,
        record: Positions,
        parameters: Floats,
        gradient: bool,
        score: Floats,
        information: Floats,
        innovations: Floats,
    ) -> float:
        d, n = self.dimension, self.order * self.dimension
        along = np.asarray(parameters @ self.basis)
        force, pairs, noise = np.split(along, [d * (1 + n), d * (1 + n) + d * (d + 1) // 2])
        tensor = np.zeros((n, n))
        for (p, q), a in zip(pairs_of(d), pairs, strict=True):
            tensor[n - d + p, n - d + q] = tensor[n - d + q, n - d + p] = a
        if noise.min() < 0 or np.linalg.eigvalsh(tensor[n - d :, n - d :])[0] < 0:
            return -np.inf
        matrix = np.zeros((n + 1, n + 1))
        matrix[: n - d, d:n] = np.eye(n - d)
        matrix[n - d : n, [n, *range(n)]] = force.reshape(d, 1 + n)
        kinds, lengths = record.steps
        unit = self.exposure or 1.0
        value = _filter(
            record.columns * unit,
            record.segments,
            record.blocks,
            kinds,
            lengths,
            self.exposure,
            matrix,
            tensor,
            noise * unit**2,
            gradient,
            score,
            information,
            innovations,
        )
        counted = (record.segments[:, 1] - record.segments[:, 0] - 2).clip(min=0).sum()
        value += float(counted) * d * np.log(unit)
        return float(value) if np.isfinite(value) else -np.inf


def pairs_of(d: int) -> Sequence[tuple[int, int]]:
    """List the pairs of a in their order."""
    return tuple(combinations_with_replacement(range(d), 2))


def _none(d: int) -> Floats:
    return np.zeros((0, d))
