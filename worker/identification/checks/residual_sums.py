"""Sums over the residuals of a fitted model, with their local variance, in one pass."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.markov_tests import (
    PAST_WINDOWS,
    ScoreTests,
    adjusted,
    recent_past,
    standardised,
)
from worker.identification.checks.residuals import ResidualMoments, Residuals
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Chunk
from worker.identification.data.windows import Space, Stretch
from worker.identification.sums.cell_rules import (
    functions_at_points,
    residual_variance,
    window_residuals,
)
from worker.identification.sums.kernel_statistics import nodal_sums
from worker.identification.sums.kernels import Cells
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rules import SamplingRule

Floats = NDArray[np.float64]

N_BINS = 120

LOW_NOISE = 0.25
"""Ratio of the diffusion to its mean, or one step on to that at its start, that counts as low."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSums(ResidualMoments):
    """Moments of one variable, with local sizes of the residuals r (drift) and s (diffusion).

    drift_squared       (n_nodes,) quadrature weights of Σ f(z_n) r²
    diffusion_squared   (n_nodes,) quadrature weights of Σ f(z_n) s²
    count               (n_nodes,) quadrature weights of Σ f(z_n)
    time                (n_nodes,) quadrature weights of Σ f(z_n) Δt
    time_squared        (n_nodes,) quadrature weights of Σ f(z_n) Δt²
    histogram           (N_BINS,) counts of y in [−1, 1]
    negative            smallest and largest y where â ≤ 0, or None
    """

    drift_squared: Floats
    diffusion_squared: Floats
    count: Floats
    time: Floats
    time_squared: Floats
    histogram: Floats
    negative: tuple[float, float] | None


class MomentSums:
    """Running sums of `ResidualMoments` for one variable."""

    def __init__(self) -> None:
        self._powers = np.zeros(5)
        self._products = np.zeros(6)
        self._squares = np.zeros(3)
        self._zeros = 0

    def add(self, r: Floats, u: Floats, first: Floats, follows: NDArray[np.bool_]) -> None:
        """Add the windows of a chunk.

        Parameters
        ----------
        r : (n,) residuals
        u : (m,) residuals over their standard deviation, where it is known
        first : (n,) first increments of the windows
        follows : (n,) whether a window starts one sample after the one before it
        """
        u2 = u * u
        self._powers += [u.size, float(u.sum()), float(u2.sum()), float(u2 @ u), float(u2 @ u2)]
        pairs = (r[:-1] * r[1:])[follows[1:]]
        apart = (r[:-2] * r[2:])[follows[1:-1] & follows[2:]]
        self._products += [
            v for p in (pairs, apart) for v in (p.size, float(p.sum()), float(p @ p))
        ]
        self._squares += [float(r @ r), float(first @ first), r.size]
        self._zeros += int((first == 0).sum())

    def moments(self) -> ResidualMoments:
        """Return the moments of all windows so far."""
        return ResidualMoments(
            self._powers, self._products, self._squares, self._zeros / max(1.0, self._squares[2])
        )


def measure_residuals(
    walk: Iterator[Chunk],
    rule: SamplingRule,
    library: Library,
    cells: Cells,
    drift: Floats,
    diffusion: Floats,
) -> ResidualSums:
    """Measure the residuals of a model of one variable.

    Parameters
    ----------
    walk : windows
    rule : sampling rule
    library : terms
    cells : cells of the local sums
    drift : (n_functions,) internal coefficients
    diffusion : (n_functions,) internal coefficients
    """
    sums, histogram = MomentSums(), np.zeros(N_BINS)
    low, high = np.inf, -np.inf

    def weights(chunk: Chunk) -> Floats:
        nonlocal low, high
        functions = functions_at_points(rule, chunk, library)
        r, s = window_residuals(rule, chunk, library, functions, drift, diffusion)
        a = functions[0] @ diffusion
        positive = a > 0
        if not positive.all():
            where = chunk.left[~positive]
            low, high = min(low, float(where.min())), max(high, float(where.max()))
        if positive.mean() > 0.5:
            steady = positive & ~_vanishing(chunk, library, diffusion, a)
            u = r[steady] / np.sqrt(
                np.asarray(residual_variance(rule, chunk, a)[steady], dtype=np.float64)
            )
        else:
            # Hardly any diffusion was found, as with jumps that hide it; the kurtosis still shows
            # them.
            u = r / max(float(np.sqrt(np.mean(r**2))), np.finfo(float).tiny)
        sums.add(r, u, chunk.right - chunk.left, chunk.follows)
        inside = chunk.left[np.abs(chunk.left) <= 1]
        # The last bin includes its right end.
        histogram[:] += np.bincount(
            np.minimum((inside + 1) * (N_BINS / 2), N_BINS - 1).astype(np.int64), minlength=N_BINS
        )
        return np.stack([r**2, s**2, np.ones_like(r), chunk.step, chunk.step**2], axis=1)

    nodal = nodal_sums(walk, cells, weights)
    moments = sums.moments()
    return ResidualSums(
        drift_squared=nodal[0],
        diffusion_squared=nodal[1],
        count=nodal[2],
        time=nodal[3],
        time_squared=nodal[4],
        powers=moments.powers,
        products=moments.products,
        squares=moments.squares,
        histogram=histogram,
        negative=None if not np.isfinite(low) else (low, high),
        zero_steps=moments.zero_steps,
    )


