"""Best support of every size, by what it gains and what its terms cost (docs/method.md §5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.regression import (
    NormalEquations,
    estimated,
    estimated_values,
    wider_root,
)
from worker.identification.selection.explosion import NO_ENDS, OpenEnds, explodes, may_explode
from worker.identification.selection.half_spaces import HalfSpaces
from worker.identification.selection.log_likelihood_gains import (
    Gains,
    Level,
    Support,
    all_supports,
    neighbours,
    stepwise,
)
from worker.identification.selection.supports import EXHAUSTIVE_UP_TO, support_basis

Floats = NDArray[np.float64]

EQUALLY_WELL = 1.0
"""Difference of log-likelihoods below which supports of one size fit equally well.

The one of the lowest degree is then taken.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Support that was considered.

    gain         ½ gᵀ H⁻¹ g, the log-likelihood above that of no terms
    score        rank of the method, larger is better: gain less the terms' costs, or minus the
                 held-out error
    raw          (k,) coefficients of the raw terms, internal units of state and time; empty where
                 they are not asked for
    equivalent   other supports of this size that fit equally well
    penalty      largest at which the lasso chose this support; None for other methods
    """

    support: Support
    gain: float
    score: float
    raw: Floats
    equivalent: tuple[Support, ...] = ()
    penalty: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Result of cross-validation along a path of falling penalties.

    penalties        (n,) in standard errors: of orthogonal terms those with |z| above it stay
    errors           (n,) mean squared error of the held-out equations in units of their noise; 1
                     for the true model
    std_errors       (n,) standard error of the mean over the folds
    n_terms          (n,) number of terms that are kept, given all data
    chosen, lowest   positions of the penalty taken, and of the smallest error
    """

    penalties: Floats
    errors: Floats
    std_errors: Floats
    n_terms: NDArray[np.int_]
    chosen: int
    lowest: int
    n_folds: int


def searched(
    equations: NormalEquations, library: Library, costs: Floats, ends: OpenEnds = NO_ENDS
) -> tuple[Level, ...]:
    """Look for the best supports of every size, from none to all.

    They are all supports of a small library. In a large one they are those next to a path of
    forward and backward steps, and next to the best support, again and again, until it is better
    than every support with one term more, less or exchanged. On paths of the Lorenz system the path
    alone kept terms of less than two standard errors in five components of twelve.

    Parameters
    ----------
    equations, library : normal equations, library of terms
    costs : (K,) cost of each term
    ends : ends of the line at which a drift may explode
    """
    gains = Gains(equations, library)
    if library.size <= EXHAUSTIVE_UP_TO:
        return tuple(all_supports(gains, library.size))
    levels = list(stepwise(gains, library))

    def best_at(level: Level) -> tuple[float, Support]:
        judged = judged_by(costs, level, equations, library, ends)
        chosen = lowest_of_best(judged, level, library)[0]
        return float(judged[chosen]), level.support(chosen)

    scores = [best_at(level) for level in levels]
    seen: set[Support] = set()
    while True:
        _, best = max(scores, key=lambda found: (found[0], -len(found[1])))
        if best in seen:
            return tuple(levels)
        seen.add(best)
        for size, level in neighbours(gains, library, best):
            levels[size] = levels[size].with_others(level)
        for size in range(max(len(best) - 1, 0), min(len(best) + 2, len(levels))):
            scores[size] = best_at(levels[size])


def judged_by(
    costs: Floats,
    level: Level,
    equations: NormalEquations,
    library: Library,
    ends: OpenEnds,
    window: float = EQUALLY_WELL,
) -> Floats:
    """Compute gains less costs of supports of one size (n,).

    A drift that explodes pays for the term that would hold it back. Supports that are more than
    `window` behind the best even so are not looked at.

    Parameters
    ----------
    costs : (K,) cost of each term
    level : supports of one size
    equations, library : normal equations, library of terms
    ends : ends of the line at which a drift may explode
    window : difference of scores that matters
    """
    judged = np.asarray(level.gains - level.members @ costs)
    if not ends:
        return judged
    price = float(costs.max())
    close = np.flatnonzero(judged > judged.max() - price - window)
    growing = [i for i in close.tolist() if may_explode(library, level.support(i))]
    for i, raw in zip(growing, _raw_on_each(equations, library, level.at(growing)), strict=True):
        if explodes(library, level.support(i), raw, ends):
            judged[i] -= price
    return judged


