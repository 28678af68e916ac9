"""Autocorrelation of the data with its band, and of the model; equations (C4) and (C5)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from worker.generator.quantities.correlations import CorrelationFunctions
from worker.identification.data.compiled import compiled
from worker.validation.conditional_moments import Observable
from worker.validation.sample_blocks import EvenSamples, hotelling

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LAGS = 40
RELAXATIONS = 5.0
"""Longest lag in relaxation times."""
ROOM = 10.0
"""Shortest record in longest lags, so that its blocks are nearly independent."""
PIECE = 4.0
"""Shortest piece without a gap in longest lags."""
FEWEST, MOST_BLOCKS = 10, 100
THINNING = 8
TESTED = (2, 4, 8, 16)
"""Indices of the lags that are tested together, up to about two relaxation times of 8 lags."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Autocorrelation:
    """Autocorrelation of one variable.

    For an angle x of period P it is the real part of the autocorrelation of exp(2πix/P).

    lags      (n,) [time]; empty where `reason` says why there is nothing to compare
    data      (n,) estimate about the record's mean, of the state without its measurement noise
    band      (n, 2) confidence interval of 95 % from the scatter between blocks of the record
    model     (n,) autocorrelation of the model
    p_value   of the test of the difference at four lags; None where nothing was compared
    n_blocks  number of blocks of the record
    """

    lags: Floats
    data: Floats
    band: Floats
    model: Floats
    p_value: float | None
    n_blocks: int
    reason: str | None = None

    @property
    def difference(self) -> float:
        """Largest absolute difference of model and data."""
        return float(np.max(np.abs(self.data - self.model), initial=0.0))


def not_compared(reason: str) -> Autocorrelation:
    """Return an empty validation with its reason."""
    empty = np.zeros(0)
    return Autocorrelation(empty, empty, np.zeros((0, 2)), empty, None, 0, reason)


def compare_autocorrelation(
    data: EvenSamples,
    observable: Observable,
    variable: int,
    functions: CorrelationFunctions,
    relaxation: float,
    duration: float,
) -> Autocorrelation:
    """Compare one variable's autocorrelation up to five relaxation times.

    Parameters
    ----------
    data : samples of the record on an even clock, in pieces that the record's own gaps end, or of
        at least twenty relaxation times (`sample_blocks.thinned`)
    observable : observable of the variable
    variable : number of the variable
    functions : correlation functions of the model
    relaxation : slowest relaxation time of the model [time]
    duration : length of the whole record [time]
    """
    reach = RELAXATIONS * relaxation
    room = min(reach, data.longest * data.step / PIECE)
    if duration < ROOM * reach:
        return not_compared(
            f"the time series ({duration:.4g}) is too short for a relaxation time of "
            f"{relaxation:.4g}; {ROOM * RELAXATIONS:.0f} relaxation times are needed"
        )
    if room < relaxation:
        return not_compared(
            f"the longest evenly sampled piece without a gap ({data.longest * data.step:.4g}) is "
            f"too short for a relaxation time of {relaxation:.4g}; {PIECE:.0f} relaxation times "
            "are needed"
        )
    unit = max(1, int(room / data.step / LAGS))
    lags = np.arange(0, min(LAGS, int(room / data.step) // unit) + 1) * unit
    n_blocks = min(MOST_BLOCKS, int(len(data.states) * data.step / (2 * reach)))
    if n_blocks < FEWEST or len(lags) < 3:
        return not_compared(
            "the sampling interval is too long, or the time series too short, for several lags"
        )
    g = observable.values(data.states[:, variable])
    columns = g.T if observable.period is not None else g.T[:1]
    strides = np.maximum(1, lags // THINNING)
    rows = map(np.ascontiguousarray, columns)
    sums = np.stack([lagged_products(z, data.runs, lags, strides, n_blocks) for z in rows])
    noise = observable.noise / observable.deviation**2
    whole = _correlation(sums.sum(axis=1)[:, None], noise)[0]
    without = _correlation(sums.sum(axis=1)[:, None] - sums, noise)
    estimate = n_blocks * whole - (n_blocks - 1) * without.mean(axis=0)
    away = np.sqrt((n_blocks - 1) / n_blocks) * (without - without.mean(axis=0))
    errors = np.sqrt(np.sum(away**2, axis=0))
    model = functions.autocorrelation(np.asarray(lags * data.step, dtype=np.float64))[variable]
    if not np.isfinite(model).all():
        return not_compared("the model's own autocorrelation is not known")
    quantile = stdtrit(n_blocks - 1, 0.5 + CONFIDENCE / 2)
    band = np.stack([estimate - quantile * errors, estimate + quantile * errors], axis=1)
    p = _p_value((estimate - model)[1:], away[:, 1:], n_blocks)
    return Autocorrelation(
        np.asarray(lags * data.step, dtype=np.float64), estimate, band, model, p, n_blocks
    )


@compiled
def lagged_products(
    z: Floats, runs: Integers, lags: Integers, strides: Integers, n_blocks: int
) -> Floats:
    """Sum 1, z_n, z_{n+l} and z_n z_{n+l} over pairs of samples, by lag l and block.

    Parameters
    ----------
    z : (n,) values
    runs : (m, 2) first sample and one past the last of each run
    lags : (n_lags,) distances of the two samples [steps]
    strides : (n_lags,) distances of pairs [steps]
    n_blocks : number of blocks

    Returns
    -------
    the sums (n_blocks, n_lags, 4)
    """
    n = z.shape[0]
    sums = np.zeros((n_blocks, lags.shape[0], 4))
    for i in range(lags.shape[0]):
        lag, stride = lags[i], strides[i]
        for r in range(runs.shape[0]):
            for k in range(runs[r, 0], runs[r, 1] - lag, stride):
                block = k * n_blocks // n
                sums[block, i, 0] += 1.0
                sums[block, i, 1] += z[k]
                sums[block, i, 2] += z[k + lag]
                sums[block, i, 3] += z[k] * z[k + lag]
    return sums


def _correlation(sums: Floats, noise: float) -> Floats:
    """Return (m, n_lags) about the mean, from sums (q, m, n_lags, 4) of q functions to be added."""
    count, left, right, products = np.moveaxis(sums, 3, 0)
    mean = left[..., :1] / count[..., :1]
    covariance = (products / count - mean * (left + right) / count + mean**2).sum(axis=0)
    out = covariance / (covariance[:, :1] - noise)
    out[:, 0] = 1.0
    return np.asarray(out)


def _p_value(difference: Floats, away: Floats, n_blocks: int) -> float:
    """Test the difference by Hotelling; `away` (n_blocks, n) are the jackknife's deviations."""
    tested = [k for k in TESTED if k < len(difference)] or [0]
    scores = away[:, tested]
    return hotelling(difference[tested], scores.T @ scores, n_blocks, 1e-6)[2]
