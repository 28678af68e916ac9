"""Fit of second order by the filter's likelihood, in the units and functions of the closed form.

The filter's time is such that its velocities are of order one: with w the root mean square of
dξ/dτ it is wτ, and F and a in it are those of the closed form over w² and w³.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.restriction import Restriction, noise_restriction
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories, block_edges
from worker.identification.regression import NormalEquations
from worker.identification.second_order.equations import ResidualSums
from worker.identification.second_order.estimator import (
    N_BLOCKS,
    SIGNIFICANT,
    SecondOrderFit,
    SecondOrderProblem,
    kicks_of,
)
from worker.identification.second_order.filter import Positions, Terms, likelihood
from worker.identification.second_order.phase_space import PhaseSpace
from worker.identification.second_order.scoring import (
    Polished,
    T,
    blind_start,
    diffusion_equations,
    force_equations,
    polished,
    scored,
)
from worker.identification.second_order.windows import Kicks
from worker.identification.selection.constraints import choose_under
from worker.identification.selection.support_selection import Selected
from worker.identification.selection.supports import Support, support_basis

Floats = NDArray[np.float64]

LONGEST_RECORD = 200_000
"""Samples up to which the likelihood takes a few seconds, and gains beside other errors."""

ROUNDS = 3
"""Rounds in which chosen terms and the likelihood's maximum follow from each other, at most."""

LEAST_NOISE = 1e-9
"""Variance of the noise that the scoring starts from where the closed form finds none."""

LONGEST_STEP = 30
"""Median sampling intervals above which a step counts as a gap."""


def may_polish(problem: SecondOrderProblem) -> bool:
    """Return whether the filter knows such models: polynomials of one coordinate."""
    space, library = problem.space, problem.library
    return (
        space.dimension == 1
        and space.positions.periods == (None,)
        and not library.other
        and len(problem.data.states) <= LONGEST_RECORD
    )


