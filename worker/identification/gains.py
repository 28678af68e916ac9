"""Log-likelihoods of supports above that of no terms: ½ gᵀ H⁻¹ g in their span, all of one size at once."""

from collections.abc import Iterator
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray

from worker.identification.library import Library
from worker.identification.regression import NormalEquations, solve
from worker.identification.supports import support_basis

Floats = NDArray[np.float64]
Support = tuple[int, ...]
Level = dict[Support, float]


class Gains:
    """The gains of a component's supports; −∞ where the terms of one cannot be told apart on these data."""

    def __init__(self, equations: NormalEquations, library: Library) -> None:
        self._equations, self._library = equations, library
        information = library.scaled_terms @ equations.information @ library.scaled_terms.T
        norms = np.sqrt(np.diag(information).clip(min=0))
        self._seen = norms > 0
        norms = np.where(self._seen, norms, 1.0)
        self._information = information / np.outer(norms, norms)
        self._score = library.scaled_terms @ equations.score / norms

    def of(self, supports: list[Support]) -> Level:
        """Of supports of one size."""
        if not supports or not supports[0]:
            return dict.fromkeys(supports, 0.0)
        if not self._library.near_origin:
            return {support: self._far_from_origin(support) for support in supports}
        index = np.array(supports)
        values, vectors = np.linalg.eigh(self._information[index[:, :, None], index[:, None, :]])
        along = np.einsum("sij,si->sj", vectors, self._score[index])
        told_apart = (values[:, 0] > 1e-13 * index.shape[1]) & self._seen[index].all(axis=1)
        gains = 0.5 * (along**2 / np.where(told_apart[:, None], values, 1.0)).sum(axis=1)
        return {s: float(g) for s, g in zip(supports, np.where(told_apart, gains, -np.inf), strict=True)}

    def _far_from_origin(self, support: Support) -> float:
        return gain_on(self._equations, self._library, support)


def gain_on(equations: NormalEquations, library: Library, support: Support) -> float:
    """½ gᵀ ĉ on one support; −∞ where its terms cannot be told apart on these data."""
    basis = support_basis(library, support)
    solution = solve(equations, basis.rows, robust=False)
    return -np.inf if solution is None else float(0.5 * solution.values @ (basis.rows @ equations.score))


def gains_of(equations: NormalEquations, library: Library, supports: list[Support]) -> Level:
    """Of supports of any size."""
    gains, by_size = Gains(equations, library), sorted(supports, key=len)
    return {s: g for _, alike in groupby(by_size, key=len) for s, g in gains.of(list(alike)).items()}


def all_supports(gains: Gains, size: int) -> Iterator[Level]:
    """Every support of a library of this size, smallest first."""
    for k in range(size + 1):
        yield gains.of(list(combinations(range(size), k)))


def stepwise(gains: Gains, size: int) -> Iterator[Level]:
    """Forward additions from nothing and backward removals from everything; each number of terms sees both."""
    levels: list[Level] = [{} for _ in range(size + 1)]
    current: Support = ()
    levels[0][()] = 0.0
    for k in range(1, size + 1):
        levels[k].update(gains.of([tuple(sorted((*current, t))) for t in range(size) if t not in current]))
        current = max(levels[k], key=levels[k].__getitem__)
    for k in range(size - 1, 0, -1):
        shrunk = gains.of([tuple(t for t in current if t != out) for out in current])
        levels[k].update(shrunk)
        current = max(shrunk, key=shrunk.__getitem__)
    return iter(levels)
