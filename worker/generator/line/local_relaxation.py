"""The source paper's local relaxation rate."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from worker.generator.process import FloatArray, ScalarProcess, read_only, values
from worker.generator.quantities.kinds import SIZE


@dataclass(frozen=True, slots=True, eq=False)
class LocalRelaxation:
    """γ(x) = |b'(x)|/a(x), equation (G16): large where the drift changes fast against the noise. It is not the spectral gap.

    grid   (n,) [state]
    slope  (n,) b'(x)/a(x) [1/state²]; nan where a is not positive
    """

    grid: FloatArray
    slope: Annotated[FloatArray, SIZE]

    @property
    def rate(self) -> FloatArray:
        """(n,) γ [1/state²]: a rate only where the state is measured in units of the noise."""
        return read_only(np.abs(self.slope))


def local_relaxation(model: ScalarProcess, grid: FloatArray) -> LocalRelaxation:
    """γ at the points of the grid (n,)."""
    a = values(model.a, grid)
    with np.errstate(all="ignore"):
        slope = np.where(a > 0, values(model.db, grid) / a, np.nan)
    return LocalRelaxation(read_only(grid), read_only(slope))
