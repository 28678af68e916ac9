"""Measurement noise and motion blur that are known before a fit."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class GivenNoise:
    """Measurement noise and motion blur that are known.

    variances   (d,) mean squares of the errors, internal units
    exposure    time over which each sample is an average [sampling intervals]
    spread      root mean square of the errors' squares about their mean, over that, where errors
                were given sample by sample
    """

    variances: Floats
    exposure: float = 0.0
    spread: float = 0.0
