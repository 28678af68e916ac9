"""Samples that are compared, on an even clock in bounded memory, and the test over their blocks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from worker.identification.data.trajectories import Trajectories

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST = 500_000
"""Most samples that are used."""
STRETCHES = 100
RESOLUTION = 64
"""Fewest samples in a relaxation time of a thinned record; its autocorrelation has 8 lags there."""
EVEN = 0.02
"""Relative difference from the median step up to which a step is even, as in `Windows.even`."""


@dataclass(frozen=True, slots=True, eq=False)
class EvenSamples:
    """Samples gathered from the record.

    states   (n, d), angles as they were [state]
    runs     (m, 2) first sample and one past the last of each run of equal steps in `states`
    step     interval of the clock [time]
    share    share of the record's samples that are in `states`
    even     share of the steps among them that are in runs
    """

    states: Floats
    runs: Integers
    step: float
    share: float
    even: float

    @property
    def longest(self) -> int:
        """Length of the longest run [steps]."""
        return int(np.max(self.runs[:, 1] - self.runs[:, 0], initial=1)) - 1


def thinned(data: Trajectories, step: float, relaxation: float, most: int = MOST) -> EvenSamples:
    """Gather samples for lags of relaxation times: every k-th, so that long pieces are few samples.

    They are all of the record where every k-th sample is at most `most`, and relaxation times in
    stretches of 20 and more where k is limited by RESOLUTION.

    Parameters
    ----------
    data : record
    step : median sampling interval of the record [time]
    relaxation : slowest relaxation time of the model [time]
    most : number of samples at most
    """
    total = int((data.segments[:, 1] - data.segments[:, 0]).sum())
    every = max(1, min(-(-total // most), int(relaxation / step / RESOLUTION)))
    return gather(data, step, int(np.ceil(relaxation / step)), most, every)


def gather(
    data: Trajectories, step: float, longest_lag: int, most: int = MOST, every: int = 1
) -> EvenSamples:
    """Gather up to `most` samples, in stretches of at least twenty longest lags where possible.

    Parameters
    ----------
    data : record
    step : median sampling interval of the record [time]
    longest_lag : longest lag of the validation [steps]
    most : number of samples at most
    every : number k of the k-th samples that are taken
    """
    taken = pieces(data.segments, longest_lag, most * every)
    states, runs, steps, position, clock = [], [], 0, 0, step * every
    for start, stop in taken:
        times = np.asarray(data.times[start:stop:every])
        even = np.abs(np.diff(times) - clock) <= EVEN * clock
        states.append(np.asarray(data.states[start:stop:every], dtype=np.float64))
        steps += len(even)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], even.astype(np.int8), [0]])))
        runs.append(edges.reshape(-1, 2) + np.array([position, position + 1]))
        position += len(times)
    found = np.concatenate(runs) if runs else np.zeros((0, 2), dtype=np.int64)
    total = int((data.segments[:, 1] - data.segments[:, 0]).sum())
    in_runs = int((found[:, 1] - found[:, 0] - 1).sum())
    gathered = np.concatenate(states) if states else np.zeros((0, data.dimension))
    share, even_share = position / total if total else 0.0, in_runs / steps if steps else 0.0
    return EvenSamples(gathered, found.astype(np.int64), clock, share, even_share)


def pieces(segments: Integers, longest_lag: int, most: int) -> list[tuple[int, int]]:
    """Return the first sample and one past the last of each piece that is read.

    Parameters
    ----------
    segments : (n_segments, 3) of the record
    longest_lag : longest lag of the validation [steps]
    most : number of samples at most
    """
    whole = [(int(start), int(stop)) for start, stop, _ in segments if stop - start > 1]
    total = sum(stop - start for start, stop in whole)
    if total <= most:
        return whole
    count = int(np.clip(most // (20 * max(longest_lag, 1)), 8, STRETCHES))
    period, length = total / count, most // count
    # Stretch k is the samples k·period … k·period + length of the record, segments end to end.
    wanted = [(int(k * period), int(k * period) + length) for k in range(count)]
    out, passed = [], 0
    for start, stop in whole:
        size = stop - start
        for first, last in wanted:
            low, high = max(first - passed, 0), min(last - passed, size)
            if high - low > 1:
                out.append((start + low, start + high))
        passed += size
    return out


def hotelling(
    difference: Floats, covariance: Floats, n_blocks: float, floor: float
) -> tuple[float, int, float]:
    """Return χ², its degrees of freedom and the p-value of Hotelling's test of a difference.

    Parameters
    ----------
    difference : (n,) difference that is tested
    covariance : (n, n) its covariance, estimated from blocks
    n_blocks : number of blocks; at most half as many directions are tested
    floor : smallest eigenvalue of a direction that is tested, as a share of the largest
    """
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > floor * values[-1]
    if kept.sum() > n_blocks / 2:
        kept[: len(kept) - int(n_blocks / 2)] = False
    degrees = int(kept.sum())
    statistic = float(np.sum((vectors[:, kept].T @ (difference / scale)) ** 2 / values[kept]))
    left = n_blocks - degrees
    p = float(fdtrc(degrees, left, statistic * left / (degrees * (n_blocks - 1))))
    return statistic, degrees, p