def selection_path(
    levels: Sequence[Level],
    equations: NormalEquations,
    library: Library,
    costs: Floats,
    *,
    ends: OpenEnds = NO_ENDS,
    coefficients: bool = True,
) -> tuple[Candidate, ...]:
    """List the best support of every size, smallest first; equation (M11).

    Parameters
    ----------
    levels : supports that were looked at, by size
    equations, library : normal equations, library of terms
    costs : (K,) cost of each term
    ends : ends of the line at which a drift may explode
    coefficients : whether to compute each candidate's coefficients and equivalent supports
    """
    path = []
    for level in levels:
        judged = judged_by(costs, level, equations, library, ends)
        chosen, *others = lowest_of_best(judged, level, library)
        if np.isfinite(judged[chosen]):
            support = level.support(chosen)
            raw = raw_on(equations, library, support) if coefficients else np.zeros(0)
            equivalent = tuple(level.support(i) for i in others) if coefficients else ()
            unique = tuple(s for s in dict.fromkeys(equivalent) if s != support)
            path.append(
                Candidate(support, float(level.gains[chosen]), float(judged[chosen]), raw, unique)
            )
    return tuple(path)


def lowest_of_best(judged: Floats, level: Level, library: Library) -> list[int]:
    """List the positions of the supports of one size that fit equally well.

    The one of the lowest degree comes first, then the others, best first. The degree is that of the
    polynomial, its highest power; by the sum of all powers {1, x³} and {x, x²} are level, and
    sampling noise took the first in 3 of 5 records of x − x². Among equals one whose powers are all
    odd or all even is preferred, which x → −x leaves as it is, then that with the lowest sum.

    Parameters
    ----------
    judged : (n,) gains less costs
    level, library : supports of one size, library of terms
    """
    close = np.flatnonzero(judged >= judged.max() - EQUALLY_WELL)
    close = close[np.argsort(-level.gains[close], kind="stable")]
    members = level.members[close]
    degrees = members * _degrees(library)
    odd = (members & (_degrees(library) % 2 == 1)).sum(axis=1)
    mixed = (odd > 0) & (odd < members.sum(axis=1))
    chosen = int(np.lexsort((degrees.sum(axis=1), mixed, degrees.max(axis=1, initial=0)))[0])
    return [int(close[chosen]), *(int(i) for i in np.delete(close, chosen))]


def raw_on(equations: NormalEquations, library: Library, support: Support) -> Floats:
    """Compute raw coefficients on a support (k,); NaN where the data do not distinguish its terms.

    Parameters
    ----------
    equations, library, support : normal equations, library of terms, positions of the terms
    """
    basis = support_basis(library, support)
    values = estimated_values(equations, basis.rows)
    return np.full(len(support), np.nan) if values is None else basis.raw_coefficients(values)


def _raw_on_each(equations: NormalEquations, library: Library, level: Level) -> list[Floats]:
    """Compute raw coefficients on supports whose terms the data distinguish; (k,) each.

    Parameters
    ----------
    equations, library, level : normal equations, library of terms, supports
    """
    if not library.near_origin:
        n = len(level.members)
        return [raw_on(equations, library, level.support(i)) for i in range(n)]
    # One call for all of them: 150 single ones were a fifth of the time of a job of 2000 samples.
    weighted = equations if equations.errors is None else equations.errors.weighted
    terms, inside = library.scaled_terms, level.members
    information = terms @ weighted.information @ terms.T
    norms = np.sqrt(np.diag(information))
    norms = np.where(norms > 0, norms, 1.0)
    # A term outside has an equation of its own: its coefficient is zero.
    both = inside[:, :, None] & inside[:, None, :]
    normalised = np.where(both, information / np.outer(norms, norms), np.eye(len(norms)))
    score = np.where(inside, terms @ weighted.score / norms, 0.0)
    values = np.linalg.solve(normalised, score[..., None])[..., 0]
    return [
        row[chosen]
        for row, chosen in zip(values / norms / library.term_scales, inside, strict=True)
    ]


