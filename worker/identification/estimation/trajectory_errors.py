"""Errors of coefficients where trajectories differ, or move together; docs/method.md §14.

Scores that are added up over each trajectory, or over all trajectories at each time, have a scatter
that the noise's covariance V does not know. Terms that only tell one trajectory from another are
found by comparing the estimate with one from inside the trajectories.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from worker.identification.checks.trajectory_pairs import (
    PARTS,
    Pairs,
    local_variance,
    walk_pairs,
)
from worker.identification.checks.trajectory_tests import (
    MOST_INSTANTS,
    TrajectoryTests,
    trajectory_tests,
)
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Windows
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.least_errors import ComponentErrors, LeastErrors
from worker.identification.estimation.problem import Problem, components_of, thinned
from worker.identification.selection.constraints import functions_up_to
from worker.identification.sums.measurement_noise import noise_correction
from worker.identification.sums.window_products import Pair

Floats = NDArray[np.float64]

WINDOWS_FOR_TESTS = 200_000
"""Increments, in chunks spread over the record, that show whether trajectories differ."""

WINDOWS_FOR_ERRORS = 4_000_000
"""Increments, in chunks spread over the record, that show how much larger errors are."""

FEWEST_INSIDE = 4
"""Increments for each property of a trajectory before and after those that are compared."""

MOST_INSIDE = 36
"""Number of functions up to which the estimate is compared with that from inside trajectories."""

MOST_PRODUCTS = 1_000_000
"""Products of functions by part that are held at once."""

DISAGREE = 0.01
"""Significance of the difference between the estimate and that from inside the trajectories."""


def compare_trajectories(problem: Problem, fit: Fit) -> tuple[TrajectoryTests, ...]:
    """Test whether trajectories differ, by variable; empty where there is only one."""
    if problem.data.n_trajectories < 2:
        return ()
    every = max(1, problem.data.n_increments // WINDOWS_FOR_TESTS)
    diagonal = np.stack([fit.tensor[p, p] for p in range(len(fit.drift))])
    return trajectory_tests(
        walk(problem, fit, every), problem.space, fit.coefficients, diagonal, fit.noise_free
    )


def wider_errors(
    problem: Problem, fit: Fit, tests: Sequence[TrajectoryTests]
) -> LeastErrors | None:
    """Compute the errors of all components; None where trajectories do not differ.

    Parameters
    ----------
    problem : data and library
    fit : model whose residuals are compared
    tests : tests of that model, by variable
    """
    if not any(test.differs for test in tests):
        return None
    together = any(test.moves_together for test in tests)
    every = max(1, problem.data.n_increments // WINDOWS_FOR_ERRORS)
    apart = any(t.level_differs or t.rate_differs or t.diffusion_differs for t in tests)
    part = _Part(1 / every, problem.data.n_trajectories, apart)
    library, skipped = problem.library, set(fit.noise_free)
    functions = everything = np.arange(library.internal_size)
    if problem.diffusion_degree is not None and library.dimension > 1:
        functions = functions_up_to(problem.diffusion_degree, library)

    def errors(component: _Component) -> ComponentErrors:
        return _errors(lambda: walk(problem, fit, every), component, together, part)

    drift, diffusion = {}, {}
    for p, test in enumerate(tests):
        if p not in skipped:
            own = _own_functions(library, p) if test.level_differs or test.rate_differs else ()
            drift[p] = errors(_Component(p, {(p, p): 1.0}, own, everything, fit, of_drift=True))
    for pair, shares in components_of(problem).items():
        variables = {p for each in shares for p in each}
        if not variables & skipped:
            own = (0,) if any(tests[p].diffusion_differs for p in variables) else ()
            component = _Component(pair[0], shares, own, functions, fit, of_drift=False)
            diffusion[pair] = errors(component)
    return LeastErrors(drift, diffusion)


@dataclass(frozen=True, slots=True)
class _Part:
    """Part of a record that is walked.

    share          share of the increments
    trajectories   number of trajectories of the whole record
    apart          whether trajectories differ, besides that they may move together
    """

    share: float
    trajectories: int
    apart: bool

    def scatter(self, of_groups: Floats, of_increments: Floats, seen: int) -> Floats:
        """Return the scatter of scores that the whole record has, over the part's squared size.

        Noise is less by the part's share; differences between trajectories by the share of those
        that are in the part.

        Parameters
        ----------
        of_groups : (J, J) scatter of sums over trajectories, or times, in the part
        of_increments : (J, J) scatter of single increments
        seen : number of trajectories in the part
        """
        if self.share == 1:
            return of_groups
        trajectories = seen / self.trajectories
        return trajectories * of_groups - max(trajectories - self.share, 0) * of_increments


def walk(problem: Problem, fit: Fit, every_chunk: int) -> Iterator[Pairs]:
    """Walk the increments that a fit is of, through measurement noise as it sees them.

    Parameters
    ----------
    problem : data and library
    fit : fit that says which increments are left out
    every_chunk : k, to walk every k-th chunk only
    """
    data = problem.data if not fit.least_step else thinned(problem.data, fit.least_step)
    windows = Windows(
        longest_step=fit.longest_step, between=(problem.walls.inner_low, problem.walls.inner_high)
    )
    found = walk_pairs(data, problem.space, problem.library, windows, every_chunk)
    if problem.library.dimension > 1 or not fit.noise_variances[0] > 0:
        return found
    # In wells narrower than the noise b of a noisy sample is another one in each well.
    seen = noise_correction(problem.library, float(fit.noise_variances[0])).T
    return (replace(p, before=p.before @ seen, after=p.after @ seen) for p in found)


def _own_functions(library: Library, p: int) -> tuple[int, ...]:
    """Return the positions of 1 and of the variable itself among the internal functions."""
    linear = tuple(int(q == p) for q in range(library.dimension))
    exponents = library.internal_exponents
    return (0, exponents.index(linear)) if linear in exponents else (0,)


@dataclass(frozen=True, slots=True, eq=False)
class _Component:
    """Component of drift or diffusion.

    p           variable of the drift
    shares      component of the diffusion as a mean of pairs
    own         positions in `functions` of what each trajectory has of its own
    functions   (J,) internal functions of the component
    fit         fit whose drift and diffusion weight the equations
    of_drift    whether it is one of the drift
    """

    p: int
    shares: Mapping[Pair, float]
    own: tuple[int, ...]
    functions: NDArray[np.int_]
    fit: Fit
    of_drift: bool

    def equations(self, pairs: Pairs) -> tuple[Floats, Floats, Floats]:
        """Return instruments and design (n, J), and responses (n,), of these increments."""
        tensor, before = self.fit.tensor, pairs.before
        a = {p: local_variance(before, tensor[p, p]) for pq in self.shares for p in pq}
        half = pairs.step[:, None] / 2
        design = half * (before + pairs.after)[:, self.functions]
        if self.of_drift:
            response, variance = pairs.increment[:, self.p], a[self.p]
        else:
            nothing = np.zeros(before.shape[1])
            drift = self.fit.coefficients
            response, variance = np.zeros(len(before)), np.zeros(len(before))
            for (p, q), w in self.shares.items():
                response += w * pairs.residuals(p, q, drift, nothing)[1]
                variance += 2 * w**2 * a[p] * a[q]
        return before[:, self.functions] / variance[:, None], design, response


def _errors(
    walk: Callable[[], Iterator[Pairs]], component: _Component, together: bool, part: _Part
) -> ComponentErrors:
    """Compute the errors of a component.

    Parameters
    ----------
    walk : function that starts a walk over the increments
    component : component
    together : whether trajectories move together
    part : part of the record that is walked
    """
    size = len(component.functions)
    information, score = np.zeros((size, size)), np.zeros(size)
    for pairs in walk():
        instruments, design, response = component.equations(pairs)
        information += instruments.T @ design
        score += instruments.T @ response
    inverse = np.linalg.pinv(information, 1e-12)
    sums = _TrajectorySums(component, inverse @ score)
    instants = np.zeros((MOST_INSTANTS, len(inverse))) if together else None
    for pairs in walk():
        scores = sums.add(pairs)
        if instants is not None:
            np.add.at(instants, pairs.instant % MOST_INSTANTS, scores)
    sums.finish()
    scatters = [sums.scatter * _few(sums.n)] if part.apart else []
    if instants is not None:
        scatters.append(instants.T @ instants)
    whole = (part.scatter(each, sums.of_increments, sums.n) for each in scatters)
    return ComponentErrors(
        tuple(inverse @ each @ inverse.T for each in whole), sums.inside(information, part.share)
    )


def _few(n: int) -> float:
    """Compute the factor by which few trajectories make a variance larger.

    It is n/(n − 1), and the squared ratio of Student's to the normal interval.
    """
    quantile = float(stdtrit(max(n - 1, 1), 0.975))
    return n / max(n - 1, 1) * (quantile / 1.959964) ** 2


class _ByTrajectory:
    """Sums of columns over the slots of each trajectory, which come one after the other."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._pending: tuple[int, Floats] | None = None

    def complete(self, trajectory: Integers, slot: Integers, columns: Floats) -> Floats:
        """Add increments, and return the sums of trajectories that are over; (n, slots, …)."""
        key = trajectory * self._slots + slot
        first = np.flatnonzero(np.diff(key, prepend=-1))
        at, last = int(trajectory[0]), int(trajectory[-1])
        sums = np.zeros((last - at + 1, self._slots, columns.shape[1]))
        sums[trajectory[first] - at, slot[first]] = np.add.reduceat(columns, first, axis=0)
        earlier = self.rest() if self._pending is not None and self._pending[0] != at else sums[:0]
        if self._pending is not None:
            sums[0] += self._pending[1]
        self._pending = last, sums[-1]
        return np.concatenate([earlier, sums[:-1]])

    def rest(self) -> Floats:
        """Return the sums of the last trajectory; (n, slots, …)."""
        if self._pending is None:
            return np.zeros((0, self._slots, 0))
        sums, self._pending = self._pending[1], None
        return sums[None]


