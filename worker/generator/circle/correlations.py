"""Autocorrelation and power spectrum of an angle, from the Fourier modes of the circle."""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.circle.fourier import (
    MODES,
    ComplexArray,
    fourier_eigenvectors,
    fourier_generator,
)
from worker.generator.circle.unrolled_circle import UnrolledCircle
from worker.generator.numerics.correlation_functions import correlations_of
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.correlations import Correlations, times_of
from worker.generator.quantities.outcomes import TOO_WEAK_FOR_FOURIER, Reason
from worker.generator.quantities.spectrum import Spectrum

SETTLED = 1e-6
"""Change of C on doubling the modes below which it has settled."""
SETTLED_RATES = 1e-5
RESOLVED = 1e-3
"""Last Fourier coefficient of the distribution below which C is right to its square, about."""
MOST_MODES = 64
"""Largest number of modes for one of many models."""


@dataclass(frozen=True, slots=True, eq=False)
class CircleCorrelations:
    """`CorrelationFunctions` of z = exp(2πix/P): C(t) = Re Σ w exp(−λt), equation (G32).

    rates, weights   (n,) λ [1/time] and w, which add up to 1
    variance         1 − |⟨z⟩|²
    modes            number of modes it was computed on
    finest           |⟨zᵏ⟩| of the last of them, which vanishes where they resolve the distribution
    few              of a reference, how many modes are enough for models near it: C is right on
                     them to SETTLED, and the slowest rates to SETTLED_RATES
    """

    rates: ComplexArray
    weights: ComplexArray
    variance: float
    modes: int
    finest: float
    few: int | None = None

    @classmethod
    def of(
        cls, model: ScalarProcess, low: float, period: float, modes: int
    ) -> "CircleCorrelations":
        """Compute the correlations on modes up to `modes`; the turn starts at `low` [state]."""
        generator = fourier_generator(model, low, period, modes)
        # ⟨L f⟩ = 0 for every mode f but the constant gives the moments ⟨exp(2πikx/P)⟩, that of the
        # constant being 1.
        others = np.delete(np.arange(2 * modes + 1), modes)
        moments = np.ones(2 * modes + 1, np.complex128)
        moments[others] = np.linalg.solve(
            generator[np.ix_(others, others)].T, -generator[modes, others]
        )
        rates, vectors = fourier_eigenvectors(generator)
        start = np.zeros(2 * modes + 1, np.complex128)
        start[modes + 1] = 1
        weights = np.linalg.solve(vectors, start) * (np.append(0, moments[:-1]) @ vectors)
        kept = np.delete(np.arange(2 * modes + 1), np.argmin(np.abs(rates)))
        variance = float(1 - np.abs(moments[modes + 1]) ** 2)
        return cls(
            rates[kept], weights[kept] / variance, variance, modes, float(np.abs(moments[-1]))
        )

    @property
    def integrated_time(self) -> float:
        """∫_0^∞ C dt [time]."""
        return float(np.sum(self.weights / self.rates).real)

    def autocorrelation(self, lags: FloatArray) -> FloatArray:
        """Return C at lags (n,): (1, n)."""
        decay = np.exp(-np.abs(np.asarray(lags, dtype=np.float64))[:, None] * self.rates)
        return np.asarray((decay @ self.weights).real[None])

    def power_spectrum(self, frequencies: FloatArray) -> FloatArray:
        """Return S at frequencies (n,) [1/time], of cos and sin together: (1, n) [time]."""
        s = 2j * np.pi * np.asarray(frequencies, dtype=np.float64)[:, None]
        both = (1 / (self.rates + s) + 1 / (self.rates - s)) @ self.weights
        return np.asarray(2 * self.variance * both.real[None])


def perturbed_correlations(
    model: ScalarProcess, turn: UnrolledCircle, correlations: Correlations
) -> CircleCorrelations | None:
    """Return the correlations of a model near another, on as few modes as resolve both.

    None where that takes too many.

    Parameters
    ----------
    model : process on a circle
    turn : its panels
    correlations : of the other model
    """
    if not isinstance(correlations.functions, CircleCorrelations):
        return None
    modes = correlations.functions.few
    while modes is not None and modes <= MOST_MODES:
        found = CircleCorrelations.of(model, turn.model.bounds[0], turn.period, modes)
        if found.finest < RESOLVED:
            # The slowest rate over a barrier too high for Fourier's method is rounding error.
            return found if found.rates.real.min() > 0 and found.integrated_time > 0 else None
        modes *= 2
    return None


def correlations_on_the_circle(
    model: ScalarProcess,
    low: float,
    period: float,
    spectrum: Spectrum,
    n_lags: int,
    n_frequencies: int,
) -> Correlations | Reason:
    """Return autocorrelation, power spectrum and integrated time of an angle.

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    period : of the circle [state]
    spectrum : relaxation rates
    n_lags, n_frequencies : how many of each are given
    """
    if not len(spectrum.eigenvalues):
        return TOO_WEAK_FOR_FOURIER
    slowest, fastest = (
        float(spectrum.eigenvalues[0].real),
        float(np.max(np.abs(spectrum.eigenvalues))),
    )
    previous: tuple[CircleCorrelations, Correlations] | None = None
    for modes in MODES:
        found = CircleCorrelations.of(model, low, period, modes)
        correlations = correlations_of(
            found,
            times_of(np.array([found.integrated_time])),
            slowest=slowest,
            fastest=fastest,
            n_lags=n_lags,
            n_frequencies=n_frequencies,
        )
        # The integral is Re⟨g, −L g⟩ of a function g, positive but for rounding errors.
        if previous is not None and found.integrated_time > 0:
            coarse, before = previous
            if np.max(np.abs(correlations.autocorrelation - before.autocorrelation)) < SETTLED:
                away = np.min(np.abs(coarse.rates - spectrum.eigenvalues[:, None]), axis=1)
                same = np.all(away < SETTLED_RATES * np.abs(spectrum.eigenvalues))
                return replace(
                    correlations, functions=replace(found, few=coarse.modes if same else modes)
                )
        previous = found, correlations
    return TOO_WEAK_FOR_FOURIER
