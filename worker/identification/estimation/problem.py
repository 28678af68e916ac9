"""The identification problem: data, library, instruments, and the components of the tensor."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numba as nb
import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.reflecting_boundaries import NO_WALLS, Walls
from worker.identification.data.given_noise import GivenNoise
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Scales, Trajectories
from worker.identification.data.windows import Space
from worker.identification.estimation.joint.potential_terms import PotentialTerms
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.constraints import FREE, Constraint
from worker.identification.selection.explosion import NO_ENDS, OpenEnds
from worker.identification.selection.kernel_scores import KernelChoice
from worker.identification.selection.support_selection import BIC, Criterion, RuleShift, Selected
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.kernels import Cells, Kernels, make_cells, make_kernels
from worker.identification.sums.window_products import Pair, pairs_of

Floats = NDArray[np.float64]
Structure = Literal["full", "diagonal", "isotropic"]
Shares = dict[Pair, float]
"""A component Σ share · a_pq that has an equation: one pair, or a mean over the diagonal."""

KERNEL_COUNTS = (6, 12, 25, 50, 100, 200)
"""Counts that are tried: the default 50 and its neighbours by factors of two."""

NARROWER, WIDER = 2, 1
"""Bandwidths tried with each count: its own default, the next two counts', the one before's.

The narrower ones leave gaps between the kernels; kernels that overlap more than the wider one's add
nothing."""

FEWEST_INCREMENTS = 100
"""Fewest increments that a thinned record is to have."""


def make_grid(
    scales: Scales,
    *,
    bandwidth: float | None = None,
    centre_range: tuple[float, float] | None = None,
    period: float | None = None,
) -> tuple[Kernels, ...]:
    """Make candidate kernels on the same range, by count, then by bandwidth, both ascending.

    Parameters
    ----------
    scales : scales of the variable
    bandwidth : the only bandwidth that is tried [state]; None: several
    centre_range : first and last centre [state]; None: by default
    period : period of an angle [state]; None on the line
    """

    def kernels(count: int, width: float | None = None) -> Kernels:
        return make_kernels(
            scales, count=count, bandwidth=width, centre_range=centre_range, period=period
        )

    if bandwidth is not None:
        return tuple(kernels(count, bandwidth) for count in KERNEL_COUNTS)
    widths = [kernels(count).bandwidth * scales.unit for count in KERNEL_COUNTS]
    return tuple(
        kernels(count, widths[j])
        for i, count in enumerate(KERNEL_COUNTS)
        for j in reversed(range(len(KERNEL_COUNTS)))
        if i - WIDER <= j <= i + NARROWER
    )


def _tell_nobody(what: str) -> None:
    """Ignore progress, for callers that follow none."""


@dataclass(frozen=True, slots=True)
class Equality:
    """Linear equation among coefficients: Σ factor · coefficient = value, in the data's units.

    terms   component, position of the term in the library, and factor
    """

    terms: tuple[tuple[str, int, float], ...]
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything a fit needs besides the sampling rule.

    data               trajectories
    space              scales of the variables
    library            terms of drift and diffusion
    instruments        Gaussian kernels: of one variable on the line, of several on the occupied
                       part of space
    selection          criterion that selects terms
    structure          structure of the diffusion tensor; `isotropic`: a_pq = α(x) δ_pq, in the
                       data's units
    diffusion_degree   highest total degree of the diffusion's terms; None: all terms of the library
    constraints        what is known of the terms of a component, by its name: `x` or `x,y`
    equalities         linear equations among coefficients
    form               terms of the potential that the drift has; None: it may have none
    given_noise        measurement noise that is known; None: it is not
    longest_step       step beyond which increments are left out [time]
    least_step         least step to which the samples were thinned; 0: not thinned [time]
    informative        whether the sampling interval depends on the state (informative sampling);
                       windows are then not chosen by their steps
    grid               kernels of one variable among which cross-validation is to choose; until
                       then `instruments` are used
    choice             choice of the instruments, where there was one
    walls              walls of one variable; windows that start near them are left out
    ends               ends of the line of one variable at which no wall holds the process
    edges              sample numbers at which blocks begin, and the end; None: by default
    summing            function that takes the sums over all the data
    tell               function that is told the next step; an error that it raises ends the fit
    velocities         velocity of each variable whose drift is known to be one, and its factor
    frozen             values of inputs and forcing at which the model is a process
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
    informative: bool = False
    grid: tuple[Kernels, ...] | None = None
    choice: KernelChoice | None = None
    walls: Walls = NO_WALLS
    ends: OpenEnds = NO_ENDS
    edges: Integers | None = None
    summing: Summing = sums_here
    tell: Callable[[str], None] = _tell_nobody
    velocities: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    equalities: tuple[Equality, ...] = ()
    form: PotentialTerms | None = None
    given_noise: GivenNoise | None = None
    frozen: tuple[float, ...] = ()

    def unit_of(self, component: str) -> float:
        """Return the factor of a component, `x` or `x,y`, from internal units to the data's."""
        names, units = self.library.variables, self.space.units
        places = [names.index(name) for name in component.split(",")]
        return float(np.prod([units[p] for p in places]) / self.space.time)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables that have an equation."""
        return self.library.variables[: self.space.dimension]

    def of_drift(self, p: int) -> Constraint:
        """Return what is known of the drift of variable p."""
        return self.constraints.get(self.library.variables[p], FREE)

    def of_diffusion(self, pair: Pair) -> Constraint:
        """Return what is known of a component of the tensor."""
        names = self.library.variables
        known = self.constraints.get(f"{names[pair[0]]},{names[pair[1]]}", FREE)
        return replace(known, degree=self.diffusion_degree)

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
        """Cells of the sums of one variable; they serve all kernels of the grid.

        They reach as far as the widest kernels, and are fine enough for the narrowest."""
        if self.grid is None:
            return make_cells(self.kernels, self.scales)
        by_width = sorted(self.grid, key=lambda kernels: kernels.bandwidth)
        narrow, wide = (make_cells(kernels, self.scales) for kernels in (by_width[0], by_width[-1]))
        reach = wide.width * wide.count
        count = max(1, round(reach / narrow.width + 0.5))
        return Cells(wide.low, reach / count, count)


def components_of(problem: Problem) -> dict[Pair, Shares]:
    """Return the components of the tensor that are estimated.

    The isotropic α is in squared internal units of the first variable."""
    d = problem.space.dimension
    if problem.structure == "isotropic":
        return {(0, 0): {(p, p): 1 / (d * from_first(problem, p)) for p in range(d)}}
    return {
        pair: {pair: 1.0}
        for pair in pairs_of(d)
        if (problem.structure == "full" or pair[0] == pair[1])
        and not set(pair) & set(problem.velocities)
    }


def velocity_of(problem: Problem, p: int) -> Selected:
    """Return the drift of a variable whose velocity is another: nothing is estimated.

    Parameters
    ----------
    problem : problem that names the velocity
    p : number of the variable
    """
    library, space = problem.library, problem.space
    velocity, factor = problem.velocities[p]
    exponents = tuple(int(i == velocity) for i in range(library.dimension))
    # The velocity's origin is zero, so that it is an internal function: T_1 of its coordinate.
    internal = np.zeros(library.internal_size)
    in_internal = factor * float(space.units[velocity] / space.units[p]) * space.time
    internal[library.internal_exponents.index(exponents)] = in_internal
    term = library.exponents.index(exponents)
    known = replace(
        _empty(library),
        support=(term,),
        internal=internal,
        raw=np.array([factor * space.time / space.units[p]]),
        std_error=np.zeros(1),
        covariance=np.zeros((1, 1)),
    )
    return Selected(known, (), ())


def completed(
    problem: Problem, estimated: Mapping[Pair, Selected], noise_free: tuple[int, ...]
) -> dict[Pair, Selected]:
    """Complete the estimated pairs by pairs that follow from them, and pairs that are zero.

    Parameters
    ----------
    problem : library and structure of the tensor
    estimated : estimated components by pair
    noise_free : variables whose increments hold no noise of their own
    """
    nothing = Selected(_empty(problem.library), (), ())
    out = {}
    for p, q in pairs_of(problem.space.dimension):
        if p in noise_free or q in noise_free:
            out[p, q] = nothing
        elif problem.structure == "isotropic" and p == q:
            out[p, q] = _rescaled(estimated[0, 0], from_first(problem, p))
        else:
            out[p, q] = estimated.get((p, q), nothing)
    return out


def from_first(problem: Problem, p: int) -> float:
    """Convert squared internal units of the first variable to those of variable p."""
    return float((problem.space.units[0] / problem.space.units[p]) ** 2)


def _rescaled(selected: Selected, factor: float) -> Selected:
    return replace(
        selected,
        estimate=_rescaled_estimate(selected.estimate, factor),
        path=tuple(replace(c, raw=c.raw * factor) for c in selected.path),
        shift=_rescaled_shift(selected.shift, factor),
        alternatives=tuple(
            replace(
                alternative,
                estimate=_rescaled_estimate(alternative.estimate, factor),
                shift=_rescaled_shift(alternative.shift, factor),
            )
            for alternative in selected.alternatives
        ),
    )


def _rescaled_estimate(e: Estimate, factor: float) -> Estimate:
    return replace(
        e,
        internal=e.internal * factor,
        internal_factor=e.internal_factor * factor,
        raw=e.raw * factor,
        std_error=e.std_error * factor,
        robust_std_error=None if e.robust_std_error is None else e.robust_std_error * factor,
        covariance=e.covariance * factor**2,
    )


def _rescaled_shift(shift: RuleShift | None, factor: float) -> RuleShift | None:
    return None if shift is None else RuleShift(shift.raw * factor, shift.internal * factor)


def _empty(library: Library) -> Estimate:
    n = library.internal_size
    nothing = np.zeros(0)
    return Estimate((), np.zeros(n), np.zeros((n, n)), nothing, nothing, None, np.zeros((0, 0)))


def at_longer_steps(problem: Problem) -> Iterator[Problem]:
    """Yield the problem with samples at least 2, 4, 8, … median steps apart, while any are left.

    A path with inertia, or one that an instrument averaged, is smooth at short steps and a
    diffusion at longer ones. Units and library stay."""
    least = 2 * problem.space.time
    while True:
        data = thinned(problem.data, least)
        slower = replace(problem, data=data, least_step=least)
        if data.n_increments < FEWEST_INCREMENTS or problem.longest_step < 1.5 * least:
            return
        yield slower
        least *= 2


def thinned(data: Trajectories, least: float) -> Trajectories:
    """Keep each segment's first sample, and samples at least `least` [time] after the last kept."""
    kept = _kept(np.asarray(data.times), data.segments, least * (1 - 1e-6))
    stops = np.cumsum([np.count_nonzero(kept[start:stop]) for start, stop, _ in data.segments])
    segments = np.stack(
        [np.concatenate([[0], stops[:-1]]), stops, data.segments[:, 2]], axis=1
    ).astype(np.int64)
    return Trajectories(
        np.asarray(data.states)[kept],
        np.asarray(data.times)[kept],
        segments,
        None if data.inputs is None else np.asarray(data.inputs)[kept],
    )


@nb.njit(cache=True, nogil=True)
def _kept(
    times: NDArray[np.float64], segments: NDArray[np.int64], least: float
) -> NDArray[np.bool_]:
    kept = np.zeros(len(times), dtype=np.bool_)
    for s in range(segments.shape[0]):
        last = -np.inf
        for n in range(segments[s, 0], segments[s, 1]):
            if times[n] - last >= least:
                kept[n] = True
                last = times[n]
    return kept
