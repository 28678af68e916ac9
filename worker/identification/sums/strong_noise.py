"""Measurement noise that exceeds an increment, from mean squared displacements alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Scales, Trajectories, shorter

Floats = NDArray[np.float64]

SAMPLES = 200_000
"""Samples from which displacements start; they give a mean square to half a percent."""

SEEN = 5.0
"""Standard errors of a mean squared displacement's growth by which the process shows in it."""

LEAST_WINDOWS = 10
"""Windows of three strides that a segment must hold."""


@dataclass(frozen=True, slots=True)
class StrongNoise:
    """Measurement noise of one variable that exceeds an increment.

    variance   s², internal units
    error      its standard error: (M52) is the mean of e² less twice its lag-one and plus its
               lag-two product, which have variances of 2, 1 and 1 s⁴/n
    stride     samples over which the process shows beside the noise
    """

    variance: float
    error: float
    stride: int


def strong_noise(data: Trajectories, scales: Scales, period: float | None) -> StrongNoise | None:
    """Estimate noise from displacements (M52); None where single steps show the process.

    It needs no drift: the slope of one that is fitted to such noise takes up its correlation.

    Parameters
    ----------
    data, scales : record, and its internal units
    period : period of the state, or None [state]
    """
    one, two = (_mean_square(data, m, period) for m in (1, 2))
    variance = one - two / 2
    if not 3 * variance > one:
        return None
    error = 2 * variance * np.sqrt(3 / min(data.n_increments, SAMPLES))
    longest = int(np.median(np.diff(data.segments[:, :2]))) // (3 * LEAST_WINDOWS)
    stride, near = 1, one
    while _mean_square(data, 3 * stride, period) - near <= SEEN * error:
        stride *= 2
        if stride > min(longest, data.n_increments // 1000):
            return None
        near = _mean_square(data, stride, period)
    # At a coarse step the process itself is as far after one sample as after many.
    if stride == 1:
        return None
    variance /= scales.unit**2
    return StrongNoise(variance, variance * np.sqrt(7 / min(data.n_increments, SAMPLES)), stride)


def _mean_square(data: Trajectories, m: int, period: float | None) -> float:
    """Return the mean squared displacement over m samples; NaN where no segment is as long."""
    first, stop = data.segments[:, 0], data.segments[:, 1]
    left = np.arange(0, len(data.states) - m, max(1, len(data.states) // SAMPLES))
    segment = np.searchsorted(stop, left, side="right").clip(max=len(stop) - 1)
    left = left[(left >= first[segment]) & (left + m < stop[segment])]
    if not left.size:
        return np.nan
    here, there = (np.asarray(data.states[k, 0], dtype=np.float64) for k in (left, left + m))
    return float((shorter(there - here, period) ** 2).mean())
