"""Estimator of second-order dynamics: which window, which noise, and which terms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.restriction import Restriction
from worker.identification.data.given_noise import GivenNoise
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Trajectories, block_edges
from worker.identification.errors import TooFewSamples
from worker.identification.regression import NormalEquations
from worker.identification.second_order.equations import (
    ForceSums,
    ResidualSums,
    SecondOrderPass,
    diffusion_equations,
    window_sums,
)
from worker.identification.second_order.phase_space import PhaseSpace
from worker.identification.second_order.windows import Kicks, Shape, shape_of
from worker.identification.selection.constraints import FREE, Constraint, choose_under
from worker.identification.selection.support_selection import Criterion, Selected
from worker.identification.sums.block_sums import Summing, blocks_between, sums_here

Floats = NDArray[np.float64]

N_BLOCKS = 64
"""Blocks whose scatter gives robust errors."""

ROUNDS = 5
"""Rounds in which window, kicks and noise follow from each other, at most."""

SIGNIFICANT = 3.0
"""Standard errors from which the noise of the samples is corrected for."""

WIDEST = 64
"""Half of the widest window, in sampling intervals."""

ENOUGH = 500_000
"""Windows of a long record that window, kicks and noise are found on."""

QUARTER, MATERIAL, CERTAIN = 0.25, 0.01, 4.0
"""Correlation of neighbouring second differences of a sampled path; the departure from it that
matters, and its least number of standard errors."""

VANISHING, LACKING = 0.05, 0.75
"""Correlation of neighbours up to which they have none, and share of a noise's covariance two steps
apart below which it is none: of 60 records by Euler's rule one is called noisy."""

STEPS_OF_CLOCK = 100_000
"""Sampling intervals that tell how uneven the clock is."""

LEAST_KICKS = 1e-3
"""Least share of the residuals' mean square that is taken for kicks."""


