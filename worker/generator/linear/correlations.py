"""Autocorrelation and power spectrum of linear processes, in closed form."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from worker.generator.linear.process import LinearProcess
from worker.generator.numerics.correlation_functions import correlations_of
from worker.generator.process import FloatArray
from worker.generator.quantities.correlations import Correlations, times_of


@dataclass(frozen=True, slots=True, eq=False)
class LinearCorrelations:
    """A `CorrelationFunctions`: C(t) = exp(Jt) S, equation (G53).

    jacobian, covariance   (d, d) J [1/time], S [state²]
    """

    jacobian: FloatArray
    covariance: FloatArray

    def autocorrelation(self, lags: FloatArray) -> FloatArray:
        """Of each coordinate at lags (n,): (d, n)."""
        moved = (
            expm(self.jacobian * np.abs(np.asarray(lags, dtype=np.float64))[:, None, None])
            @ self.covariance
        )
        return np.asarray(
            np.diagonal(moved, axis1=1, axis2=2).T / np.diag(self.covariance)[:, None]
        )

    def power_spectrum(self, frequencies: FloatArray) -> FloatArray:
        """One-sided density of each coordinate at frequencies (n,) [1/time]: (d, n)."""
        turning = (
            2j
            * np.pi
            * np.asarray(frequencies, dtype=np.float64)[:, None, None]
            * np.eye(len(self.jacobian))
        )
        transformed = np.linalg.solve(
            turning - self.jacobian, np.broadcast_to(self.covariance, turning.shape)
        )
        return np.asarray(4 * np.diagonal(transformed, axis1=1, axis2=2).real.T)

    @property
    def integrated_times(self) -> FloatArray:
        """(d,) ∫_0^∞ C dt [time]."""
        return np.asarray(
            np.diag(-np.linalg.solve(self.jacobian, self.covariance)) / np.diag(self.covariance)
        )


def correlations_of_linear(
    linear: LinearProcess, covariance: FloatArray, n_lags: int, n_frequencies: int
) -> Correlations:
    """Of every coordinate of a linear process that has a law."""
    found = LinearCorrelations(linear.jacobian, covariance)
    rates = np.linalg.eigvals(linear.jacobian)
    return correlations_of(
        found,
        times_of(found.integrated_times),
        slowest=float(-np.max(rates.real)),
        fastest=float(np.max(np.abs(rates))),
        n_lags=n_lags,
        n_frequencies=n_frequencies,
    )
