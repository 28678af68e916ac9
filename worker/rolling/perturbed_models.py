"""Every window's model, and those one standard error away from it: one family, so that all are evaluated at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Scales
from worker.identification.identified_model import processes_of
from worker.identification.selection.best_subset import Estimate
from worker.identification.symbolic_process import SymbolicFamily

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhoods:
    """Of n windows.

    models   window after window: its own model, then along each direction of its covariance that below and that above
    starts   (n + 1,) where each window's begin, and the end
    """

    models: SymbolicFamily
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def largest(self) -> int:
        """Models of the window that has most."""
        return max(stop - start for start, stop in pairwise(self.starts))

    @property
    def own(self) -> SymbolicFamily:
        """The model of each window alone."""
        return self.models.among(self.starts[:-1])

    def within(self, bounds: tuple[float, float]) -> "Neighbourhoods":
        """The same on another state space."""
        return replace(self, models=replace(self.models, bounds=bounds))

    def some(self, first: int, last: int) -> "Neighbourhoods":
        """Those of the windows from `first` on, before `last`."""
        starts = self.starts[first : last + 1]
        return Neighbourhoods(
            self.models[starts[0] : starts[-1]], tuple(start - starts[0] for start in starts)
        )


def neighbourhoods_of(
    fits: Sequence[tuple[Estimate, Estimate]],
    library: Library,
    scales: Scales,
    bounds: tuple[float, float],
) -> Neighbourhoods:
    """Of drift and diffusion of each window."""
    each = [list(_around(drift, diffusion)) for drift, diffusion in fits]
    internal = np.array([model for models in each for model in models]).reshape(
        -1, 2, library.internal_size
    )
    starts = np.cumsum([0, *(len(models) for models in each)])
    return Neighbourhoods(processes_of(library, internal, scales, bounds), tuple(starts.tolist()))


def _around(drift: Estimate, diffusion: Estimate) -> Iterator[tuple[Floats, Floats]]:
    """Drift and diffusion along the internal functions."""
    b, a = drift.internal, diffusion.internal
    yield b, a
    for column in _columns(drift):
        yield b - column, a
        yield b + column, a
    for column in _columns(diffusion):
        yield b, a - column
        yield b, a + column


def _columns(estimate: Estimate) -> Iterator[Floats]:
    for column in estimate.internal_factor.T:
        if column.any():
            yield column
