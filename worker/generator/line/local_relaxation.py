"""The source paper's local relaxation rate."""

import numpy as np

from worker.generator.process import FloatArray, ScalarProcess, read_only, values
from worker.generator.quantities.potential import LocalRelaxation


def local_relaxation(model: ScalarProcess, grid: FloatArray) -> LocalRelaxation:
    """Return γ at the points of the grid (n,)."""
    a = values(model.a, grid)
    with np.errstate(all="ignore"):
        slope = np.where(a > 0, values(model.db, grid) / a, np.nan)
    return LocalRelaxation(read_only(grid), read_only(slope))