def best_of(path: tuple[Candidate, ...]) -> Candidate:
    """Return the candidate with the largest score; the smaller support where two are level."""
    return max(path, key=lambda c: (c.score, -len(c.support)))


def _degrees(library: Library) -> NDArray[np.int_]:
    """Return the degrees of the terms (K,); a term that is no monomial counts as the highest."""
    return np.array([100 if degree is None else degree for degree in library.degrees])


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Coefficients of one component on its support, in internal units of state and time.

    support             positions in the library
    internal            (n_functions,) along the internal functions
    internal_factor     (n_functions, n_functions) square root F of their covariance F Fᵀ, zero
                        outside the support's span, with the blocks' covariance where it is larger
                        than the model's beyond chance, equation (M36)
    raw                 (k,) of the raw terms, in order of the support
    std_error           (k,) standard errors of raw by the model
    robust_std_error    (k,) standard errors of raw from the blocks, or None
    covariance          (k, k) covariance of raw, with the blocks' as in `internal_factor`
    half_spaces         bounds of the coefficients, for models drawn around the estimate; or None
    free                (k,) raw, with the bounded terms as they are without their bounds; None: raw
    at_bound            terms whose coefficient is at a bound
    """

    support: Support
    internal: Floats
    internal_factor: Floats
    raw: Floats
    std_error: Floats
    robust_std_error: Floats | None
    covariance: Floats
    half_spaces: HalfSpaces | None = None
    free: Floats | None = None
    at_bound: Support = ()


def estimate_on(equations: NormalEquations, library: Library, support: Support) -> Estimate | None:
    """Estimate coefficients on one support; None where the data do not distinguish its terms.

    Parameters
    ----------
    equations, library, support : normal equations, library of terms, positions of the terms
    """
    basis = support_basis(library, support)
    solution = estimated(equations, basis.rows)
    if solution is None:
        return None
    n = library.internal_size
    factor, raw_covariance = np.zeros((n, n)), np.zeros((0, 0))
    robust = solution.robust_covariance
    if support:
        root = wider_root(solution.covariance, robust, len(equations.block_score))
        factor[:, : len(support)] = basis.rows.T @ root
        raw_covariance = basis.raw_covariance(root @ root.T)
    return Estimate(
        support=support,
        internal=basis.rows.T @ solution.values if support else np.zeros(n),
        internal_factor=factor,
        raw=basis.raw_coefficients(solution.values),
        std_error=_errors(basis.raw_covariance(solution.covariance)) if support else np.zeros(0),
        robust_std_error=None if robust is None else _errors(basis.raw_covariance(robust)),
        covariance=raw_covariance,
    )


def raw_root(estimate: Estimate, library: Library, *, joint: bool = False) -> Floats:
    """Compute a square root (k, m) of the covariance of an estimate's raw coefficients.

    Parameters
    ----------
    estimate, library : estimate, library of terms
    joint : whether the root's columns are shared with other components, and are kept; else m = k

    It comes from `internal_factor`: far from the origin a root of `covariance` has lost the digits
    by which the raw coefficients' errors cancel where the data are.
    """
    k = len(estimate.support)
    if not k:
        return np.zeros((0, 0))
    basis = support_basis(library, estimate.support)
    along = np.linalg.lstsq(basis.rows.T, estimate.internal_factor)[0]
    if joint:
        columns = along[:, : np.flatnonzero(along.any(axis=0)).max(initial=0) + 1].T
    else:
        columns = np.asarray(np.linalg.qr(along.T, mode="r"))
    return np.stack([basis.raw_coefficients(column) for column in columns], axis=1)


def coefficients_on(
    equations: NormalEquations, library: Library, support: Support
) -> tuple[Floats, Floats] | None:
    """Compute the internal (n_functions,) and raw (k,) coefficients of `estimate_on` alone.

    Parameters
    ----------
    equations, library, support : normal equations, library of terms, positions of the terms
    """
    basis = support_basis(library, support)
    values = estimated_values(equations, basis.rows)
    if values is None:
        return None
    internal = basis.rows.T @ values if support else np.zeros(library.internal_size)
    return internal, basis.raw_coefficients(values)


def _errors(covariance: Floats) -> Floats:
    return np.asarray(np.sqrt(np.diag(covariance).clip(min=0)))
