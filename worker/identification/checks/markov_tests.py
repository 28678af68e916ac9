"""Tests whether the record is a stationary first-order Markov diffusion.

Score tests ask whether the likelihood would rise if the drift could depend on time, or on the
average of the recent past. Under the null hypothesis, a stationary Markov path, each statistic is
standard normal, whatever the drift.
"""

from collections.abc import Iterator
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
        covariance[np.arange(STAGES), np.arange(STAGES)] += variance
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


def _stretches(
    stage: NDArray[np.int64],
) -> Iterator[tuple[int, slice | NDArray[np.int64]]]:
    """Yield the windows of one stage: as slices where they are in few stretches, else by number."""
    edges = np.flatnonzero(np.diff(stage)) + 1
    if len(edges) < 2 * STAGES:
        for first, last in pairwise([0, *edges.tolist(), len(stage)]):
            yield int(stage[first]), slice(first, last)
        return
    order = np.argsort(stage, kind="stable")
    for k, (first, last) in enumerate(
        pairwise(np.searchsorted(stage[order], np.arange(STAGES + 1)).tolist())
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


def score_tests(
    walk: Iterator[Chunk],
    rule: SamplingRule,
    library: Library,
    drift: Floats,
    diffusion: Floats,
    longest: float,
) -> ScoreTests:
    """Test what the model leaves out, equations (M14) and (M24).

    The instruments are the library's functions at the first points of the windows.

    Parameters
    ----------
    walk : windows
    rule : sampling rule
    library : terms
    drift : (n_functions,) internal coefficients
    diffusion : (n_functions,) internal coefficients
    longest : duration of the longest trajectory [sampling intervals]
    """
    size, extra = library.internal_size, 1 + len(PAST_WINDOWS)
    # Residuals of windows that share increments are correlated.
    reach = (rule.windows.n_points - 1) * rule.windows.stride if rule.overlapping else 0
    products, of_squares = np.zeros(2), np.zeros(2)
    of_drift, of_noise = StageSums.empty(size + extra, size), StageSums.empty(size, size)
    for chunk in walk:
        points = functions_at_points(rule, chunk, library)
        residual, of_square = window_residuals(rule, chunk, library, points, drift, diffusion)
        design = window_design(rule, chunk, library, points)
        past = recent_past(chunk.left, chunk.follows)
        instruments = np.concatenate([points[0], chunk.elapsed[:, None], past], axis=1)
        for stage, rows in _stretches(stage_of(chunk.elapsed, longest)):
            of_drift.add(stage, instruments[rows], residual[rows], design[rows])
            of_noise.add(stage, points[0][rows], of_square[rows], design[rows])
        products += _lagged_products(residual, reach)
        of_squares += _lagged_products(of_square, reach)
    # The instruments of neighbouring windows hardly differ, so one factor serves all scores.
    inflations = [
        max(1 + 2 * p[1] / p[0], 0.05) if p[0] > 0 else 1.0 for p in (products, of_squares)
    ]
    scores = of_drift.score.sum(axis=0)
    variance = of_drift.variance.sum(axis=0)
    slope = of_drift.slope.sum(axis=0)
    out = [
        adjusted(scores, variance * inflations[0], slope, size, k)
        for k in range(size, size + extra)
    ]
    return ScoreTests(
        out[0],
        tuple(out[1:]),
        of_drift.homogeneity(inflations[0]),
        of_noise.homogeneity(inflations[1]),
        tuple(float(level) for level in of_noise.levels(diffusion)),
    )


def _lagged_products(residual: Floats, reach: int) -> Floats:
    """Return Σ r_n² and Σ_k Σ_n r_n r_{n+k} over the lags k = 1 … reach; (2,)."""
    sums = np.concatenate([[0.0], np.cumsum(residual)])
    n = np.arange(residual.size)
    following = sums[np.minimum(n + 1 + reach, residual.size)] - sums[n + 1]
    return np.array([residual @ residual, residual @ following])


def adjusted(scores: Floats, variance: Floats, slope: Floats, size: int, k: int) -> float:
    """Return the statistic of instrument k, less the effect of the estimated coefficients.

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
        return 0.0
    return float(combination @ scores / np.sqrt(spread))


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
