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
    """Correlation functions of a linear process, C(t) = exp(Jt) S, equation (G53)."""

    jacobian: FloatArray
    covariance: FloatArray

    def autocorrelation(self, lags: FloatArray) -> FloatArray:
        """Return the autocorrelation of each coordinate at lags (n,) [time]: (d, n)."""
        lags = np.abs(np.asarray(lags, dtype=np.float64))[:, None, None]
        moved = np.diagonal(expm(self.jacobian * lags) @ self.covariance, axis1=1, axis2=2)
        return np.asarray(moved.T / np.diag(self.covariance)[:, None])

    def power_spectrum(self, frequencies: FloatArray) -> FloatArray:
        """Return the one-sided density of each coordinate at frequencies (n,) [1/time]: (d, n)."""
        frequencies = np.asarray(frequencies, dtype=np.float64)[:, None, None]
        turning = 2j * np.pi * frequencies * np.eye(len(self.jacobian))
        covariances = np.broadcast_to(self.covariance, turning.shape)
        transformed = np.linalg.solve(turning - self.jacobian, covariances)
        return np.asarray(4 * np.diagonal(transformed, axis1=1, axis2=2).real.T)

    @property
    def integrated_times(self) -> FloatArray:
        """Integrated autocorrelation times ∫_0^∞ C dt, (d,) [time]."""
        integrals = np.diag(-np.linalg.solve(self.jacobian, self.covariance))
        return np.asarray(integrals / np.diag(self.covariance))


def correlations_of_linear(
    linear: LinearProcess, covariance: FloatArray, n_lags: int, n_frequencies: int
) -> Correlations:
    """Return the correlation functions of a linear process that has a stationary distribution.

    Parameters
    ----------
    linear : process
    covariance : (d, d) stationary covariance [state²]
    n_lags, n_frequencies : numbers of points
    """
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
