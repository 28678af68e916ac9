"""Which terms are active: every support judged by the Bayesian information criterion (docs/method.md §5)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from worker.identification.gains import Gains, Support, all_supports, stepwise
from worker.identification.library import Library
from worker.identification.regression import NormalEquations, Solution, solve
from worker.identification.supports import SupportBasis, support_basis

Floats = NDArray[np.float64]

EXHAUSTIVE_UP_TO = 11
"""Library sizes for which all supports are tried; above, forward and backward steps."""

EQUALLY_WELL = 1.0
"""Supports of one size whose log-likelihoods differ by less fit equally well; the one of lowest degree is taken."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """The best support of its size.

    gain         ½ gᵀ H⁻¹ g, the log-likelihood above that of no terms
    score        gain − ½ k log(n_increments) − the terms' `costs_of`
    raw          (k,) coefficients of the raw terms, internal units of state and time
    equivalent   other supports of this size that fit equally well
    """

    support: Support
    gain: float
    score: float
    raw: Floats
    equivalent: tuple[Support, ...]


def selection_path(equations: NormalEquations, library: Library, n_increments: int) -> tuple[Candidate, ...]:
    """The best support of every size, smallest first; equation (M11)."""
    return tuple(
        Candidate(chosen, gain, score, _raw_on(equations, library, chosen), others)
        for chosen, gain, score, others in _best_of_each_size(equations, library, n_increments)
    )


def preferred_support(equations: NormalEquations, library: Library, n_increments: int) -> Support:
    """The support of the best candidate of the path."""
    found = _best_of_each_size(equations, library, n_increments)
    return max(found, key=lambda c: (c[2], -len(c[0])))[0]


def _best_of_each_size(
    equations: NormalEquations, library: Library, n_increments: int
) -> Iterator[tuple[Support, float, float, tuple[Support, ...]]]:
    """Support, gain, score, and the other supports that fit equally well."""
    gains = Gains(equations, library)
    levels = all_supports(gains, library.size) if library.size <= EXHAUSTIVE_UP_TO else stepwise(gains, library.size)
    costs = costs_of(library)
    for size, found in enumerate(levels):
        judged = {s: g - float(costs[list(s)].sum()) for s, g in found.items()}
        best = max(judged.values())
        if not np.isfinite(best):
            continue
        close = [s for s, g in judged.items() if g >= best - EQUALLY_WELL]
        chosen = min(close, key=lambda s: (_degree(library, s), -found[s]))
        others = tuple(s for s in sorted(close, key=lambda s: -found[s]) if s != chosen)
        yield chosen, found[chosen], judged[chosen] - 0.5 * size * log(n_increments), others


@lru_cache(maxsize=64)
def costs_of(library: Library) -> Floats:
    """What a term must gain for being one of many of its degree, in several variables: log of their number; (K,).

    Among x^2, x*y, y^2 one fits well by chance more often than x^2 alone. Constant and linear terms, which any drift may be
    expected to have, are exempt. In one variable every degree has one term, and all costs are zero.
    """
    if library.dimension == 1:
        return np.zeros(library.size)
    count = Counter(library.degrees)
    return np.array([0.0 if degree in (0, 1) else log(count[degree]) for degree in library.degrees])


def _raw_on(equations: NormalEquations, library: Library, support: Support) -> Floats:
    estimate = estimate_on(equations, library, support)
    return np.full(len(support), np.nan) if estimate is None else estimate.raw


def best_of(path: tuple[Candidate, ...]) -> Candidate:
    """The candidate with the largest score; the smaller support where two are level."""
    return max(path, key=lambda c: (c.score, -len(c.support)))


def _degree(library: Library, support: Support) -> int:
    """Sum of the degrees; a term that is no monomial counts as higher than any."""
    return sum(100 if (d := library.degrees[k]) is None else d for k in support)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Coefficients of one component on its support, in internal units of state and time.

    support             positions in the library
    internal            (n_functions,) along the internal functions
    internal_factor     (n_functions, n_functions) a square root F of their covariance F Fᵀ, zero outside the support's span
    raw                 (k,) of the raw terms, in order of the support
    std_error, robust_std_error   (k,)
    """

    support: Support
    internal: Floats
    internal_factor: Floats
    raw: Floats
    std_error: Floats
    robust_std_error: Floats | None


def estimate_on(equations: NormalEquations, library: Library, support: Support) -> Estimate | None:
    """Generalised least squares on one support; None where its terms cannot be told apart on these data."""
    basis: SupportBasis = support_basis(library, support)
    solution: Solution | None = solve(equations, basis.rows)
    if solution is None:
        return None
    n = library.internal_size
    factor = np.zeros((n, n))
    if support:
        values, vectors = np.linalg.eigh(solution.covariance)
        factor[:, : len(support)] = basis.rows.T @ (vectors * np.sqrt(values.clip(min=0)))
    robust = solution.robust_covariance
    return Estimate(
        support=support,
        internal=basis.rows.T @ solution.values if support else np.zeros(n),
        internal_factor=factor,
        raw=basis.raw_coefficients(solution.values),
        std_error=_errors(basis.raw_covariance(solution.covariance)) if support else np.zeros(0),
        robust_std_error=None if robust is None else _errors(basis.raw_covariance(robust)),
    )


def _errors(covariance: Floats) -> Floats:
    return np.asarray(np.sqrt(np.diag(covariance).clip(min=0)))
