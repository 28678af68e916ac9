"""Central percentile intervals over sampled models."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker.generator.process import FloatArray

Range = tuple[float, float]
Band = tuple[FloatArray, FloatArray]
"""Lower and upper ends of central intervals, on a grid."""

FEWEST = 20
"""Samples below which no interval is given."""


@dataclass(frozen=True, slots=True, eq=False)
class TopographySpread:
    """Central percentile intervals over those samples that have what the reference has there.

    fixed_points  one tuple for each fixed point of the reference, with the interval of each coordinate [state]
    rates         likewise of the real parts of the Jacobian's eigenvalues there; empty in one coordinate [1/time]
    frequencies   and of the imaginary parts, None where the reference's vanishes; empty in one coordinate [1/time]
    barriers      of each barrier of the reference, its heights ΔV and ΔΦ [state²/time], [kT]
    density, potential, relaxation   bands of the stationary density, of the effective potential, each sample's zero at its own
                  lowest point, and of |b'|/a, on the reference's grids; the last two None in several coordinates
    """

    fixed_points: tuple[tuple[Range | None, ...], ...]
    rates: tuple[tuple[Range | None, ...], ...] = ()
    frequencies: tuple[tuple[Range | None, ...], ...] = ()
    barriers: tuple[tuple[Range | None, Range | None], ...] = ()
    density: Band | None = None
    potential: Band | None = None
    relaxation: Band | None = None


@dataclass(frozen=True, slots=True)
class GeneratorSpread:
    """Central percentile intervals over the sampled models; None where too few samples have the quantity.

    They are the samples' own percentiles: the reference value lies inside them only if the samples put it there.

    eigenvalues    one interval for each eigenvalue of the reference [1/time]
    mean           (d,) intervals [state]
    covariance     (d, d) intervals [state²]
    passages       one interval for each passage of the reference, its mean time [time]
    between        one interval for each passage between places of several coordinates; empty in one [time]
    kramers        likewise for the asymptotic formula [time]
    frequencies    one interval for the imaginary part of each eigenvalue; None where it is zero [1/time]
    exits          of each exit that the reference has, the probability to leave at the upper end, and the mean time [time]
    integrated_time  of the autocorrelation in one coordinate [time]
    integrated_times  likewise, one for each of several coordinates; empty in one [time]
    skewness, kurtosis  one for each coordinate; empty where they are not looked at
    circulation, entropy_production  of two coordinates [state²/time], [1/time]
    deviations     one for each passage, in several coordinates between places, of its time's standard deviation [time]
    committors     one band for each committor of the reference
    quantiles      for each passage in one coordinate, one interval a quantile, over the first hundred samples [time]
    topography     of fixed points, barriers, density and potential; None where they are not looked at
    current        of probability, on a circle [1/time]
    autocorrelation, power_spectrum  bands of both functions, each end (d, n) at the reference's lags and frequencies, nan for a
                   coordinate that has none; over the first hundred samples [1], [state²·time]
    eigenfunctions one band for each of the reference, on its grid; empty where they are not looked at
    ergodic_share  share of the samples that have a stationary law; None without samples
    n_samples      how many models were analysed
    """

    eigenvalues: tuple[Range | None, ...]
    mean: tuple[Range | None, ...]
    covariance: tuple[tuple[Range | None, ...], ...]
    passages: tuple[Range | None, ...]
    kramers: tuple[Range | None, ...]
    ergodic_share: float | None
    n_samples: int
    frequencies: tuple[Range | None, ...] = ()
    between: tuple[Range | None, ...] = ()
    exits: tuple[tuple[Range | None, Range | None], ...] = ()
    integrated_time: Range | None = None
    integrated_times: tuple[Range | None, ...] = ()
    skewness: tuple[Range | None, ...] = ()
    kurtosis: tuple[Range | None, ...] = ()
    circulation: Range | None = None
    entropy_production: Range | None = None
    deviations: tuple[Range | None, ...] = ()
    committors: tuple[Band | None, ...] = ()
    quantiles: tuple[tuple[Range | None, ...], ...] = ()
    topography: TopographySpread | None = None
    current: Range | None = None
    autocorrelation: Band | None = None
    power_spectrum: Band | None = None
    eigenfunctions: tuple[Band | None, ...] = ()


def central_interval(numbers: Sequence[float | None], confidence: float) -> Range | None:
    """The interval that holds the middle `confidence` of the numbers; None where too few samples have one."""
    known = np.array([number for number in numbers if number is not None], dtype=float)
    if len(known) < max(FEWEST, len(numbers) / 2):
        return None
    # Order statistics, not interpolation: an infinite time must not turn its neighbour into nan.
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2], method="nearest")
    return float(low), float(high)


def column_intervals(rows: FloatArray, confidence: float) -> tuple[Range | None, ...]:
    """One interval for each column of (samples, n); nan where a sample has no such number."""
    return tuple(
        central_interval([None if np.isnan(v) else float(v) for v in column], confidence)
        for column in rows.T
    )


def interval_of_times(logs: Sequence[float | None], confidence: float) -> Range | None:
    """The central interval of times given by their logarithms; an end may be infinite."""
    found = central_interval(logs, confidence)
    with np.errstate(over="ignore"):
        return None if found is None else (float(np.exp(found[0])), float(np.exp(found[1])))


def central_band(values: FloatArray, confidence: float) -> Band | None:
    """The central interval of values (samples, …), nan where a sample has none, at each point of a grid; None where too few have
    any."""
    known = np.isfinite(values).any(axis=tuple(range(1, values.ndim)))
    if known.sum() < max(FEWEST, len(values) / 2):
        return None
    low, high = np.quantile(
        values[known], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0, method="nearest"
    )
    return low, high


def band_of_rows(rows: Sequence[FloatArray | None], confidence: float) -> Band | None:
    """The same of each sample's values on one grid, None where a sample has none."""
    known = [row for row in rows if row is not None]
    if not known:
        return None
    missing = np.full(known[0].shape, np.nan)
    return central_band(np.array([missing if row is None else row for row in rows]), confidence)
