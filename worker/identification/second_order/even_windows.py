"""Windows of a record at even steps, as many as decide its order, from all over the record."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories, shorter

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_SAMPLES = 2**18
"""Samples that are read, spread over a long record."""

SIZES = (512, 256, 128, 64, 32, 16)
"""Numbers of second differences in a window, the first of which enough windows hold is taken."""

MARGIN = 4
"""Samples of a window beyond its second differences: two for these, two for the state before."""

UNEVEN = 0.3
"""Largest distance of a sample's time from even times that is called even [sampling interval]."""


@dataclass(frozen=True, slots=True, eq=False)
class EvenWindows:
    """Windows of n + 4 states at even steps, half overlapping, in units of the increments' rms.

    states    (n_windows, n + 4, d)   states, unwrapped where periodic
    step      step between them [time]
    units     (d,) unit of each variable [state]
    resampled whether the record was sampled so unevenly that states were interpolated
    """

    states: Floats
    step: float
    units: Floats
    resampled: bool

    @property
    def n(self) -> int:
        """Number of second differences of a window."""
        return int(self.states.shape[1]) - MARGIN


def read_windows(
    data: Trajectories, periods: tuple[float | None, ...], stride: int = 1
) -> EvenWindows | None:
    """Read windows from a record; None where no stretch of it is long enough.

    Parameters
    ----------
    data : record
    periods : period of each variable, None on the line [state]
    stride : samples from one state to the next
    """
    found = _even(data, periods, stride)
    if found is None and stride == 1:
        found = _interpolated(data, periods)
    return found


def _even(data: Trajectories, periods: tuple[float | None, ...], stride: int) -> EvenWindows | None:
    lengths = (data.segments[:, 1] - data.segments[:, 0]) // stride
    total = int(lengths.sum())
    for n in SIZES:
        # Half the samples in windows, and enough windows to tell how these differ by chance.
        inside = lengths >= n + MARGIN
        if lengths[inside].sum() < total / 2 or total < 6 * n:
            continue
        starts = _starts(data.segments[inside, 0], lengths[inside], n, stride)
        rows = starts[:, None] + stride * np.arange(n + MARGIN)
        times = np.asarray(data.times[rows])
        steps = (times[:, -1] - times[:, 0]) / (times.shape[1] - 1)
        usual = float(np.median(steps))
        even = np.abs(steps - usual) < 0.05 * usual
        expected = times[:, :1] + steps[:, None] * np.arange(times.shape[1])
        even &= np.abs(times - expected).max(axis=1) < UNEVEN * usual
        if even.sum() >= max(4, len(even) / 2):
            return _in_units(np.asarray(data.states[rows[even]]), periods, usual, resampled=False)
    return None


def _starts(first: Integers, lengths: Integers, n: int, stride: int) -> Integers:
    """Choose the first samples of windows: all that overlap by half, or as many evenly spread."""
    count = (lengths - n - MARGIN) // (n // 2) + 1
    ends = np.cumsum(count)
    most = max(8, 2 * MOST_SAMPLES // n)
    if ends[-1] <= most:
        number = np.arange(ends[-1])
    else:
        # Neighbours in pairs, so that half the overlap stays.
        pairs = np.linspace(0, ends[-1] - 2, most // 2).astype(np.int64)
        number = (pairs[:, None] + [0, 1]).ravel()
    segment = np.searchsorted(ends, number, side="right")
    inside = number - (ends[segment] - count[segment])
    return np.asarray(first[segment] + stride * (n // 2) * inside)


def _in_units(
    states: Floats, periods: tuple[float | None, ...], step: float, *, resampled: bool
) -> EvenWindows:
    states = np.array(states, dtype=np.float64)
    for p, period in enumerate(periods):
        moves = shorter(np.diff(states[:, :, p], axis=1), period)
        states[:, 1:, p] = states[:, :1, p] + np.cumsum(moves, axis=1)
    units = np.sqrt(np.mean(np.diff(states, axis=1) ** 2, axis=(0, 1)))
    units = np.where(units > 0, units, 1.0)
    return EvenWindows(states / units, step, units, resampled)


def _interpolated(data: Trajectories, periods: tuple[float | None, ...]) -> EvenWindows | None:
    """Interpolate states at even times, in stretches without a step longer than theirs.

    No two increments but neighbours then share a step of the record, so that a diffusion's remain
    uncorrelated at two steps and more.
    """
    rows, segment = _stretches(data)
    times, states = np.asarray(data.times[rows]), np.array(data.states[rows])
    steps = np.diff(times)
    joined = (segment[1:] == segment[:-1]) & (np.diff(rows) == 1)
    if not joined.any():
        return None
    usual = float(np.median(steps[joined]))
    for p, period in enumerate(periods):
        moves = shorter(np.diff(states[:, p]), period)
        states[1:, p] = states[0, p] + np.cumsum(moves)
    for factor in (1.5, 2, 3, 4, 6, 10):
        step = factor * usual
        cuts = np.flatnonzero(~joined | (steps > step)) + 1
        first, last = np.append(0, cuts), np.append(cuts, len(times)) - 1
        count = ((times[last] - times[first]) / step).astype(np.int64) + 1
        for n in SIZES:
            inside = count >= n + MARGIN
            if count[inside].sum() < count.sum() / 2 or count.sum() < 6 * n:
                continue
            starts = _starts(np.append(0, np.cumsum(count[inside]))[:-1], count[inside], n, 1)
            grid = np.concatenate(
                [
                    times[a] + step * np.arange(k)
                    for a, k in zip(first[inside], count[inside], strict=True)
                ]
            )
            # One clock for all stretches: times may begin again in each trajectory.
            clock = np.append(0.0, np.cumsum(np.where(joined, steps, 2 * step)))
            shift = np.repeat((clock - times)[first[inside]], count[inside])
            even = np.stack(
                [np.interp(grid + shift, clock, states[:, p]) for p in range(states.shape[1])],
                axis=1,
            )
            return _in_units(
                even[starts[:, None] + np.arange(n + MARGIN)], periods, step, resampled=True
            )
    return None


def _stretches(data: Trajectories) -> tuple[Integers, Integers]:
    """Choose samples, and name their segments: all, or of a long record stretches."""
    inside = data.segments[:, 1] - data.segments[:, 0]
    ends = np.cumsum(inside)
    total, piece = int(ends[-1]), 2**13
    if total <= MOST_SAMPLES:
        number = np.arange(total)
    else:
        begin = np.linspace(0, total - piece, MOST_SAMPLES // piece).astype(np.int64)
        number = (begin[:, None] + np.arange(piece)).ravel()
    segment = np.searchsorted(ends, number, side="right")
    return data.segments[segment, 0] + number - (ends[segment] - inside[segment]), segment
