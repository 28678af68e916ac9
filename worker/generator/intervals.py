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
    frequencies    one interval for the imaginary part of each eigenvalue; None where it is zero, empty in one coordinate [1/time]
    exits          of each exit that the reference has, the probability to leave at the upper end, and the mean time [time]
    integrated_time  of the autocorrelation in one coordinate [time]
    integrated_times  likewise, one for each of several coordinates; empty in one [time]
    skewness, kurtosis  one for each coordinate; empty where they are not looked at
    circulation, entropy_production  of two coordinates [state²/time], [1/time]
    deviations     one for each passage, in several coordinates between places, of its time's standard deviation [time]
    committors     one band for each committor of the reference
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


def central_interval(numbers: Sequence[float | None], confidence: float) -> Range | None:
    """The interval that holds the middle `confidence` of the numbers; None where too few samples have one."""
    known = np.array([number for number in numbers if number is not None], dtype=float)
    if len(known) < max(FEWEST, len(numbers) / 2):
        return None
    # Order statistics, not interpolation: an infinite time must not turn its neighbour into nan.
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2], method="nearest")
    return float(low), float(high)


def interval_of_times(logs: Sequence[float | None], confidence: float) -> Range | None:
    """The central interval of times given by their logarithms; an end may be infinite."""
    found = central_interval(logs, confidence)
    with np.errstate(over="ignore"):
        return None if found is None else (float(np.exp(found[0])), float(np.exp(found[1])))


def central_band(values: FloatArray, confidence: float) -> Band | None:
    """The central interval of values (samples, …), nan where a sample has none, at each point of a grid; None where too few have
    any."""
    known = np.isfinite(values).reshape(len(values), -1).any(axis=1)
    if known.sum() < max(FEWEST, len(values) / 2):
        return None
    low, high = np.quantile(values[known], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0, method="nearest")
    return low, high
