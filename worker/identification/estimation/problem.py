"""What is to be identified: data, library, instruments, and the components of the tensor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.reflecting_boundaries import NO_WALLS, Walls
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Scales, Trajectories
from worker.identification.data.windows import Space
from worker.identification.estimation.kernel_grid import KernelGrid
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.kernel_choice import KernelChoice
from worker.identification.selection.support_selection import BIC, Criterion, RuleShift, Selected
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.kernels import Cells, Kernels, make_cells
from worker.identification.sums.window_products import Pair, pairs_of

Floats = NDArray[np.float64]
Structure = Literal["full", "diagonal", "isotropic"]
Shares = dict[Pair, float]
"""Σ share · a_pq, the component that an equation is for: one pair, or a mean over the diagonal."""


def tell_nobody(what: str) -> None:
    """Ignore progress, for callers that follow none."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything a fit needs besides the sampling rule.

    instruments        Gaussian kernels on the line for one variable, on the occupied part of space
                       for several
    structure          of the diffusion tensor; `isotropic`: a_pq = α(x) δ_pq, in the data's units
    diffusion_degree   highest total degree of the diffusion's terms; None: all terms of the library
    longest_step       increments over longer steps are left out [time]
    least_step         samples are at least so far apart, thinned; 0: as they are [time]
    grid               one variable: kernels to choose from by cross-validation; `instruments` are
                       then those until the choice
    choice             how the instruments were chosen, where they were
    walls              one variable: windows that start near them are left out
    edges              sample numbers at which blocks begin, and the end; None: about as many blocks
                       as errors need
    summing            takes the sums over all the data
    tell               is told what is done next; what it raises goes through
    """

    data: Trajectories
    space: Space
    library: Library
    instruments: Kernels | Instruments
    selection: Criterion = BIC
    structure: Structure = "full"
    diffusion_degree: int | None = None
    longest_step: float = np.inf
    least_step: float = 0.0
    grid: KernelGrid | None = None
    choice: KernelChoice | None = None
    walls: Walls = NO_WALLS
    edges: Integers | None = None
    summing: Summing = sums_here
    tell: Callable[[str], None] = tell_nobody

    @property
    def scales(self) -> Scales:
        """Scales of the only or first variable."""
        return self.space.scales[0]

    @property
    def period(self) -> float | None:
        """Period of the only or first variable."""
        return self.space.periods[0]

    @property
    def kernels(self) -> Kernels:
        """Instruments of one variable."""
        assert isinstance(self.instruments, Kernels), "the problem has one variable"
        return self.instruments

    @property
    def joint_instruments(self) -> Instruments:
        """Instruments of several variables."""
        assert isinstance(self.instruments, Instruments), "the problem has several variables"
        return self.instruments

    @property
    def cells(self) -> Cells:
        """Cells in which the sums of one variable are taken."""
        return (
            make_cells(self.kernels, self.scales)
            if self.grid is None
            else self.grid.cells(self.scales)
        )


def components_of(problem: Problem) -> dict[Pair, Shares]:
    """List what is estimated of the tensor.

    The isotropic α is in squared internal units of the first variable."""
    d = problem.space.dimension
    if problem.structure == "isotropic":
        return {(0, 0): {(p, p): 1 / (d * _from_first(problem, p)) for p in range(d)}}
    return {
        pair: {pair: 1.0}
        for pair in pairs_of(d)
        if problem.structure == "full" or pair[0] == pair[1]
    }


def completed(
    problem: Problem, estimated: Mapping[Pair, Selected], noise_free: tuple[int, ...]
) -> dict[Pair, Selected]:
    """Complete the estimated pairs by those that follow from them, and those that are zero."""
    nothing = Selected(_empty(problem.library), (), ())
    out = {}
    for p, q in pairs_of(problem.space.dimension):
        if p in noise_free or q in noise_free:
            out[p, q] = nothing
        elif problem.structure == "isotropic" and p == q:
            out[p, q] = _rescaled(estimated[0, 0], _from_first(problem, p))
        else:
            out[p, q] = estimated.get((p, q), nothing)
    return out


def _from_first(problem: Problem, p: int) -> float:
    """Squared internal units of the first variable in those of variable p."""
    return float((problem.space.units[0] / problem.space.units[p]) ** 2)


def _rescaled(selected: Selected, factor: float) -> Selected:
    e = selected.estimate
    return replace(
        selected,
        estimate=replace(
            e,
            internal=e.internal * factor,
            internal_factor=e.internal_factor * factor,
            raw=e.raw * factor,
            std_error=e.std_error * factor,
            robust_std_error=None if e.robust_std_error is None else e.robust_std_error * factor,
        ),
        path=tuple(replace(c, raw=c.raw * factor) for c in selected.path),
        shift=None
        if selected.shift is None
        else RuleShift(selected.shift.raw * factor, selected.shift.internal * factor),
    )


def _empty(library: Library) -> Estimate:
    n = library.internal_size
    return Estimate((), np.zeros(n), np.zeros((n, n)), np.zeros(0), np.zeros(0), None)
