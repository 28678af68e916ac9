"""Autocorrelation function and power spectrum, in any number of coordinates."""

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np

from worker.generator.process import FloatArray
from worker.generator.quantities.kinds import CORRELATION, FINITE_TIME, POSITIVE_CURVE
from worker.generator.quantities.passages import Timing

SPAN = 5.0
"""Longest lag that is given, in relaxation times."""


BELOW, ABOVE = 30.0, 10.0
"""Lowest and highest frequency that are given, as multiples of the slowest and the fastest rate."""


class CorrelationFunctions(Protocol):
    """Correlation functions of the stationary process of d coordinates."""

    def autocorrelation(self, lags: FloatArray) -> FloatArray:
        """Return C(t) = ⟨δx(0) δx(t)⟩ / ⟨δx²⟩ of each coordinate at lags (n,) [time]: (d, n).

        A coordinate that has none gives nan; an angle x of period P gives the real part of that of
        exp(2πix/P).
        """
        ...

    def power_spectrum(self, frequencies: FloatArray) -> FloatArray:
        """Return the one-sided power spectral density of each coordinate: (d, n) [state²·time].

        The frequencies (n,) are positive [1/time]; the integral over all of them is the variance.
        An angle gives the sum of the spectra of cos and sin [time].
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Correlations:
    """Autocorrelation function and power spectrum of the stationary process, (G30) and (G31).

    lags              (n,) [time]
    autocorrelation   (d, n) of each coordinate; of an angle x of period P the real part of that of
                      exp(2πix/P)
    frequencies       (m,) [1/time]
    power_spectrum    (d, m) one-sided [state²·time]
    integrated_times  ∫_0^∞ C dt of each coordinate [time]
    functions         the correlation functions at any other lags and frequencies
    """

    lags: FloatArray
    autocorrelation: Annotated[FloatArray, CORRELATION]
    frequencies: FloatArray
    power_spectrum: Annotated[FloatArray, POSITIVE_CURVE]
    integrated_times: Annotated[tuple[Timing, ...], FINITE_TIME]
    functions: CorrelationFunctions

    @property
    def fastest(self) -> float:
        """Fastest rate that the frequencies were chosen for [1/time]."""
        return float(2 * np.pi * self.frequencies[-1] / ABOVE)


def times_of(integrals: FloatArray) -> tuple[Timing, ...]:
    """Return ∫_0^∞ C dt of each coordinate (d,) as times [time].

    An integral that is not positive, such as that of a velocity, has no logarithm.
    """
    return tuple(
        Timing.from_log(float(np.log(time))) if time > 0 else Timing(float(time))
        for time in integrals
    )
