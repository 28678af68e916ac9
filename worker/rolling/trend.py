"""Trend of the gap: a straight line through log λ of windows that share no sample (M39)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc

FEWEST = 4
"""Fewest windows for a line and a test of it."""


@dataclass(frozen=True, slots=True)
class Trend:
    """log λ = level + slope · t, by weighted least squares.

    slope       slope of the line [1/time]; negative where the gap closes
    std_error   standard error of the slope, from the errors of the windows alone
    span        time between the middles of the first and the last window [time]
    p_value     significance of the windows' scatter under the null hypothesis of a straight line
    n_windows   number of windows
    """

    slope: float
    std_error: float
    span: float
    p_value: float
    n_windows: int

    @property
    def z(self) -> float:
        """Slope over its standard error."""
        return self.slope / self.std_error

    @property
    def change(self) -> float:
        """Change of log λ over the span."""
        return self.slope * self.span


def trend_of(
    times: Sequence[float], log_rates: Sequence[float], std_errors: Sequence[float]
) -> Trend | None:
    """Fit a line to independent windows; None for fewer than four, or all at one time (M39).

    Parameters
    ----------
    times : (n,) middles of the windows [time]
    log_rates : (n,) log λ
    std_errors : (n,) standard errors of the log rates, positive
    """
    if len(times) < FEWEST:
        return None
    t, y, weight = np.asarray(times), np.asarray(log_rates), 1 / np.square(std_errors)
    middle = np.average(t, weights=weight)
    spread = float(np.sum(weight * (t - middle) ** 2))
    if not spread > 0:
        return None
    slope = float(np.sum(weight * (t - middle) * y) / spread)
    left = y - np.average(y, weights=weight) - slope * (t - middle)
    p_value = float(gammaincc((len(t) - 2) / 2, float(np.sum(weight * left**2)) / 2))
    return Trend(slope, float(1 / np.sqrt(spread)), float(np.ptp(t)), p_value, len(t))
