"""A record in the filter's units, and a linear force in the units and functions of the closed form.

Parameters of `LinearTerms` are here coefficients along the closed form's functions 1, positions and
velocities, its a, and the noise's variances.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.identification.regression import NormalEquations, at_least, solve
from worker.identification.second_order.estimator import SIGNIFICANT, SecondOrderProblem
from worker.identification.second_order.filter import Positions
from worker.identification.second_order.linear.filter import LinearTerms, pairs_of
from worker.identification.second_order.polishing import (
    LEAST_NOISE,
    LONGEST_RECORD,
    error_of,
    positions_of,
)
from worker.identification.second_order.scoring import Polished, profiled, scored
from worker.identification.selection.constraints import functions_up_to
from worker.identification.selection.supports import Support, support_basis

Floats = NDArray[np.float64]
Linear = Polished[LinearTerms]

LINEAR = 1
"""Degree of the force's terms."""

STARTS = 2
"""Starts from which the likelihood is maximised, the most likely ones."""

MOST_LENGTHS = 10_000
"""Different sampling intervals up to which a step of the scoring takes less than a second."""


class Parameters(NamedTuple):
    """Parameters of a linear force.

    force    (d, 1 + 2d) coefficients of 1, positions and velocities
    tensor   (d, d) a
    noise    (d,) variances of the noise
    """

    force: Floats
    tensor: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class LinearFrame:
    """Record in the filter's units, and what parameters in the closed form's are in them.

    to_force    (1 + 2d,) the filter's coefficients over the closed form's
    to_tensor   the filter's a over the closed form's
    by_blocks   whether errors are those of the blocks' scatter, where that is wider
    """

    problem: SecondOrderProblem
    record: Positions
    to_force: Floats
    to_tensor: float
    by_blocks: bool = False

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return self.problem.space.dimension

    @property
    def width(self) -> int:
        """Number of functions of a linear force."""
        return 1 + 2 * self.d

    @property
    def size(self) -> int:
        """Number of all coefficients of `LinearTerms`."""
        return self.d * self.width + len(pairs_of(self.d)) + self.d

    @cached_property
    def functions(self) -> NDArray[np.int_]:
        """Positions of 1, positions and velocities among the internal functions."""
        library = self.problem.library
        return functions_up_to(LINEAR, library)

    @cached_property
    def interval(self) -> float:
        """Median sampling interval."""
        h = np.diff(self.record.times)
        return float(np.median(h[h > 0]))

    def rows(self, support: Support) -> Floats:
        """Return a basis of a support along the functions; (k, 1 + 2d)."""
        return support_basis(self.problem.library, support).rows[:, self.functions]

    def terms(
        self, forces: Sequence[Floats], pairs: Sequence[tuple[int, int]], noisy: Iterable[int]
    ) -> LinearTerms:
        """Return the terms with these rows along the functions, pairs of a, and noises."""
        rows, scales, unit = [], [], np.eye(self.size)
        for c, own in enumerate(forces):
            for row in own:
                rows.append(np.zeros(self.size))
                rows[-1][c * self.width : (c + 1) * self.width] = row * self.to_force
        for p, q in pairs:
            scales += [len(rows)] if p == q else []
            rows.append(self.to_tensor * unit[self.d * self.width + pairs_of(self.d).index((p, q))])
        for i in noisy:
            scales.append(len(rows))
            rows.append(unit[self.size - self.d + i])
        return LinearTerms(2, self.d, np.array(rows), tuple(scales))

    def all_terms(self, noisy: Iterable[int]) -> LinearTerms:
        """Return the terms with all functions and pairs."""
        return self.terms([np.eye(self.width)] * self.d, pairs_of(self.d), noisy)

    def noisy(self, terms: LinearTerms) -> tuple[int, ...]:
        """List the coordinates whose noise is a parameter."""
        return tuple(int(i) for i in np.flatnonzero(terms.basis[:, -self.d :].any(axis=0)))

    def parameters(self, found: Linear) -> Parameters:
        """Return all parameters at a maximum."""
        d, force = self.d, self.d * self.width
        along = found.parameters @ found.terms.basis
        tensor = np.zeros((d, d))
        for (p, q), a in zip(pairs_of(d), along[force:-d], strict=True):
            tensor[p, q] = tensor[q, p] = a / self.to_tensor
        return Parameters(along[:force].reshape(d, -1) / self.to_force, tensor, along[-d:])

    def along(self, terms: LinearTerms, given: Parameters) -> Floats:
        """Return parameters along terms, as nearly as these have them."""
        pairs = [self.to_tensor * given.tensor[pair] for pair in pairs_of(self.d)]
        target = np.concatenate([(given.force * self.to_force).ravel(), pairs, given.noise])
        norms = np.linalg.norm(terms.basis, axis=1)
        return np.asarray(np.linalg.lstsq((terms.basis / norms[:, None]).T, target)[0] / norms)

    def at(self, terms: LinearTerms, found: Linear) -> Linear:
        """Take the likelihood's derivatives along other terms, at the same place."""
        parameters = self.along(terms, self.parameters(found))
        noisy, held = self.noisy(terms), np.zeros(terms.size, dtype=bool)
        if noisy:
            held[-len(noisy) :] = found.held[-len(noisy) :]
        at = terms.likelihood(self.record, parameters)
        return Polished(terms, parameters, at, held, found.converged)

    def equations(self, at: Linear, kept: Sequence[int], nuisance: Floats) -> NormalEquations:
        """Write the likelihood as normal equations of some parameters; see `profiled`."""
        found = profiled(at, np.array(kept), nuisance)
        if not self.by_blocks:
            return found
        # The likelihood weights the estimates, and the blocks widen their errors.
        solution = solve(found, np.eye(len(found.score)))
        robust = None if solution is None else solution.robust_covariance
        return found if robust is None else at_least(found, robust)

    def mean_squares(self) -> Floats:
        """Compute the mean squares of increments over steps of about the median; (d,)."""
        h = np.diff(self.record.times)
        near = (h > 0.5 * self.interval) & (h < 1.5 * self.interval)
        near[self.record.segments[1:, 0] - 1] = False
        return np.asarray(np.mean(np.diff(self.record.columns, axis=0)[near] ** 2, axis=0))


