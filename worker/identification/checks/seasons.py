"""A season that a model leaves out: a line in the periodogram of its residuals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import CHUNK, Trajectories
from worker.identification.data.windows import Space

Floats = NDArray[np.float64]

MOST_SAMPLES, BINS = 1 << 20, 1 << 15
"""Samples that are read, and bins of equal time into which residuals are summed."""

FEWEST_PERIODS, SHORTEST = 4, 6
"""Periods that the record holds at least, and sampling intervals in one."""

NEIGHBOURS = 40
"""Frequencies on either side whose median is the level of the noise about a line."""

IMPROBABLE = 1e-4
"""Probability, over all frequencies, below which a line is one."""


@dataclass(frozen=True, slots=True)
class Season:
    """Line in a periodogram.

    period   period [time], rounded to what the record tells
    power    power over the noise's mean
    """

    period: float
    power: float


def season_of(
    data: Trajectories, space: Space, library: Library, p: int, drift: Floats, diagonal: Floats
) -> Season | None:
    """Find the strongest line in the residuals of variable p of the longest trajectory, (M71).

    Parameters
    ----------
    data, space, library : record, internal units, terms
    p : number of the variable
    drift : (J,) internal coefficients of its drift
    diagonal : (J,) those of its diffusion
    """
    sums, length = _binned(data, space, library, p, drift, diagonal)
    n = len(sums)
    if n < 16 * FEWEST_PERIODS:
        return None
    power = np.abs(np.fft.rfft(sums - sums.mean())) ** 2
    last = min(int(length / (SHORTEST * space.time)), n // 2 - 1)
    if last <= FEWEST_PERIODS + 2 * NEIGHBOURS:
        return None
    around = np.lib.stride_tricks.sliding_window_view(
        np.pad(power[1:], NEIGHBOURS, mode="reflect"), 2 * NEIGHBOURS + 1
    )
    # The median of an exponential distribution is ln 2 of its mean.
    level = np.median(around[:last], axis=1) / np.log(2)
    relative = power[1 : len(level) + 1] / level
    relative[: FEWEST_PERIODS - 1] = 0.0
    best = int(np.argmax(relative))
    found = float(relative[best])
    if not found > np.log(len(relative) / IMPROBABLE):
        return None
    k = best + 1
    centres = (np.arange(n) + 0.5) / n
    fine = k + np.linspace(-0.75, 0.75, 301)
    lines = [abs(np.exp(-2j * np.pi * f * centres) @ sums) for f in fine]
    k_best = float(fine[int(np.argmax(lines))])
    error = np.sqrt(3 / found) / np.pi / k_best
    return Season(_rounded(length / k_best, length / k_best * error), found)


def _rounded(value: float, error: float) -> float:
    """Return the shortest decimal number within half an error."""
    return next(
        (
            near
            for digits in range(1, 16)
            if abs((near := float(f"{value:.{digits}g}")) - value) < error / 2
        ),
        value,
    )


def _binned(
    data: Trajectories, space: Space, library: Library, p: int, drift: Floats, diagonal: Floats
) -> tuple[Floats, float]:
    """Sum standardised residuals in bins of equal time; return also the time they span."""
    segments = data.segments
    lengths = np.bincount(segments[:, 2], weights=segments[:, 1] - segments[:, 0])
    own = segments[segments[:, 2] == int(np.argmax(lengths))]
    begin = int(own[0, 0])
    end = min(int(own[-1, 1]), begin + MOST_SAMPLES)
    start = float(data.times[begin])
    length = float(data.times[end - 1]) - start
    n = min(BINS, end - begin - 1)
    sums = np.zeros(n)
    for first, stop, _ in own:
        for left in range(int(first), min(int(stop), end) - 1, CHUNK):
            right = min(left + CHUNK + 1, int(stop), end)
            y = space.internal(space.rows(data, slice(left, right)))
            times = np.asarray(data.times[left:right], dtype=np.float64)
            functions, step = library.internal(y), np.diff(times) / space.time
            moved = np.diff(y[:, p])
            if space.periods[p] is not None:
                moved -= 2 * np.round(moved / 2)
            b, a = functions @ drift, functions @ diagonal
            a = np.maximum(a, 0.1 * float(np.abs(a).mean()) + 1e-300)[:-1]
            r = (moved - step / 2 * (b[:-1] + b[1:])) / np.sqrt(a)
            # A wild step has no more weight than five deviations.
            limit = 5 * np.sqrt(step)
            middle = (times[:-1] + times[1:]) / 2 - start
            place = np.minimum((middle / length * n).astype(np.int64), n - 1)
            sums += np.bincount(place, np.clip(r, -limit, limit), n)
    return sums, length
