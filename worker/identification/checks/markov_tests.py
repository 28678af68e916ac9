"""Tests whether the record is a stationary first-order Markov diffusion.

Score tests ask whether the likelihood would rise if the drift could depend on time, or on the
average of the recent past. Under the null hypothesis, a stationary Markov path, each statistic is
standard normal, whatever the drift.
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
"""Pairs that distinguish a correlation of 0.01 from none."""

PAST_WINDOWS = (10, 100, 1000)
"""Lengths of the averages over the recent past, in samples."""


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


def check_consecutive_samples(walk: Iterator[Chunk], scales: Scales) -> float:
    """Return the correlation of consecutive samples.

    Raises IndependentSamples where it is not positive: no path is continuous then."""
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
            f"Consecutive samples are negatively correlated ({correlation:.2f}): the time series "
            "alternates. No diffusion in continuous time has anticorrelated samples, so there is "
            "no drift or relaxation time to identify.",
            hints=("Check for a differenced series or an alternating instrument; sample faster.",),
        )
    if correlation < limit:
        raise IndependentSamples(
            f"Consecutive samples are independent (correlation {correlation:.3f}): the sampling "
            "interval is far too coarse, longer than the correlation time. Only the stationary "
            "distribution can be estimated from these samples.",
            hints=("Sample several times within one relaxation time.",),
        )
    return correlation


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
        residual, of_square = window_residuals(rule, chunk, library, drift, diffusion)
        functions, design = library.internal(chunk.left), window_design(rule, chunk, library)
        past = recent_past(chunk.left, chunk.follows)
        instruments = np.concatenate([functions, chunk.elapsed[:, None], past], axis=1)
        stage = stage_of(chunk.elapsed, longest)
        of_drift.add(stage, instruments, residual, design)
        of_noise.add(stage, functions, of_square, design)
        products += _lagged_products(residual, reach)
        of_squares += _lagged_products(of_square, reach)
    # The instruments of neighbouring windows hardly differ, so one factor serves all scores.
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
        long_enough = run >= window
        where = index[long_enough]
        out[long_enough, column] = (
            left[long_enough] - (total[where] - total[where - window]) / window
        )
    return out
