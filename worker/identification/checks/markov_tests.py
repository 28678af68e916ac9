"""Is the record a first-order Markov diffusion with a fixed law? Tests on consecutive samples and on the residuals.

Score tests: were the drift allowed to depend on time, or on the average of the recent past, would the likelihood rise? On a
stationary Markov path each statistic is standard normal, whatever the drift.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.stationarity import Homogeneity, StageSums, stage_of
from worker.identification.data.library import Library
from worker.identification.data.trajectories import (
    Chunk,
    Scales,
    Trajectories,
    block_edges,
    chunks,
)
from worker.identification.errors import IndependentSamples
from worker.identification.sums.cell_rules import window_design, window_residuals
from worker.identification.sums.rules import SamplingRule

Floats = NDArray[np.float64]

PAIRS_FOR_CORRELATION = 300_000
"""So many tell a correlation of 0.01 from none."""

PAST_WINDOWS = (10, 100, 1000)
"""Lengths of the averages over the recent past, in samples."""


def some_pairs(data: Trajectories, scales: Scales, period: float | None) -> Iterator[Chunk]:
    """Pairs of consecutive samples: all, or about `PAIRS_FOR_CORRELATION` in chunks spread over the record."""
    every = max(1, data.n_increments // PAIRS_FOR_CORRELATION)
    return chunks(data, scales, block_edges(data, 1), period=period, every=every)


def check_consecutive_samples(walk: Iterator[Chunk], scales: Scales) -> float:
    """Correlation of consecutive samples. Raises IndependentSamples where it is not positive: nothing is continuous then."""
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
            f"Consecutive samples are negatively correlated ({correlation:.2f}): the series alternates. No diffusion in "
            "continuous time has anticorrelated samples, so there is no drift or relaxation time to identify.",
            hints=("Check for a differenced series or an alternating instrument; sample faster.",),
        )
    if correlation < limit:
        raise IndependentSamples(
            f"Consecutive samples are independent (correlation {correlation:.3f}): the sampling interval is far too coarse, "
            "longer than the correlation time. Only the stationary distribution can be estimated from these samples.",
            hints=("Sample several times within one relaxation time.",),
        )
    return correlation


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTests:
    """Standard normal statistics of what the model leaves out.

    trend          drift depends on the time since the trajectory's start
    past           drift depends on the mean of the last samples, one entry a window
    drift_stages   whether one drift holds in all stages of the record; None where that was not looked at
    noise_stages   whether one diffusion does
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
    """Score tests with the library at the windows' first points as instruments, equations (M14) and (M24).

    drift, diffusion   (n_functions,) internal coefficients
    longest            duration of the longest trajectory, in sampling intervals
    """
    size, extra = library.internal_size, 1 + len(PAST_WINDOWS)
    # Windows that share increments have correlated residuals, as far as they reach.
    reach = (rule.windows.n_points - 1) * rule.windows.stride if rule.overlapping else 0
    products, of_squares = np.zeros(2), np.zeros(2)
    of_drift, of_noise = StageSums.empty(size + extra, size), StageSums.empty(size, size)
    for chunk in walk:
        residual, of_square = window_residuals(rule, chunk, library, drift, diffusion)
        functions, design = library.internal(chunk.left), window_design(rule, chunk, library)
        past = recent_past(chunk.left, chunk.follows)
        instruments = np.concatenate([functions, chunk.elapsed[:, None], past], axis=1)
        stage = stage_of(chunk.elapsed, longest)
        of_drift.add(stage, instruments, residual, design)
        of_noise.add(stage, functions, of_square, design)
        products += _lagged_products(residual, reach)
        of_squares += _lagged_products(of_square, reach)
    # Their instruments hardly differ.
    inflations = [
        max(1 + 2 * p[1] / p[0], 0.05) if p[0] > 0 else 1.0 for p in (products, of_squares)
    ]
    scores, variance, slope = (
        of_drift.score.sum(axis=0),
        of_drift.variance.sum(axis=0),
        of_drift.slope.sum(axis=0),
    )
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
    """(2,) Σ r_n² and Σ_k Σ_n r_n r_{n+k} over the lags k = 1 … reach."""
    sums = np.concatenate([[0.0], np.cumsum(residual)])
    n = np.arange(residual.size)
    following = sums[np.minimum(n + 1 + reach, residual.size)] - sums[n + 1]
    return np.array([residual @ residual, residual @ following])


def adjusted(scores: Floats, variance: Floats, slope: Floats, size: int, k: int) -> float:
    """Statistic of instrument k with the effect of the coefficients, estimated with the first `size` instruments, taken out.

    scores   (n,) Σ instrument · residual      variance   (n, n) of the scores      slope   (n, size) Σ instrument · design
    """
    projection, *_ = np.linalg.lstsq(slope[:size].T, slope[k], rcond=1e-12)
    combination = np.zeros(len(scores))
    combination[k], combination[:size] = 1.0, -projection
    spread = float(combination @ variance @ combination)
    if not spread > 1e-9 * float(variance[k, k]):
        return 0.0
    return float(combination @ scores / np.sqrt(spread))


def recent_past(left: Floats, follows: NDArray[np.bool_]) -> Floats:
    """y_n minus the mean of the last m samples, 0 where the segment has not run that long; (n, len(PAST_WINDOWS))."""
    index = np.arange(left.size)
    run = index - np.maximum.accumulate(np.where(follows, 0, index))
    total = np.concatenate([[0.0], np.cumsum(left)])
    out = np.zeros((left.size, len(PAST_WINDOWS)))
    for column, window in enumerate(PAST_WINDOWS):
        long_enough = run >= window
        where = index[long_enough]
        out[long_enough, column] = (
            left[long_enough] - (total[where] - total[where - window]) / window
        )
    return out
