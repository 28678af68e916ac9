"""The effective potential, in which the process is a particle with noise of uniform strength."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from worker.generator.line.landscape import Landscape
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.kinds import POTENTIAL


@dataclass(frozen=True, slots=True, eq=False)
class EffectivePotential:
    """Φ(x) = −∫2b/a dx + log a, equation (G1), zero at its lowest point of the grid; −log π where there is a stationary law.

    grid    (n,) [state]
    values  (n,) [kT]; inf where the density is below e^−2000 of its peak
    """

    grid: FloatArray
    values: Annotated[FloatArray, POTENTIAL]


def effective_potential(landscape: Landscape, grid: FloatArray) -> EffectivePotential:
    """Φ at the points of the grid (n,). On a circle that is driven round it does not close."""
    values = -landscape.log_density_at(grid)
    return EffectivePotential(read_only(grid), read_only(values - np.min(values)))
