"""The effective potential and the local relaxation rate, on a grid."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.kinds import POTENTIAL, SIZE


@dataclass(frozen=True, slots=True, eq=False)
class EffectivePotential:
    """Effective potential Φ(x) = −∫2b/a dx + log a, equation (G1).

    It is zero at its lowest point of the grid, and −log π where there is a stationary distribution.

    grid    (n,) [state]
    values  (n,) [kT]; inf where the density is below e^−2000 of its peak
    """

    grid: FloatArray
    values: Annotated[FloatArray, POTENTIAL]


@dataclass(frozen=True, slots=True, eq=False)
class LocalRelaxation:
    """Local relaxation rate γ(x) = |b'(x)|/a(x), equation (G16).

    It is large where the drift changes fast against the noise. It is not the spectral gap.

    grid   (n,) [state]
    slope  (n,) b'(x)/a(x) [1/state²]; nan where a is not positive
    """

    grid: FloatArray
    slope: Annotated[FloatArray, SIZE]

    @property
    def rate(self) -> FloatArray:
        """(n,) γ [1/state²]: a rate only where the state is measured in units of the noise."""
        return read_only(np.abs(self.slope))
