"""One model drawn around a reference: the numbers that its intervals are made of, and those of the reference it is asked for."""

from dataclasses import dataclass

import numpy as np

from worker.generator.line.passages.exits import Exit, Triple
from worker.generator.process import FloatArray
from worker.generator.quantities.committor import Committor
from worker.generator.quantities.passage_time import Timing
from worker.generator.quantities.regions import Pair
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.uncertainty.topography import Topography

DEPTH = 60.0
"""Fall of the log-density at which the panels of a sample end."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one model says.

    ergodic      it has a stationary law
    settled      there is a law to take numbers from, if only between the reflecting ends of the reference
    rates        as many as the reference has, as far as the sample has them [1/time]
    mean, variance, skewness, kurtosis   None where they do not exist [state], [state²]
    log_times    logarithm of each passage's mean time, inf where it is infinite; empty where nothing can be said
    log_kramers  likewise by the asymptotic formula; None where it does not apply
    exits        of each exit that the reference has, the probability to leave at the upper end and the log of the mean time
    log_integrated_time   of the autocorrelation; None where there is none
    log_deviations   of each passage's time, None where that is not resolved; empty where nothing can be said
    committors   of each that the reference has, on its grid; None where there is none
    topography   of the landscape; None where there is none
    current      of probability, on a circle [1/time]
    frequencies  imaginary parts of the rates; empty on the line [1/time]
    log_quantiles   (k,) of each passage's time, inf where the mean is infinite; None where they are not looked at
    autocorrelation, power_spectrum  (n,) at the reference's lags, and (k,) at its frequencies; None where they are not looked at
    eigenfunctions  (≤ k, n) of the rates, on the reference's grid; None where they are not looked at
    """

    ergodic: bool
    settled: bool = False
    rates: tuple[float, ...] = ()
    mean: float | None = None
    variance: float | None = None
    log_times: tuple[float, ...] = ()
    log_kramers: tuple[float | None, ...] = ()
    exits: tuple[tuple[float | None, float], ...] = ()
    log_integrated_time: float | None = None
    skewness: float | None = None
    kurtosis: float | None = None
    log_deviations: tuple[float | None, ...] = ()
    committors: tuple[FloatArray | None, ...] = ()
    topography: Topography | None = None
    current: float | None = None
    log_quantiles: tuple[FloatArray | None, ...] = ()
    frequencies: tuple[float, ...] = ()
    autocorrelation: FloatArray | None = None
    power_spectrum: FloatArray | None = None
    eigenfunctions: FloatArray | None = None


def looked_at(reference: GeneratorReport, observed: Range | None) -> Range | None:
    """The range around which a sample is analysed: where the reference lives [state]."""
    if reference.stationary is None:
        return observed
    grid = reference.stationary.grid[0]
    return float(grid[0]), float(grid[-1])


def rates_of(reference: GeneratorReport) -> FloatArray:
    """(k,) the reference's rates [1/time]."""
    return np.zeros(0) if reference.spectrum is None else reference.spectrum.eigenvalues.real


def grid_of_functions(reference: GeneratorReport) -> FloatArray | None:
    """(n,) points at which the reference has eigenfunctions; None where it has none [state]."""
    if (
        reference.spectrum is None
        or reference.spectrum.eigenfunctions is None
        or reference.stationary is None
    ):
        return None
    return reference.stationary.grid[0]


def exits_of(reference: GeneratorReport) -> tuple[Triple, ...]:
    """Those exits of the reference that have an answer: from where, out of what interval [state]."""
    return tuple(
        (e.start, e.low, e.high) for e in reference.exits if e.mean_time.log_value is not None
    )


def committors_of(reference: GeneratorReport) -> tuple[Pair, ...]:
    """Those committors of the reference that have an answer: between what."""
    return tuple(
        (committor.start, committor.to)
        for committor in reference.committors
        if committor.found is not None
    )


def values_of(committor: Committor) -> FloatArray | None:
    """Its values on the grid, where there are any."""
    return None if committor.found is None else committor.found.values


def exit_numbers(found: Exit) -> tuple[float | None, float]:
    """The probability to leave at the upper end, and the log of the mean time."""
    return found.probability_high, log_time_of(found.mean_time)


def log_time_of(timing: Timing) -> float:
    """Infinite where there is no time."""
    return np.inf if timing.log_value is None else timing.log_value
