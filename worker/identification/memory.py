"""Is the record a first-order Markov diffusion with a fixed law? Tests on consecutive samples and on the residuals.

Score tests: were the drift allowed to depend on time, or on the average of the recent past, would the likelihood rise? On a
stationary Markov path each statistic is standard normal, whatever the drift.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.errors import IndependentSamples
from worker.identification.library import Library
from worker.identification.sampling import Rule, increment_residuals
from worker.identification.trajectories import Chunk, Scales

Floats = NDArray[np.float64]

PAST_WINDOWS = (10, 100)
"""Lengths of the averages over the recent past, in samples."""


def check_consecutive_samples(walk: Iterator[Chunk], scales: Scales) -> float:
    """Correlation of consecutive samples. Raises IndependentSamples where it is not positive: nothing is continuous then."""
    mean = (scales.mean - scales.origin) / scales.unit
    n, product, square = 0, 0.0, 0.0
    for chunk in walk:
        left, right = chunk.left - mean, chunk.right - mean
        n += left.size
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
            "longer than the process remembers. Only the stationary law could be had, not drift or diffusion.",
            hints=("Sample several times within one relaxation time.",),
        )
    return correlation


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTests:
    """Standard normal statistics of what the model leaves out, and how much of the drift's variance each would add.

    trend          drift depends on the time since the trajectory's start
    past           drift depends on the mean of the last samples, one entry a window
    gain           log-likelihood that all of them together would add
    drift_gain     log-likelihood of the drift itself
    """

    trend: float
    past: tuple[float, ...]
    gain: float
    drift_gain: float


def score_tests(
    walk: Iterator[Chunk],
    rule: Rule,
    library: Library,
    drift: Floats,
    diffusion: Floats,
    floor: float,
) -> ScoreTests:
    """Score tests with weights 1/(a Δt), equation (M14).

    drift, diffusion   (n_functions,) internal coefficients
    floor              smallest value of â taken as it is
    """
    size = library.internal_size
    extra = 1 + len(PAST_WINDOWS)
    gram, score, gain = np.zeros((size + extra, size + extra)), np.zeros(size + extra), 0.0
    for chunk in walk:
        residual, _, a = increment_residuals(rule, chunk.left, chunk.right, chunk.step, library, drift, diffusion)
        at_left = library.internal(chunk.left)
        regressors = np.concatenate([at_left, chunk.elapsed[:, None], _recent_past(chunk)], axis=1)
        weight = 1 / (a.clip(min=floor) * chunk.step)
        scaled = regressors * chunk.step[:, None]
        gram += (scaled * weight[:, None]).T @ scaled
        score += scaled.T @ (weight * residual)
        gain += float(weight @ (at_left @ drift * chunk.step) ** 2) / 2
    statistics = [_partial(gram, score, [*range(size)], k) for k in range(size, size + extra)]
    return ScoreTests(statistics[0], tuple(statistics[1:]), _joint(gram, score, size), gain)


def _recent_past(chunk: Chunk) -> Floats:
    """y_n minus the mean of the last m samples, 0 where the segment has not run that long; (n, len(PAST_WINDOWS))."""
    n = chunk.left.size
    index = np.arange(n)
    run = index - np.maximum.accumulate(np.where(chunk.follows, 0, index))
    total = np.concatenate([[0.0], np.cumsum(chunk.left)])
    out = np.zeros((n, len(PAST_WINDOWS)))
    for column, window in enumerate(PAST_WINDOWS):
        long_enough = run >= window
        where = index[long_enough]
        out[long_enough, column] = chunk.left[long_enough] - (total[where] - total[where - window]) / window
    return out


def _partial(gram: Floats, score: Floats, given: list[int], k: int) -> float:
    """Statistic of regressor k with the given ones partialled out."""
    projection, *_ = np.linalg.lstsq(gram[np.ix_(given, given)], gram[given, k], rcond=1e-12)
    variance = gram[k, k] - gram[k, given] @ projection
    if not variance > 1e-9 * gram[k, k]:
        return 0.0
    return float((score[k] - score[given] @ projection) / np.sqrt(variance))


def _joint(gram: Floats, score: Floats, size: int) -> float:
    """Log-likelihood that all regressors beyond the first `size` add together."""
    every, *_ = np.linalg.lstsq(gram, score, rcond=1e-12)
    given, *_ = np.linalg.lstsq(gram[:size, :size], score[:size], rcond=1e-12)
    return max(0.0, float(score @ every - score[:size] @ given)) / 2
