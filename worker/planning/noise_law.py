"""What measurement noise costs: factors of standard errors, measured with the estimator itself.

The correction for noise (docs/method.md §10) chooses its stride, its instrument and its weights by
the data, and its errors have no closed form. Over the standard errors from clean samples they
depend on two numbers only, to a few percent: the sampling interval d = rate·Δt and the noise's
variance ν = rate·s²/⟨a⟩, rate = 2⟨b²⟩/⟨a⟩ (M81). These are medians over an
Ornstein-Uhlenbeck process and a double well, four records of 20 000 samples each; the two differ by
up to 6 % in the drift's (8 % at d = 0.6) and 15 % in the diffusion's up to ν = 0.1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

Floats = NDArray[np.float64]

INTERVALS = (0.01, 0.03, 0.1, 0.3, 0.6)
"""Sampling intervals d at which the factors were measured."""
VARIANCES = (0.003, 0.01, 0.03, 0.1, 0.3)
"""Variances of the noise ν at which they were measured."""
OF_DRIFT = (
    (1.00, 1.03, 1.13, 1.25, 1.47),
    (1.01, 1.04, 1.13, 1.31, 1.51),
    (1.03, 1.09, 1.18, 1.36, 1.61),
    (1.16, 1.25, 1.38, 1.58, 2.00),
    (1.22, 1.91, 2.02, 2.50, 2.83),
)
"""Factors of the drift's standard errors; a row for each of `VARIANCES`."""
OF_DIFFUSION = (
    (2.13, 1.98, 1.99, 2.12, 2.27),
    (2.76, 2.26, 2.05, 2.24, 2.32),
    (3.79, 2.71, 2.23, 2.36, 2.54),
    (6.75, 4.19, 2.99, 2.78, 3.04),
    (9.23, 12.4, 5.82, 4.54, 4.54),
)
"""Factors of the diffusion's standard errors."""

BEYOND = 1.1
"""Factor beyond the ends of the table up to which its last factors are as good as measured."""


@dataclass(frozen=True, slots=True)
class NoiseFactors:
    """Factors of the standard errors of drift and diffusion.

    measured   whether they were measured in a range that holds this interval and this noise; else
               they are those of its nearest end
    """

    drift: float
    diffusion: float
    measured: bool


def noise_factors(interval: float, variance: float) -> NoiseFactors:
    """Return the factors of standard errors at an interval d and noise of variance ν; 1 for ν = 0.

    They are interpolated linearly between logarithms. Noise weaker than the table's is as costly as
    its weakest: that its variance is unknown doubles the diffusion's error.

    Parameters
    ----------
    interval : d = rate·Δt
    variance : ν = rate·s²/⟨a⟩
    """
    if variance == 0:
        return NoiseFactors(1.0, 1.0, measured=True)
    d = float(np.clip(interval, INTERVALS[0], INTERVALS[-1]))
    nu = float(np.clip(variance, VARIANCES[0], VARIANCES[-1]))
    place = np.log([nu, d])
    drift, diffusion = (
        float(np.exp(RegularGridInterpolator(_LOGARITHMS, np.log(table))(place)[0]))
        for table in (OF_DRIFT, OF_DIFFUSION)
    )
    return NoiseFactors(
        drift, diffusion, BEYOND * d >= interval >= d / BEYOND and nu * BEYOND >= variance
    )


_LOGARITHMS = np.log(VARIANCES), np.log(INTERVALS)
