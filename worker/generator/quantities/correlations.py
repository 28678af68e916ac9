"""How long the process remembers: its autocorrelation function and power spectrum, in any number of coordinates."""

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np

from worker.generator.process import FloatArray
from worker.generator.quantities.kinds import CURVE, FINITE_TIME, POSITIVE_CURVE
from worker.generator.quantities.passage_time import Timing

SPAN = 5.0
"""Longest lag that is given, in relaxation times."""


BELOW, ABOVE = 30.0, 10.0
"""Lowest and highest frequency that are given: this part of the slowest rate, and this many times the fastest."""


class CorrelationFunctions(Protocol):
    """The stationary process of d coordinates, as far as its correlations go."""

    def autocorrelation(self, lags: FloatArray) -> FloatArray:
        """C(t) = ⟨δx(0) δx(t)⟩ / ⟨δx²⟩ of each coordinate at lags (n,) [time]: (d, n); nan for a coordinate that has none.
        Of an angle x of period P, the real part of that of exp(2πix/P)."""
        ...

    def power_spectrum(self, frequencies: FloatArray) -> FloatArray:
        """One-sided power spectral density of each coordinate at positive frequencies (n,) [1/time]: (d, n) [state²·time]; its
        integral over all frequencies is the variance. Of an angle, the sum of those of cos and sin [time]."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Autocorrelation function and power spectrum of the stationary process, equations (G30) and (G31).

    lags              (n,) [time]
    autocorrelation   (d, n) of each coordinate; of an angle x of period P the real part of that of exp(2πix/P)
    frequencies       (m,) [1/time]
    power_spectrum    (d, m) one-sided [state²·time]
    integrated_times  ∫_0^∞ C dt of each coordinate [time]
    correlations      the same functions at any other lags and frequencies
    """

    lags: FloatArray
    autocorrelation: Annotated[FloatArray, CURVE]
    frequencies: FloatArray
    power_spectrum: Annotated[FloatArray, POSITIVE_CURVE]
    integrated_times: Annotated[tuple[Timing, ...], FINITE_TIME]
    functions: CorrelationFunctions

    @property
    def fastest(self) -> float:
        """The fastest rate that the frequencies were chosen for [1/time]."""
        return float(2 * np.pi * self.frequencies[-1] / ABOVE)


@dataclass(frozen=True, slots=True)
class NoCorrelations:
    """Why there is no autocorrelation function."""

    reason: str


def times_of(integrals: FloatArray) -> tuple[Timing, ...]:
    """∫_0^∞ C dt of each coordinate (d,) as times; one that is not positive, as that of a velocity, has no logarithm [time]."""
    return tuple(
        Timing.from_log(float(np.log(time))) if time > 0 else Timing(float(time))
        for time in integrals
    )
