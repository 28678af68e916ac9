"""Tests whether the record is a stationary first-order Markov diffusion.

Score tests ask whether the likelihood would rise if the drift could depend on time, or on the
average of the recent past. Under the null hypothesis, a stationary Markov path, each statistic is
standard normal, whatever the drift.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtri

from worker.identification.data.library import Library
from worker.identification.data.trajectories import (
    Chunk,
    Scales,
    Trajectories,
    block_edges,
    chunks,
)
from worker.identification.errors import IndependentSamples
from worker.identification.sums.cell_rules import (
    functions_at_points,
    window_design,
    window_residuals,
)
from worker.identification.sums.rules import SamplingRule

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PAIRS_FOR_CORRELATION = 300_000
"""Pairs that distinguish a correlation of 0.01 from none."""

PAST_WINDOWS = (10, 100, 1000)
"""Lengths of the averages over the recent past, in samples."""

STAGES = 8
"""Stretches of time of equal length since the trajectory's start."""

FUNCTIONS = 2
"""Number of the library's functions that are tested in every stage: level and slope."""


def some_pairs(data: Trajectories, scales: Scales, period: float | None) -> Iterator[Chunk]:
    """Yield about `PAIRS_FOR_CORRELATION` pairs of consecutive samples, spread over the record.

    Parameters
    ----------
    data : trajectories of one variable
    scales : scales of the variable
    period : period of an angle [state]; None on the line
    """
    every = max(1, data.n_increments // PAIRS_FOR_CORRELATION)
    return chunks(data, scales, block_edges(data, 1), period=period, every=every)


def check_consecutive_samples(
    walk: Iterator[Chunk], scales: Scales, variable: str | None = None
) -> float:
    """Return the correlation of consecutive samples.

    Raises IndependentSamples where it is not positive: no path is continuous then.

    Parameters
    ----------
    walk : chunks of the one variable
    scales : its scales
    variable : its name, where there are others besides
    """
    where = f" of variable {variable}" if variable else ""
    other = (
        (f"Leave variable {variable} out: name the other columns in layout.state_columns.",)
        if variable
        else ()
    )
    mean = (scales.mean - scales.origin) / scales.unit
    n, product, square = 0, 0.0, 0.0
    for chunk in walk:
        left, right = chunk.left - mean, chunk.right - mean
        n += chunk.size
        product += float(left @ right)
        square += float(left @ left + right @ right) / 2
    correlation = product / square if square > 0 else 0.0
    limit = min(0.1, 3 / np.sqrt(n))
    if correlation < -limit:
        raise IndependentSamples(
            f"Consecutive samples{where} are negatively correlated ({correlation:.2f}): the time "
            "series alternates. No diffusion in continuous time has anticorrelated samples, so "
            "there is no drift or relaxation time to identify.",
            hints=(
                *other,
                "Check for a differenced series or an alternating instrument; sample faster.",
            ),
        )
    if correlation < limit:
        raise IndependentSamples(
            f"Consecutive samples{where} are independent (correlation {correlation:.3f}): the "
            "sampling interval is far too coarse, longer than the correlation time. Only the "
            "stationary distribution can be estimated from these samples.",
            hints=(*other, "Sample several times within one relaxation time."),
        )
    return correlation


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

    score      (n_stages, n)         Σ f r
    variance   (n_stages, n, n)      Σ f fᵀ r²
    slope      (n_stages, n, size)   Σ f gᵀ, with g the factors of the coefficients in a window
    """

    score: Floats
    variance: Floats
    slope: Floats

    @classmethod
    def empty(cls, n_stages: int, n: int, size: int) -> "StageSums":
        """Make sums over no windows."""
        return cls(
            np.zeros((n_stages, n)), np.zeros((n_stages, n, n)), np.zeros((n_stages, n, size))
        )

    def joined(self, firsts: Integers) -> "StageSums":
        """Add up the stages from each of the numbers `firsts` to the one before the next."""
        return StageSums(
            *(np.add.reduceat(v, firsts) for v in (self.score, self.variance, self.slope))
        )

    def part(self, stages: slice) -> "StageSums":
        """Return the sums of some stages."""
        return StageSums(self.score[stages], self.variance[stages], self.slope[stages])

    def add(self, stage: int, instruments: Floats, residual: Floats, design: Floats) -> None:
        """Add windows of a stage.

        Parameters
        ----------
        stage : its number
        instruments : (n_windows, n)
        residual : (n_windows,)
        design : (n_windows, size) factors of the coefficients
        """
        weighted = instruments * residual[:, None]
        self.score[stage] += residual @ instruments
        self.variance[stage] += weighted.T @ weighted
        self.slope[stage] += instruments.T @ design

    def homogeneity(self, inflation: float = 1.0) -> Homogeneity:
        """Test the scores of the stages by χ².

        inflation   factor of their variance, where neighbouring residuals are correlated
        """
        size = self.slope.shape[2]
        tested = np.arange(min(FUNCTIONS, size))
        score = self.score[:, :size]
        variance = self.variance[:, :size, :size]
        slope = self.slope[:, :size]
        total, of_total = score.sum(axis=0), variance.sum(axis=0)
        share = slope @ np.linalg.pinv(slope.sum(axis=0), 1e-12)
        scores = (score - share @ total)[:, tested]
        covariance = share[:, None] @ of_total @ share.transpose(0, 2, 1)[None]
        covariance -= (
            variance[:, None] @ share.transpose(0, 2, 1)[None] + share[:, None] @ variance[None]
        )
        every = np.arange(len(score))
        covariance[every, every] += variance
        chosen = covariance[:, :, tested[:, None], tested].transpose(0, 2, 1, 3)
        matrix = chosen.reshape(scores.size, scores.size) * inflation
        scale = np.sqrt(np.diag(matrix).clip(min=0))
        known = scale > 1e-9 * np.sqrt(np.diag(of_total)[tested].max() * inflation)
        if known.sum() < 2:
            return Homogeneity(0.0, 0.0)
        normal = (scores.ravel() / np.where(known, scale, 1.0))[known]
        values, vectors = np.linalg.eigh(
            matrix[np.ix_(known, known)] / np.outer(scale[known], scale[known])
        )
        # The stages' scores add up to zero: one direction for each function is empty.
        keep = values > 1e-8 * values[-1]
        chi_squared = float(np.sum((vectors[:, keep].T @ normal) ** 2 / values[keep]))
        freedom = int(keep.sum())
        return Homogeneity(normal_equivalent(chi_squared, freedom), (chi_squared - freedom) / 2)

    def levels(self, fitted: Floats, coefficients: Floats) -> Floats:
        """Return observed over expected by the first function, 1; NaN without data; by stage.

        Parameters
        ----------
        fitted : coefficients of the residuals (n_functions,)
        coefficients : those of the expectation
        """
        seen = self.score[:, 0] + self.slope[:, 0] @ fitted
        expected = self.slope[:, 0] @ coefficients
        return np.asarray(
            np.divide(seen, expected, out=np.full(len(seen), np.nan), where=expected > 0)
        )


def stage_of(elapsed: Floats, longest: float) -> Integers:
    """Return the number of each stage; `longest` is the longest trajectory's duration."""
    return np.clip(np.floor(elapsed * (STAGES / longest)), 0, STAGES - 1).astype(np.int64)


def _stretches(stage: Integers, n_stages: int) -> Iterator[tuple[int, slice | Integers]]:
    """Yield the windows of one stage: as slices where they are in few stretches, else by number."""
    edges = np.flatnonzero(np.diff(stage)) + 1
    if len(edges) < 2 * n_stages:
        for first, last in pairwise([0, *edges.tolist(), len(stage)]):
            yield int(stage[first]), slice(first, last)
        return
    order = np.argsort(stage, kind="stable")
    for k, (first, last) in enumerate(
        pairwise(np.searchsorted(stage[order], np.arange(n_stages + 1)).tolist())
    ):
        if first < last:
            yield k, order[first:last]


def normal_equivalent(chi_squared: float, freedom: float) -> float:
    """Return the standard normal value with the same tail probability."""
    tail = float(gammaincc(freedom / 2, chi_squared / 2))
    return float(-ndtri(tail)) if tail > 1e-300 else float(np.sqrt(chi_squared))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTests:
    """Standard normal statistics of what the model leaves out.

    trend          test of a drift that depends on the time since the trajectory's start
    past           tests of a drift that depends on the mean of the last samples, by PAST_WINDOWS
    drift_stages   test of one drift in all stages of the record; None where not made
    noise_stages   test of one diffusion in all stages of the record; None where not made
    noise_levels   (STAGES,) diffusion in each stage over that of the model
    """

    trend: float
    past: tuple[float, ...]
    drift_stages: Homogeneity | None = None
    noise_stages: Homogeneity | None = None
    noise_levels: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSums:
    """Sums for the score tests of a record, by stretch of time.

    The tests do not depend on the coefficients of the drift: those of a part of the record are also
    the tests of a model with coefficients of its own there.

    drift, noise   sums over the residuals of the drift, and of the diffusion
    inflations     factors of the variance of their scores, where neighbouring residuals are
                   correlated
    """

    drift: StageSums
    noise: StageSums
    inflations: tuple[float, float]

    def part(self, stretches: slice) -> "ScoreSums":
        """Return the sums of a part of the record, joined to at most STAGES stages."""
        count = stretches.stop - stretches.start
        firsts = np.unique(np.linspace(0, count, STAGES, endpoint=False).astype(np.int64))
        drift, noise = (s.part(stretches).joined(firsts) for s in (self.drift, self.noise))
        return ScoreSums(drift, noise, self.inflations)

    def moments(self) -> Floats:
        """Return the adjusted scores of trend and past with their variances; (n, 2)."""
        size = self.drift.slope.shape[2]
        scores, variance = self.drift.score.sum(axis=0), self.drift.variance.sum(axis=0)
        slope = self.drift.slope.sum(axis=0)
        return np.array(
            [
                adjusted(scores, variance * self.inflations[0], slope, size, k)
                for k in range(size, len(scores))
            ]
        )

    def tests(self, fitted: Floats, diffusion: Floats) -> ScoreTests:
        """Return the tests of a model.

        Parameters
        ----------
        fitted : internal coefficients of the diffusion of the residuals (n_functions,)
        diffusion : those of the model's
        """
        trend, *past = standardised(self.moments()).tolist()
        return ScoreTests(
            trend,
            tuple(past),
            self.drift.homogeneity(self.inflations[0]),
            self.noise.homogeneity(self.inflations[1]),
            tuple(float(level) for level in self.noise.levels(fitted, diffusion)),
        )


def score_sums(
    walk: Iterator[Chunk],
    rule: SamplingRule,
    library: Library,
    drift: Floats,
    diffusion: Floats,
    stage: Callable[[Floats], Integers],
    n_stages: int = STAGES,
) -> ScoreSums:
    """Sum what the model leaves out, for equations (M14) and (M24).

    The instruments are the library's functions at the first points of the windows.

    Parameters
    ----------
    walk : windows
    rule : sampling rule
    library : terms
    drift : (n_functions,) internal coefficients
    diffusion : (n_functions,) internal coefficients
    stage : number of the stretch of time of windows (n,), from the time elapsed since the start of
        their trajectory [sampling intervals]
    n_stages : number of stretches
    """
    size, extra = library.internal_size, 1 + len(PAST_WINDOWS)
    # Residuals of windows that share increments are correlated.
    reach = (rule.windows.n_points - 1) * rule.windows.stride if rule.overlapping else 0
    products, of_squares = np.zeros(2), np.zeros(2)
    of_drift = StageSums.empty(n_stages, size + extra, size)
    of_noise = StageSums.empty(n_stages, size, size)
    for chunk in walk:
        points = functions_at_points(rule, chunk, library)
        residual, of_square = window_residuals(rule, chunk, library, points, drift, diffusion)
        design = window_design(rule, chunk, library, points)
        past = recent_past(chunk.left, chunk.follows)
        instruments = np.concatenate([points[0], chunk.elapsed[:, None], past], axis=1)
        for k, rows in _stretches(stage(chunk.elapsed), n_stages):
            of_drift.add(k, instruments[rows], residual[rows], design[rows])
            of_noise.add(k, points[0][rows], of_square[rows], design[rows])
        products += _lagged_products(residual, reach)
        of_squares += _lagged_products(of_square, reach)
    # The instruments of neighbouring windows hardly differ, so one factor serves all scores.
    drift_inflation, noise_inflation = (
        max(1 + 2 * p[1] / p[0], 0.05) if p[0] > 0 else 1.0 for p in (products, of_squares)
    )
    return ScoreSums(of_drift, of_noise, (drift_inflation, noise_inflation))


def _lagged_products(residual: Floats, reach: int) -> Floats:
    """Return Σ r_n² and Σ_k Σ_n r_n r_{n+k} over the lags k = 1 … reach; (2,)."""
    sums = np.concatenate([[0.0], np.cumsum(residual)])
    n = np.arange(residual.size)
    following = sums[np.minimum(n + 1 + reach, residual.size)] - sums[n + 1]
    return np.array([residual @ residual, residual @ following])


def adjusted(
    scores: Floats, variance: Floats, slope: Floats, size: int, k: int
) -> tuple[float, float]:
    """Return the score of instrument k, less the effect of the estimated coefficients.

    The second number is its variance, 0 where nothing of the instrument is left.

    Parameters
    ----------
    scores : (n,) Σ instrument · residual
    variance : (n, n) covariance of the scores
    slope : (n, size) Σ instrument · design
    size : number of coefficients, estimated with the first `size` instruments
    k : number of the instrument
    """
    projection, *_ = np.linalg.lstsq(slope[:size].T, slope[k], rcond=1e-12)
    combination = np.zeros(len(scores))
    combination[k], combination[:size] = 1.0, -projection
    spread = float(combination @ variance @ combination)
    if not spread > 1e-9 * float(variance[k, k]):
        return 0.0, 0.0
    return float(combination @ scores), spread


def standardised(moments: Floats) -> Floats:
    """Return scores over their standard deviations (n,), from scores and variances (n, 2)."""
    score, variance = moments.T
    known = variance > 0
    return np.asarray(np.where(known, score / np.sqrt(np.where(known, variance, 1.0)), 0.0))


def recent_past(left: Floats, follows: NDArray[np.bool_]) -> Floats:
    """Return y_n minus the mean of the last m samples; (n, len(PAST_WINDOWS)) by m.

    It is 0 where the segment is not yet m samples long."""
    index = np.arange(left.size)
    run = index - np.maximum.accumulate(np.where(follows, 0, index))
    total = np.concatenate([[0.0], np.cumsum(left)])
    out = np.zeros((left.size, len(PAST_WINDOWS)))
    for column, window in enumerate(PAST_WINDOWS):
        away = left[window:] - (total[window:-1] - total[: -window - 1]) / window
        out[window:, column] = np.where(run[window:] >= window, away, 0.0)
    return out
