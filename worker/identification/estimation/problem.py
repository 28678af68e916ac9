"""What is to be identified: the data, the library, and which components of the tensor there are to estimate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import Space
from worker.identification.equations.weak_system import Shares
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.criteria import BIC, Criterion
from worker.identification.selection.support_selection import Selected, Shift
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.window_products import Pair, pairs_of

Floats = NDArray[np.float64]
Structure = Literal["full", "diagonal", "isotropic"]
Tell = Callable[[str], None]


def tell_nobody(what: str) -> None:
    """For whoever follows no progress."""


@dataclass(frozen=True, slots=True, eq=False)
class JointProblem:
    """Everything a fit needs besides the rule.

    structure      of the diffusion tensor; `isotropic`: a_pq = α(x) δ_pq, in the data's units
    diffusion_degree   highest total degree of the tensor's terms; None: all terms of the library
    longest_step   increments over longer steps are left out [time]
    least_step     samples are at least so far apart, thinned; 0: as they are [time]
    summing        takes the sums over all the data
    tell           is told what is done next; what it raises goes through
    """

    data: Trajectories
    space: Space
    library: Library
    instruments: Instruments
    selection: Criterion = BIC
    structure: Structure = "full"
    diffusion_degree: int | None = None
    longest_step: float = np.inf
    least_step: float = 0.0
    summing: Summing = sums_here
    tell: Tell = tell_nobody


def components_of(problem: JointProblem) -> dict[Pair, Shares]:
    """What is estimated of the tensor; the isotropic α is in squared internal units of the first variable."""
    d = problem.space.dimension
    if problem.structure == "isotropic":
        return {(0, 0): {(p, p): 1 / (d * _from_first(problem, p)) for p in range(d)}}
    return {
        pair: {pair: 1.0}
        for pair in pairs_of(d)
        if problem.structure == "full" or pair[0] == pair[1]
    }


def completed(
    problem: JointProblem, estimated: Mapping[Pair, Selected], noise_free: tuple[int, ...]
) -> dict[Pair, Selected]:
    """All pairs: those estimated, those that follow from them, and those that are zero."""
    nothing = Selected(_nothing(problem.library), (), ())
    out = {}
    for p, q in pairs_of(problem.space.dimension):
        if p in noise_free or q in noise_free:
            out[p, q] = nothing
        elif problem.structure == "isotropic" and p == q:
            out[p, q] = _rescaled(estimated[0, 0], _from_first(problem, p))
        else:
            out[p, q] = estimated.get((p, q), nothing)
    return out


def _from_first(problem: JointProblem, p: int) -> float:
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
        else Shift(selected.shift.raw * factor, selected.shift.internal * factor),
    )


def _nothing(library: Library) -> Estimate:
    n = library.internal_size
    return Estimate((), np.zeros(n), np.zeros((n, n)), np.zeros(0), np.zeros(0), None)


def drift_of(drift: tuple[Selected, ...] | list[Selected]) -> Floats:
    return np.stack([s.estimate.internal for s in drift])


def tensor_of(problem: JointProblem, diffusion: Mapping[Pair, Selected]) -> Floats:
    d = problem.space.dimension
    return np.stack(
        [
            np.stack([diffusion[min(p, q), max(p, q)].estimate.internal for q in range(d)])
            for p in range(d)
        ]
    )
