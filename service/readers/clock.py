"""Times as numbers: exact elapsed time, resolution, and the uniform clock behind rounded times."""

from dataclasses import dataclass

import numpy as np

from service.readers.table import NOT_A_TIME, Column, Floats, Integers

_MOST_DECIMALS = 12


def elapsed(column: Column) -> Floats:
    """Return the time (n,) since the smallest one in the column's ticks or units; missing is NaN.

    Every printed digit is kept.
    """
    if column.values.dtype.kind == "i":
        present = column.values != NOT_A_TIME
        if not present.any():
            return np.full(len(column.values), np.nan)
        first = int(column.values[present].min())
        return np.where(present, column.values - first, np.nan)
    values = column.numbers()
    if not np.isfinite(values).any():
        return values.copy()
    since = values - np.nanmin(values)
    # The double 1700000000.001 has an error of 1e-7; a difference that is rounded to the printed
    # digits has none.
    decimals = decimals_of(values)
    return since if decimals is None else np.round(since, decimals)


def decimals_of(values: Floats) -> int | None:
    """Return the decimals with which all values were printed; None where they were not rounded."""
    values = values[np.isfinite(values)]
    sample = values[:: max(1, len(values) // 2000)]
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(sample, decimals), sample) and np.array_equal(
            np.round(values, decimals), values
        ):
            fine = np.spacing(np.abs(values).max(initial=0.0)) < 0.25 * 10.0**-decimals
            return decimals if fine else None
    return None


def resolution_of(values: Floats) -> Floats:
    """Return the unit of the last printed digit of each value (n,), 0 where it was not rounded.

    The unit is the finest one among the values of the same power of ten.
    """
    magnitude = np.abs(values)
    decade = np.floor(np.log10(np.where(magnitude > 0, magnitude, 1.0))).astype(np.int64)
    decade[magnitude == 0] = decade[magnitude > 0].min(initial=0)
    unit = np.zeros(len(values))
    for power in np.unique(decade):
        inside = decade == power
        decimals = decimals_of(values[inside])
        unit[inside] = _single_precision(values[inside]) if decimals is None else 10.0**-decimals
    return unit


def _single_precision(values: Floats) -> Floats:
    """Return the spacing of float32 at each value (n,) where all are float32 numbers, else 0."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if not np.array_equal(single, values):
        return np.zeros(len(values))
    return np.spacing(np.abs(single)).astype(np.float64)


def rises_evenly(steps: Floats, values: Floats) -> bool:
    """Return whether all steps between values are positive and nine of ten agree to 1 %."""
    usual = float(np.median(steps))
    even = np.abs(steps - usual) <= 0.01 * usual + 4 * np.spacing(np.abs(values).max())
    return bool(np.all(steps > 0)) and float(np.mean(even)) >= 0.9


@dataclass(frozen=True, slots=True, eq=False)
class UniformClock:
    """A clock with one `step`, the times it gives the samples, and their largest correction."""

    step: float
    times: Floats
    largest_shift: float


def uniform_clock(
    times: Floats, piece: Integers, resolution: Floats, step: float | None = None
) -> UniformClock | None:
    """Find the uniform clock whose rounded times these are; None where there is none.

    times       (n,) non-decreasing inside a piece
    piece       (n,) number of the uninterrupted stretch, non-decreasing
    resolution  (n,) unit of the last printed digit
    step        the clock's step, where it is known

    One step and one offset per piece are fitted by least squares, weighted by the resolution.
    Rounding moves no time by more than its last digit, changes no step by a whole digit, and its
    errors do not add up; an uneven clock breaks one of these three rules.
    """
    fitted = _fit(times, piece, resolution, step)
    if fitted is None:
        return None
    step, on_grid = fitted
    inside = piece[1:] == piece[:-1]
    coarsest = np.maximum(resolution[1:], resolution[:-1])[inside]
    shift = np.abs(times - on_grid)
    noise = 8 * np.spacing(np.abs(times).max())
    rounded = bool(
        np.all(shift <= resolution + noise)
        and np.all(np.abs(np.diff(times)[inside] - step) < coarsest * (1 - 1e-6))
    )
    return UniformClock(step, on_grid, float(shift.max())) if rounded else None


def steady_clock(times: Floats, piece: Integers, step: float | None = None) -> UniformClock | None:
    """Find the uniform clock around which times scatter (events logged late); None without one.

    A clock that adds independent steps deviates by their scatter times the square root of their
    number; a uniform clock that is read late does not.
    """
    if len(times) < 1000:
        return None
    fitted = _fit(times, piece, np.ones(len(times)), step)
    if fitted is None:
        return None
    step, on_grid = fitted
    shift = times - on_grid
    steady = float(np.std(shift)) <= 2 * step and float(np.abs(shift).max()) <= 50 * step
    return UniformClock(step, on_grid, float(np.abs(shift).max())) if steady else None


def _fit(
    times: Floats, piece: Integers, resolution: Floats, step: float | None = None
) -> tuple[float, Floats] | None:
    if not np.all(resolution > 0):
        return None
    n_pieces = int(piece[-1]) + 1
    first = np.searchsorted(piece, np.arange(n_pieces))
    index = (np.arange(len(times)) - first[piece]).astype(np.float64)
    weight = (resolution.min() / resolution) ** 2
    total = np.bincount(piece, weight, n_pieces)
    mean_time = np.bincount(piece, weight * times, n_pieces) / total
    mean_index = np.bincount(piece, weight * index, n_pieces) / total
    centred = index - mean_index[piece]
    spread = float(np.sum(weight * centred**2))
    if spread == 0.0:
        return None
    step = step or float(np.sum(weight * centred * (times - mean_time[piece]))) / spread
    if step <= 0:
        return None
    return step, mean_time[piece] + step * centred
