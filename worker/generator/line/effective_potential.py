"""The effective potential, in which noise is uniform, and the local relaxation rate."""

import numpy as np

from worker.generator.line.landscape import Landscape
from worker.generator.process import FloatArray, ScalarProcess, read_only, values
from worker.generator.quantities.stationary import EffectivePotential, LocalRelaxation


def effective_potential(landscape: Landscape, grid: FloatArray) -> EffectivePotential:
    """Return Φ at the grid's points (n,); on a circle that is driven round it does not close."""
    values = -landscape.log_density_at(grid)
    return EffectivePotential(read_only(grid), read_only(values - np.min(values)))


def local_relaxation(model: ScalarProcess, grid: FloatArray) -> LocalRelaxation:
    """Return γ at the points of the grid (n,)."""
    a = values(model.a, grid)
    with np.errstate(all="ignore"):
        slope = np.where(a > 0, values(model.db, grid) / a, np.nan)
    return LocalRelaxation(read_only(grid), read_only(slope))