def may_fit_linear(problem: SecondOrderProblem) -> bool:
    """Return whether the exact likelihood of a linear force takes a few seconds at most."""
    space, library = problem.space, problem.library
    return (
        space.positions.periods == (None,) * space.dimension
        and sum(degree in (0, 1) for degree in library.degrees) == 1 + 2 * space.dimension
        and len(problem.data.states) <= LONGEST_RECORD
        and len(linear_frame(problem).record.steps[1]) <= MOST_LENGTHS
    )


def linear_frame(problem: SecondOrderProblem) -> LinearFrame:
    """Write a problem's record in the filter's units."""
    record, w = positions_of(problem.data, problem.space)
    ratios = w / problem.space.velocity_units
    before = np.ones(1 + problem.space.dimension)
    return LinearFrame(problem, record, np.concatenate([before, ratios]) / w**2, 1 / w**3)


def most_likely(
    frame: LinearFrame, terms: LinearTerms, starts: Sequence[Parameters]
) -> Linear | None:
    """Maximise the likelihood from the likeliest starts; None where it converges from none."""
    given = [frame.along(terms, s._replace(noise=s.noise.clip(min=LEAST_NOISE))) for s in starts]
    values = [terms.log_likelihood(frame.record, parameters) for parameters in given]
    found = [
        scored(frame.record, terms, given[i])
        for i in np.argsort(values)[::-1][:STARTS]
        if values[i] > -np.inf
    ]
    return max((f for f in found if f.converged), key=lambda f: f.likelihood.value, default=None)


def without_noise(frame: LinearFrame, found: Linear) -> Linear:
    """Leave out noise that is not significant, the least significant first."""
    while frame.problem.noise == "auto" and (noisy := frame.noisy(found.terms)):
        first = found.terms.size - len(noisy)
        shares = [found.parameters[i] / error_of(found, i) for i in range(first, found.terms.size)]
        if min(shares) >= SIGNIFICANT:
            break
        kept = np.delete(np.arange(found.terms.size), first + int(np.argmin(shares)))
        scales = np.flatnonzero(np.isin(kept, found.terms.scales))
        terms = LinearTerms(2, frame.d, found.terms.basis[kept], tuple(scales.tolist()))
        found = scored(frame.record, terms, found.parameters[kept])
    return found
