"""The effective potential, in which the process is a particle with noise of uniform strength."""

import numpy as np

from worker.generator.line.landscape import Landscape
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.potential import EffectivePotential


def effective_potential(landscape: Landscape, grid: FloatArray) -> EffectivePotential:
    """Return Φ at the grid's points (n,); on a circle that is driven round it does not close."""
    values = -landscape.log_density_at(grid)
    return EffectivePotential(read_only(grid), read_only(values - np.min(values)))