@dataclass(frozen=True, slots=True, eq=False)
class SecondOrderFit:
    """Force and diffusion of the velocities, in internal units.

    force           components by coordinate
    diffusion       components by pair of velocities
    kicks           mean diffusion of the velocities, and noise of the samples
    shape           shape of the windows
    residuals       residuals of the model
    condition       largest condition number of the designs
    n_windows       number of windows
    equations       equations of each force
    restrictions    tests of what was given
    """

    force: tuple[Selected, ...]
    diffusion: dict[tuple[int, int], Selected]
    kicks: Kicks
    shape: Shape
    residuals: ResidualSums
    condition: float
    n_windows: int
    equations: tuple[NormalEquations, ...]
    restrictions: tuple[Restriction, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SecondOrderProblem:
    """Everything that a fit of second order needs.

    diffusion_degree   highest total degree of the diffusion's terms; None: all of the library
    noise              treatment of measurement noise
    tell               function that is told the next step
    summing            function that takes the sums over all the data
    constraints        what is known of the terms of a component, by its name: `v` or `vx,vy`
    given_noise        measurement noise of one coordinate that is known; None: it is not
    """

    data: Trajectories
    space: PhaseSpace
    library: Library
    selection: Criterion
    diffusion_degree: int | None = None
    noise: str = "auto"
    tell: Callable[[str], None] = lambda _: None
    summing: Summing = sums_here
    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    given_noise: GivenNoise | None = None

    def of_force(self, c: int) -> Constraint:
        """Return what is known of the force along a coordinate."""
        return self.constraints.get(self._velocities[c], FREE)

    def of_diffusion(self, p: int, q: int) -> Constraint:
        """Return what is known of a component of the tensor."""
        names = self._velocities
        known = self.constraints.get(f"{names[p]},{names[q]}", FREE)
        return replace(known, degree=self.diffusion_degree)

    @property
    def _velocities(self) -> tuple[str, ...]:
        return self.space.names[self.space.dimension :]

    @property
    def every(self) -> int:
        """Return k where each k-th piece of the record shows kicks and noise well enough."""
        return max(1, self.data.n_increments // ENOUGH)

    def sums(
        self, shape: Shape, kicks: Kicks, force: Floats | None = None, every: int | None = None
    ) -> tuple[ForceSums, ResidualSums]:
        """Sum equations and residuals over each k-th piece; see `equations.window_sums`.

        force   (d, J) coefficients; None: those of no force
        every   k; None: of a long record, as many as are enough
        """
        d, size = self.space.dimension, self.library.internal_size
        every = self.every if every is None else every
        work = SecondOrderPass(
            self.data,
            blocks_between(block_edges(self.data, N_BLOCKS)),
            self.space,
            self.library,
            shape,
            kicks,
            np.zeros((d, size)) if force is None else force,
            max(2 * shape.half + 2, 3),
            every,
            self.every if every == 1 else 1,
        )
        # A part of the record is summed here: helpers would share out all of it.
        return window_sums(work, self.summing if every == 1 else sums_here)

    def without_terms(self) -> "SecondOrderProblem":
        """Return the problem with a constant force alone, whose sums are quick."""
        return replace(self, library=replace(self.library, names=(), trees=(), exponents=()))

    @property
    def has_powers(self) -> bool:
        """Whether some term is of two velocities or more, or is no monomial."""
        d = self.space.dimension
        return any(sum(e[d:]) > 1 for e in self.library.internal_exponents) or bool(
            self.library.other
        )


def fit(problem: SecondOrderProblem) -> SecondOrderFit:
    """Fit force and diffusion. Raises TooFewSamples, NoDataUnderKernels.

    Of a long record window, kicks and noise are found on a part of it.
    """
    d = problem.space.dimension
    kicks, errors = first_kicks(problem)
    if problem.given_noise is not None:
        kicks, errors = replace(kicks, noise=problem.given_noise.variances), np.zeros(d)
    noisy = problem.noise == "corrected" or (
        problem.noise == "auto" and bool(np.any(kicks.noise > SIGNIFICANT * errors))
    )
    if not noisy:
        kicks = replace(kicks, noise=np.zeros(d))
    half = _first_half(problem, kicks) if noisy else 1
    shape_at = partial(shape_of, noisy=noisy, powers=problem.has_powers)
    forces, _ = problem.sums(shape_at(half), kicks)
    _check_size(forces, problem.library)
    force: Floats | None = None
    for _ in range(ROUNDS):
        shape = shape_at(half)
        force = _coefficients(_chosen(problem, forces, kicks, force))
        forces, residuals = problem.sums(shape, kicks, force)
        before, kicks = kicks, kicks_of(residuals, kicks)
        wider = _half(kicks) if noisy else 1
        settled = np.allclose(np.diag(kicks.diffusion), np.diag(before.diffusion), rtol=0.02)
        if settled and abs(wider - half) <= 0.1 * half:
            break
        half = wider
    if not noisy and _is_smoothed(residuals):
        kicks = kicks_of(residuals, replace(kicks, smoothed=True))
        force = _coefficients(_chosen(problem, forces, kicks, force))
        forces, residuals = problem.sums(shape, kicks, force)
    chosen = _chosen(problem, forces, kicks, force)
    local = _local_diffusion(problem, forces, residuals, kicks, _errors(chosen))
    if problem.every > 1 or local is not None:
        kicks = replace(kicks, local=local)
        forces, residuals = problem.sums(shape, kicks, _coefficients(chosen), every=1)
    return _selected(problem, forces, residuals, kicks, shape, _coefficients(chosen))


def _selected(
    problem: SecondOrderProblem,
    forces: ForceSums,
    residuals: ResidualSums,
    kicks: Kicks,
    shape: Shape,
    near: Floats,
) -> SecondOrderFit:
    """Choose the terms of force and diffusion, with errors; `near` is the force (d, J)."""
    library, d, n = problem.library, problem.space.dimension, forces.n_windows
    force = []
    equations = tuple(
        forces.equations(c, noise, near[c]) for c, noise in enumerate(kicks.noise.tolist())
    )
    for c, of_force in enumerate(equations):
        problem.tell(f"choosing the terms of the force along {problem.space.names[c]}")
        constraint = problem.of_force(c)
        force.append(choose_under(constraint, of_force, None, library, n, problem.selection))
    diffusion = {}
    for p in range(d):
        for q in range(p, d):
            of_pair = diffusion_equations(forces, residuals, (p, q), kicks, _errors(force))
            diffusion[p, q] = choose_under(
                problem.of_diffusion(p, q), of_pair, None, library, n, problem.selection
            )
    return SecondOrderFit(
        tuple(force),
        diffusion,
        kicks,
        shape,
        residuals,
        max(e.condition for e in equations),
        n,
        equations,
    )


def first_kicks(problem: SecondOrderProblem) -> tuple[Kicks, Floats]:
    """Estimate kicks and noise from second differences alone, and the noise's standard errors.

    Neighbouring second differences have the covariances c₀ = ⅔a + 6s², c₁ = a/6 − 4s² and
    c₂ = s², each less c₃, which smooth forces leave (equation S5). A record that was simulated with
    steps as long as its sampling interval has c₁ = c₂ = 0: where c₁ vanishes, and c₂ is less than
    three quarters of what this noise has, there is none.
    """
    d = problem.space.dimension
    none = Kicks(np.zeros((d, d)), np.zeros(d))
    _, sums = problem.without_terms().sums(shape_of(1, noisy=False, powers=False), none)
    count = max(sums.moments[0, 0], 1.0)
    zero = np.diag(sums.products) / count
    lags = sums.lags[:, :, 1] / sums.lags[:, :, 0].clip(min=1)
    factors = _lag_factors(problem)
    covariances = np.column_stack([zero, lags[:, :2]]) - lags[:, 2:3]
    diffusion, noise = np.linalg.lstsq(factors, covariances.T, rcond=None)[0]
    unlike = covariances[:, 2] < LACKING * factors[2, 1] * noise
    noise = np.where(unlike & (np.abs(covariances[:, 1]) < VANISHING * zero), 0.0, noise)
    errors = np.sqrt(sums.lags[:, 1, 2]) / sums.lags[:, 1, 0].clip(min=1) / factors[2, 1]
    least = LEAST_KICKS * zero
    return Kicks(np.diag(np.maximum(diffusion, least)), noise.clip(min=0)), errors


def _lag_factors(problem: SecondOrderProblem) -> Floats:
    """Compute the covariances of second differences at lags 0, 1 and 2 (S5); (3, 2).

    Columns are those of kicks of unit diffusion and of unit noise, as means over the clock. With
    steps of one they are ⅔, 1/6, 0 and 6, −4, 1.
    """
    data, steps = problem.data, []
    for start, stop, _ in data.segments.tolist():
        times = np.asarray(data.times[start : min(stop, start + STEPS_OF_CLOCK)])
        if len(times) > 4:
            h = np.diff(times) / problem.space.positions.time
            steps.append(np.stack([h[:-3], h[1:-2], h[2:-1], h[3:]]))
        if sum(s.shape[1] for s in steps) > STEPS_OF_CLOCK:
            break
    if not steps:
        return np.array([[2 / 3, 6.0], [1 / 6, -4.0], [0.0, 1.0]])
    first, second, third, _ = np.concatenate(steps, axis=1)
    noise = (
        1 / first**2 + 1 / second**2 + (1 / first + 1 / second) ** 2,
        -(1 / first + 2 / second + 1 / third) / second,
        1 / (second * third),
    )
    kicks = ((first + second) / 3, second / 6, np.zeros(1))
    return np.array([[k.mean(), n.mean()] for k, n in zip(kicks, noise, strict=True)])


def kicks_of(residuals: ResidualSums, kicks: Kicks) -> Kicks:
    """Estimate the mean diffusion from the residuals of a window."""
    left = residuals.products - residuals.noise
    if kicks.smoothed:
        left = (left + 2 * np.diag(residuals.lags[:, 0, 1])) / 1.5
    # Where noise is all there is, the difference may be negative: windows then have to widen.
    short = np.diag(LEAST_KICKS * residuals.products) - np.diag(left)
    left = left + np.diag(short.clip(min=0))
    return replace(kicks, diffusion=left / residuals.spans[0])


def _is_smoothed(residuals: ResidualSums) -> bool:
    """Check whether neighbouring second differences correlate otherwise than by a quarter.

    Records that were simulated with this step have correlations of 0 or ½, filtered ones larger
    ones.
    """
    count = residuals.lags[:, 0, 0].clip(min=1)
    zero = np.diag(residuals.products) / max(residuals.moments[0, 0], 1.0)
    away = np.abs(residuals.lags[:, 0, 1] / count / zero - QUARTER)
    error = np.sqrt(residuals.lags[:, 0, 2]) / count / zero
    return bool(np.any((away > MATERIAL) & (away > CERTAIN * error)))


def _half(kicks: Kicks) -> int:
    """Choose half of a window: kicks ⅔ a m³ outweigh the noise 6 s²."""
    halves = [
        1.5 * (9 * s / a) ** (1 / 3) if a > 0 else np.inf
        for a, s in zip(np.diag(kicks.diffusion), kicks.noise, strict=True)
    ]
    return int(np.clip(ceil(max(halves) - 0.5) if np.isfinite(max(halves)) else WIDEST, 1, WIDEST))


def _first_half(problem: SecondOrderProblem, kicks: Kicks) -> int:
    """Choose the narrowest window in which more than the noise is seen, from 1, 2, 4, …"""
    bare, half = problem.without_terms(), 1
    while half < WIDEST:
        _, sums = bare.sums(shape_of(half, noisy=False, powers=False), kicks)
        if np.all(np.diag(sums.products) > 3 * np.diag(sums.noise)):
            break
        half *= 2
    return half


def _chosen(
    problem: SecondOrderProblem, forces: ForceSums, kicks: Kicks, near: Floats | None
) -> tuple[Selected, ...]:
    """Estimate the forces on their best supports; `near` is an estimate (d, J), or None.

    All terms together err so much under strong noise that their residuals tell nothing.
    """
    return tuple(
        choose_under(
            problem.of_force(c),
            forces.equations(c, noise, None if near is None else near[c]),
            None,
            problem.library,
            forces.n_windows,
            problem.selection,
            briefly=True,
        )
        for c, noise in enumerate(kicks.noise.tolist())
    )


def _coefficients(force: Sequence[Selected]) -> Floats:
    """Stack the coefficients along the internal functions; (d, J)."""
    return np.stack([s.estimate.internal for s in force])


def _errors(force: Sequence[Selected]) -> list[Floats]:
    """List square roots of the covariances of these coefficients, (J, J) each."""
    return [s.estimate.internal_factor for s in force]


def _local_diffusion(
    problem: SecondOrderProblem,
    forces: ForceSums,
    residuals: ResidualSums,
    kicks: Kicks,
    errors: Sequence[Floats],
) -> Floats | None:
    """Estimate the diffusion of each velocity (d, J); None where no term but 1 is selected."""
    found = [
        choose_under(
            problem.of_diffusion(c, c),
            diffusion_equations(forces, residuals, (c, c), kicks, errors),
            None,
            problem.library,
            forces.n_windows,
            problem.selection,
            briefly=True,
        ).estimate
        for c in range(problem.space.dimension)
    ]
    constant = all(problem.library.degrees[k] == 0 for e in found for k in e.support)
    return None if constant else np.stack([e.internal for e in found])


def _check_size(forces: ForceSums, library: Library) -> None:
    if forces.n_windows < 10 * library.size:
        raise TooFewSamples(
            f"The library has {library.size} terms and the data {forces.n_windows} windows of "
            "consecutive samples; at least ten per term are required.",
            hints=("Lower library.polynomial_degree, or record longer.",),
        )
