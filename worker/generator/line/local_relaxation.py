"""The source paper's local relaxation rate."""

from dataclasses import dataclass

import numpy as np

from worker.generator.process import FloatArray, ScalarProcess, read_only, values


@dataclass(frozen=True, slots=True, eq=False)
class LocalRelaxation:
    """γ(x) = |b'(x)|/a(x), equation (G16): large where the drift changes fast against the noise. It is not the spectral gap.

    grid  (n,) [state]
    rate  (n,) [1/state²]: a rate only where the state is measured in units of the noise; nan where a is not positive
    """

    grid: FloatArray
    rate: FloatArray


def local_relaxation(model: ScalarProcess, grid: FloatArray) -> LocalRelaxation:
    """γ at the points of the grid (n,)."""
    a = values(model.a, grid)
    with np.errstate(all="ignore"):
        rate = np.where(a > 0, np.abs(values(model.db, grid)) / a, np.nan)
    return LocalRelaxation(read_only(grid), read_only(rate))