def polish(problem: SecondOrderProblem, found: SecondOrderFit) -> SecondOrderFit:
    """Choose and estimate the terms again by the filter's likelihood.

    The closed form's fit is returned as it is where the likelihood has no maximum nearby, and where
    the record was smoothed: the likelihood is that of sampled paths.

    Parameters
    ----------
    problem : problem for which `may_polish`
    found : fit by the closed form
    """
    if found.kicks.smoothed:
        return found
    problem.tell("maximising the likelihood of the positions")
    frame = _frame_of(problem)
    best = _of_all_terms(frame, found)
    if best.likelihood.value == -np.inf:
        return found
    chosen, reached = frame.chosen(best), False
    for _ in range(ROUNDS):
        # Terms too many bend the likelihood under strong noise: what counts is how it looks from
        # the maximum of those that were chosen.
        on_supports = _on_supports(frame, best, chosen)
        if not on_supports.converged:
            break
        best, before, reached = on_supports, chosen.supports, True
        chosen = frame.chosen(best)
        if chosen.supports == before:
            break
    if not reached:
        return found
    kicks, residuals = _residuals(problem, found, chosen, best.noise)
    return replace(
        found,
        force=(chosen.force,),
        diffusion={(0, 0): chosen.diffusion},
        kicks=kicks,
        residuals=residuals,
        condition=chosen.equations.condition,
        equations=(chosen.equations,),
        restrictions=_noise_tested(frame, best),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """Terms that were chosen, and the equations of the force."""

    force: Selected
    diffusion: Selected
    equations: NormalEquations

    @property
    def supports(self) -> tuple[Support, Support]:
        """Terms of force and diffusion."""
        return self.force.estimate.support, self.diffusion.estimate.support


def _residuals(
    problem: SecondOrderProblem, found: SecondOrderFit, chosen: _Chosen, noise: float
) -> tuple[Kicks, ResidualSums]:
    """Sum the residuals of the chosen terms, with the kicks that belong to them."""
    support, a = chosen.diffusion.estimate.support, chosen.diffusion.estimate.internal
    force = chosen.force.estimate.internal[None]
    kicks = replace(found.kicks, noise=np.array([noise]))
    if all(problem.library.degrees[k] == 0 for k in support) and a[0] > 0:
        kicks = replace(kicks, diffusion=a[:1, None], local=None)
    else:
        _, residuals = problem.sums(found.shape, kicks, force)
        kicks = replace(kicks_of(residuals, kicks), local=a[None])
    return kicks, problem.sums(found.shape, kicks, force)[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """Record and library in the filter's units.

    record      positions
    functions   (J, J) internal functions along monomials of ξ and the filter's velocity
    w           root mean square of dξ/dτ
    """

    problem: SecondOrderProblem
    record: Positions
    functions: Floats
    w: float

    def terms(self, force: Floats, diffusion: Floats, noise: float | None) -> Terms:
        """Return the terms with these rows (K, J) and (L, J) along the internal functions."""
        exponents = exponents_of(self.problem.library)
        return Terms(
            exponents, force @ self.functions, exponents, diffusion @ self.functions, noise
        )

    def start(self, near: Polished[Terms], chosen: _Chosen) -> tuple[Terms, Floats]:
        """Return the chosen terms, and what is estimated of them."""
        library, terms = self.problem.library, near.terms
        force, diffusion = (support_basis(library, support).rows for support in chosen.supports)
        # Without any term the diffusion is constant.
        diffusion = diffusion if len(diffusion) else np.eye(1, library.internal_size)
        of_force, of_diffusion = chosen.force.estimate, chosen.diffusion.estimate
        start = [
            np.linalg.lstsq(force.T, of_force.internal / self.w**2)[0],
            np.linalg.lstsq(diffusion.T, of_diffusion.internal / self.w**3)[0],
            near.parameters[terms.n_force + terms.n_diffusion :],
        ]
        return self.terms(force, diffusion, terms.noise), np.concatenate(start)

    def chosen(self, best: Polished[Terms]) -> _Chosen:
        """Choose the terms by the likelihood's derivatives along all functions."""
        problem, n = self.problem, self.problem.data.n_increments
        library, whole = problem.library, self._along_all(best)
        force, diffusion = (
            basis @ np.linalg.inv(self.functions)
            for basis in (best.terms.force_basis, best.terms.diffusion_basis)
        )
        of_force = in_units_of(force_equations(whole, diffusion), self.w**2)
        of_diffusion = in_units_of(diffusion_equations(whole, force), self.w**3)
        return _Chosen(
            choose_under(problem.of_force(0), of_force, None, library, n, problem.selection),
            choose_under(
                problem.of_diffusion(0, 0), of_diffusion, None, library, n, problem.selection
            ),
            of_force,
        )

    def _along_all(self, best: Polished[Terms]) -> Polished[Terms]:
        everything, terms = np.eye(len(self.functions)), best.terms
        whole = self.terms(everything, everything, terms.noise)
        n_known = terms.n_force + terms.n_diffusion
        monomials = [best.force @ terms.force_basis, best.diffusion @ terms.diffusion_basis]
        along = [np.linalg.solve(self.functions.T, m) for m in monomials]
        parameters = np.concatenate([*along, best.parameters[n_known:]])
        free = np.zeros(2 * len(self.functions), dtype=bool)
        return Polished(
            whole,
            parameters,
            likelihood(self.record, whole, parameters),
            np.concatenate([free, best.held[n_known:]]),
            best.converged,
        )


def _noise_tested(frame: _Frame, best: Polished[Terms]) -> tuple[Restriction, ...]:
    """Test noise that was given against its estimate beside the chosen terms."""
    given = frame.problem.given_noise
    if given is None:
        return ()
    known = float(given.variances[0])
    start = np.append(best.parameters, max(known, LEAST_NOISE))
    free = scored(frame.record, replace(best.terms, noise=None), start)
    error = error_of(free, free.terms.size - 1)
    if not (free.converged and np.isfinite(error)):
        return ()
    positions = frame.problem.space.positions
    return (
        noise_restriction(
            frame.problem.space.names[:1],
            (known, free.noise, error),
            float(positions.units[0]) ** 2,
        ),
    )


def _frame_of(problem: SecondOrderProblem) -> _Frame:
    record, w = positions_of(problem.data, problem.space)
    library, ratio = problem.library, w / float(problem.space.velocity_units[0])
    functions = library.powers_of_internal.T * ratio ** exponents_of(library)[:, 1]
    return _Frame(problem, record, functions, w)


def _of_all_terms(frame: _Frame, found: SecondOrderFit) -> Polished[Terms]:
    """Maximise the likelihood along all terms of the force, with a constant diffusion."""
    size, problem = len(frame.functions), frame.problem
    known = 0.0 if problem.noise == "none" else None
    if problem.given_noise is not None:
        known = float(problem.given_noise.variances[0])
    terms = frame.terms(np.eye(size), np.eye(1, size), known)
    start = [
        found.force[0].estimate.internal / frame.w**2,
        found.kicks.diffusion[0] / frame.w**3,
        found.kicks.noise.clip(min=LEAST_NOISE)[: terms.noise is None],
    ]
    return polished(frame.record, terms, np.concatenate(start))


def _on_supports(frame: _Frame, near: Polished[Terms], chosen: _Chosen) -> Polished[Terms]:
    """Maximise the likelihood along the chosen terms; noise that is not significant is left out."""
    terms, start = frame.start(near, chosen)
    best = scored(frame.record, terms, start)
    if not best.converged:
        best = scored(frame.record, terms, blind_start(frame.record, terms))
    if (
        frame.problem.noise == "auto"
        and terms.noise is None
        and best.noise < SIGNIFICANT * error_of(best, terms.size - 1)
    ):
        best = scored(frame.record, replace(terms, noise=0.0), best.parameters[:-1])
    return best


def error_of(best: Polished[T], i: int) -> float:
    """Compute the standard error of a parameter; infinite where it is at its range's end."""
    information = best.likelihood.information
    norms = np.sqrt(np.diag(information).clip(min=np.finfo(float).tiny))
    inverse = np.linalg.pinv(information / np.outer(norms, norms), 1e-10, hermitian=True)
    return float("inf") if best.held[i] else float(np.sqrt(inverse[i, i])) / float(norms[i])


def exponents_of(library: Library) -> NDArray[np.int64]:
    """Return the exponents of position and velocity in the monomials of internal functions."""
    return np.array(library.internal_exponents, dtype=np.int64).reshape(-1, 2)


def in_units_of(equations: NormalEquations, factor: float | Floats) -> NormalEquations:
    """Change equations to coefficients that are larger by a factor, or by one each."""
    squares = np.multiply.outer(factor, factor)
    return NormalEquations(
        information=equations.information / squares,
        score=equations.score / factor,
        block_information=equations.block_information / squares,
        block_score=equations.block_score / factor,
        design=equations.design / factor,
    )


def positions_of(data: Trajectories, space: PhaseSpace) -> tuple[Positions, float]:
    """Write a record in the filter's units, cut at gaps, and return w."""
    positions = space.positions.internal(np.asarray(data.states, dtype=np.float64))
    times = np.asarray(data.times, dtype=np.float64) / space.positions.time
    long = np.flatnonzero(np.diff(times) > LONGEST_STEP) + 1
    pieces: list[tuple[int, int]] = []
    for start, stop, _ in data.segments.tolist():
        cuts = long[(long > start) & (long < stop)]
        pieces.extend(pairwise([start, *cuts.tolist(), stop]))
    segments = np.array(pieces, dtype=np.int64)
    scales = [velocity_scale(column, times, segments) for column in positions.T]
    w = float(np.sqrt(np.mean(np.square(scales))))
    positions = positions[:, 0] if len(scales) == 1 else positions
    edges = block_edges(data, N_BLOCKS)
    number = np.searchsorted(edges, np.arange(len(times)), side="right") - 1
    return Positions(positions, times * w, segments, number.clip(0, len(edges) - 2)), w


def velocity_scale(positions: Floats, times: Floats, segments: Integers) -> float:
    """Measure the root mean square of dξ/dτ, without the noise's share.

    Mean squares of displacements over p and over 2p steps differ by w² times that of the times,
    whatever the noise; p is the shortest at which noise is no longer most of them.
    """
    segment = np.searchsorted(segments[:, 0], np.arange(len(times)), side="right")

    def squares(p: int) -> tuple[float, float]:
        inside = segment[p:] == segment[:-p]
        dy, dt = (positions[p:] - positions[:-p])[inside], (times[p:] - times[:-p])[inside]
        return (float(np.mean(dy**2)), float(np.mean(dt**2))) if len(dt) else (0.0, 0.0)

    p = 1
    near, far = squares(1), squares(2)
    while far[0] < 1.5 * near[0] and squares(2 * (p + max(1, p // 4)))[1] > 0:
        p += max(1, p // 4)
        near, far = squares(p), squares(2 * p)
    # Never zero, where nothing moves.
    moved = (far[0] - near[0]) / max(far[1] - near[1], 1.0)
    return float(np.sqrt(max(moved, near[0] / max(near[1], 1.0) / 100)))