class _TrajectorySums:
    """Sums over trajectories of scores, and of scores without what each has of its own.

    n               number of trajectories
    scatter         (J, J) Σ u uᵀ of the scores u of each trajectory
    of_increments   (J, J) Σ u uᵀ of the scores u of each increment
    """

    def __init__(self, component: _Component, coefficients: Floats) -> None:
        k = len(coefficients)
        self._component, self._coefficients = component, coefficients
        self._own = component.own if k <= MOST_INSIDE else ()
        self._whole, self._parts = _ByTrajectory(1), _ByTrajectory(PARTS)
        self.n, self.scatter, self.of_increments = 0, np.zeros((k, k)), np.zeros((k, k))
        self._n_inside, self._of_inside = 0, np.zeros((k, k))
        self._inside, self._per_inside = np.zeros(k), np.zeros((k, k))

    def add(self, pairs: Pairs) -> Floats:
        """Add increments, and return their scores (n, J)."""
        phi, design, response = self._component.equations(pairs)
        scores = phi * (response - design @ self._coefficients)[:, None]
        self.of_increments += scores.T @ scores
        whole = np.zeros_like(pairs.part)
        self._take(self._whole.complete(pairs.trajectory, whole, scores))
        long = pairs.length >= 4 * FEWEST_INSIDE * len(self._own)
        if self._own and long.any():
            products = (phi[long, :, None] * design[long, None, :]).reshape(long.sum(), -1)
            columns = [scores[long], products, np.ones((len(products), 1))]
            columns_of_parts = np.concatenate(columns, axis=1)
            self._take_parts(
                self._parts.complete(pairs.trajectory[long], pairs.part[long], columns_of_parts)
            )
        return scores

    def finish(self) -> None:
        """Add the last trajectory."""
        self._take(self._whole.rest())
        self._take_parts(self._parts.rest())

    def _take(self, sums: Floats) -> None:
        """Add the scores of whole trajectories; (n, 1, J)."""
        seen = sums[:, 0].any(axis=1)
        self.n += int(seen.sum())
        self.scatter += sums[seen, 0].T @ sums[seen, 0]

    def _take_parts(self, sums: Floats) -> None:
        """Add scores, products and numbers of increments by part; (n, PARTS, J + J² + 1).

        What a trajectory has of its own is read off its later parts for the residuals, and off its
        earlier parts for the instruments: neither depends on the noise of a part (the backward and
        forward orthogonal deviations of dynamic panels), docs/method.md §14.
        """
        k, own = len(self._inside), list(self._own)
        at_once = max(1, MOST_PRODUCTS // (PARTS * k**2))
        for start in range(0, len(sums), at_once):
            of_parts = sums[start : start + at_once]
            score, count = of_parts[..., :k], of_parts[..., -1]
            products = of_parts[..., k:-1].reshape(*count.shape, k, k)
            before, after = np.cumsum(count, axis=1) - count, count[:, ::-1].cumsum(1)[:, ::-1]
            past = np.cumsum(products, axis=1) - products
            future = np.cumsum(products[:, ::-1], axis=1)[:, ::-1] - products
            later = np.cumsum(score[:, ::-1], axis=1)[:, ::-1] - score
            fewest = FEWEST_INSIDE * len(own)
            rows = (before >= fewest) & (after - count >= fewest) & (count > 0)
            past, future, products, later = past[rows], future[rows], products[rows], later[rows]
            of_past = past[:, :, own] @ np.linalg.pinv(past[:, own][:, :, own], 1e-6)
            of_future = np.linalg.pinv(future[:, own][:, :, own], 1e-6)
            own_score = (of_future @ later[:, own, None])[..., 0]
            u = score[rows] - np.einsum("pkq,pq->pk", products[:, :, own], own_score)
            m = products - products[:, :, own] @ (of_future @ future[:, own])
            # The noise of what the later parts tell comes on top of the part's own.
            weight = (1 - count / np.maximum(after, 1))[rows]
            u = (u - np.einsum("pkq,pq->pk", of_past, u[:, own])) * weight[:, None]
            m = (m - of_past @ m[:, own]) * weight[:, None, None]
            self._of_inside += u.T @ u
            self._inside += u.sum(axis=0)
            self._per_inside += m.sum(axis=0)
            self._n_inside += len(u)

    def inside(self, information: Floats, share: float) -> Floats:
        """Compute the covariance of an estimate from inside the trajectories; (J, J).

        It has nothing of what each trajectory has of its own. Where that estimate differs from the
        one from all beyond chance, by Δ, Δ Δᵀ is added. It is zero where the two agree for another
        reason: trajectories have nothing of their own, or are too few and too short.

        information   (J, J) Σ instruments · design
        share         share of the record's increments that were added
        """
        k, own = len(information), list(self._own)
        others = np.setdiff1d(np.arange(k), own)
        if not own or not others.size or self._n_inside < 2 * k:
            return np.zeros((k, k))
        of_inside = self._per_inside.copy()
        of_inside[own] = information[own]
        without = np.eye(k)
        without[own] -= np.linalg.pinv(information[np.ix_(own, own)], 1e-12) @ information[own]
        response = (without @ np.linalg.pinv(of_inside, 1e-12))[:, others]
        difference = response @ self._inside[others]
        covariance = response @ self._of_inside[np.ix_(others, others)] @ response.T
        scale = np.sqrt(np.diag(covariance).clip(min=0))
        scale = np.where(scale > 0, scale, 1.0)
        inverse = np.linalg.pinv(covariance / np.outer(scale, scale), 1e-9, hermitian=True)
        square = difference / scale @ inverse @ (difference / scale)
        # Hotelling's T², as the covariance is one of scores.
        left = self._n_inside - len(others)
        beyond = fdtrc(len(others), left, square * left / (len(others) * (self._n_inside - 1)))
        apart = np.outer(difference, difference) if beyond < DISAGREE else 0.0
        return np.asarray(share * covariance + apart)