def _vanishing(chunk: Chunk, library: Library, diffusion: Floats, a: Floats) -> NDArray[np.bool_]:
    """Find windows that start where the noise vanishes within a step; (n,).

    The increment of a diffusion is not Gaussian there: a Jacobi process had a kurtosis of 5.

    Parameters
    ----------
    chunk, library, diffusion : windows, library, internal coefficients of the diffusion
    a : (n,) diffusion at the windows' starts
    """
    low = np.flatnonzero((a > 0) & (a < LOW_NOISE * a.mean()))
    found = np.zeros(len(a), dtype=np.bool_)
    if not len(low):
        return found
    step = np.sqrt(a[low] * chunk.step[low])
    around = [library.internal(chunk.left[low] + side * step) @ diffusion for side in (-1, 1)]
    found[low] = np.minimum(*around) < LOW_NOISE * a[low]
    return found


def measure_joint_residuals(
    walk: Iterator[Stretch],
    space: Space,
    library: Library,
    rule: SamplingRule,
    drift: Floats,
    diagonal: Floats,
    noise: MeasurementNoise | None = None,
) -> Residuals:
    """Measure the residuals of a model of several variables.

    Parameters
    ----------
    walk : windows
    space : scales of the variables
    library : terms
    rule : sampling rule
    drift : (d, n_functions) internal coefficients
    diagonal : (d, n_functions) internal coefficients of â_pp
    noise : measurement noise that is corrected for
    """
    moments = [MomentSums() for _ in range(space.dimension)]
    scores = [_ScoreSums(library) for _ in range(space.dimension)]
    b_of, a_of = drift, diagonal
    if noise is not None:
        b_of = drift @ noise.correction
    doubled = np.zeros((space.dimension, 2))
    for stretch in walk:
        functions, windows = library.internal(stretch.y), stretch.points[rule.lead :]
        step = stretch.steps[rule.lead :].mean(axis=0)[:, None]
        b = functions @ b_of.T
        design = [w * functions[rows] for rows, w in zip(windows, rule.drift, strict=True)]
        displacement = stretch.displacements(space, rule.lead)
        r = displacement[-1] - step * np.sum(
            [w * b[rows] for rows, w in zip(windows, rule.drift, strict=True)], axis=0
        )
        variance = (functions[windows[0]] @ a_of.T) * step * len(displacement)
        if noise is not None:
            variance = variance + 2 * np.diag(noise.covariance)
        instruments = functions[stretch.points[0]]
        of_window = np.sum(design, axis=0) * step
        y = stretch.y[stretch.points[0]]
        for p, (residual, expected) in enumerate(
            zip(np.ascontiguousarray(r.T), variance.T, strict=True)
        ):
            positive = expected > 0
            u = residual[positive] / np.sqrt(expected[positive])
            moments[p].add(
                residual, u, np.ascontiguousarray(displacement[0][:, p]), stretch.follows
            )
            scores[p].add(stretch, y[:, p], instruments, of_window, residual)
        pairs = np.flatnonzero(stretch.follows[1:])
        both = displacement[-1][pairs] + displacement[-1][pairs + 1]
        ends = b[windows[0, pairs]] + b[windows[-1, pairs + 1]]
        two = both - (step[pairs] + step[pairs + 1]) / 2 * ends
        doubled += np.stack([(r[pairs] ** 2).sum(axis=0), (two**2).sum(axis=0)], axis=1)
    growth = np.divide(
        doubled[:, 1], doubled[:, 0], out=np.ones(len(doubled)), where=doubled[:, 0] > 0
    )
    found = tuple(m.moments() for m in moments)
    return Residuals(found, growth, tuple(s.tests(rule.overlapping) for s in scores))


class _ScoreSums:
    """Running sums of the score tests of one variable; see `markov_tests.score_tests`."""

    def __init__(self, library: Library) -> None:
        n = self._size = library.internal_size
        extra = 1 + len(PAST_WINDOWS)
        self._correlations, self._score = np.zeros(3), np.zeros(n + extra)
        self._slope, self._variance = np.zeros((n + extra, n)), np.zeros((n + extra, n + extra))

    def add(
        self, stretch: Stretch, y: Floats, instruments: Floats, design: Floats, r: Floats
    ) -> None:
        """Add the windows of a stretch.

        Parameters
        ----------
        stretch : windows
        y : (n,) states at their first samples
        instruments : (n, n_functions) functions at their first samples
        design : (n, n_functions) factors of the drift's coefficients
        r : (n,) residuals
        """
        self._correlations += [float(r[: len(r) - k] @ r[k:]) for k in range(3)]
        regressors = np.concatenate(
            [instruments, stretch.elapsed[:, None], recent_past(y, stretch.follows)], axis=1
        )
        weighted = regressors * r[:, None]
        self._score += weighted.sum(axis=0)
        self._variance += weighted.T @ weighted
        self._slope += regressors.T @ design

    def tests(self, overlapping: bool) -> ScoreTests:
        """Return the tests of all windows so far."""
        c, size = self._correlations, self._size
        inflation = max(1 + 2 * (c[1] + c[2]) / c[0], 0.05) if overlapping and c[0] else 1.0
        variance = self._variance * inflation
        moments = [
            adjusted(self._score, variance, self._slope, size, k)
            for k in range(size, len(self._score))
        ]
        trend, *past = standardised(np.array(moments)).tolist()
        return ScoreTests(trend, tuple(past))
