"""Log-likelihoods of supports above that of no terms, many of one size at once.

The gain of a support is ½ gᵀ H⁻¹ g in its span.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.regression import NormalEquations, solve
from worker.identification.selection.supports import (
    GrowingSupport,
    ShrinkingSupport,
    growing,
    shrinking,
    support_basis,
    without_each_term,
)

Floats = NDArray[np.float64]
Support = tuple[int, ...]

IDENTIFIABLE = 1e-13
"""Smallest eigenvalue of a support's normalised information, per term, that is identifiable."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Supports of one size and their gains.

    members   (n, K) whether each has each term
    gains     (n,) −∞ where the data do not distinguish the terms of the support
    """

    members: NDArray[np.bool_]
    gains: Floats

    def support(self, i: int) -> Support:
        """Return the i-th support."""
        return tuple(np.flatnonzero(self.members[i]).tolist())

    def at(self, those: NDArray[np.int_] | list[int]) -> "Level":
        """Return the supports at these positions."""
        return Level(self.members[those], self.gains[those])

    def with_others(self, other: "Level") -> "Level":
        """Return these supports and others of the same size."""
        return Level(
            np.concatenate([self.members, other.members]), np.concatenate([self.gains, other.gains])
        )


class Gains:
    """Gains of the supports of a component."""

    def __init__(self, equations: NormalEquations, library: Library) -> None:
        self._equations, self._library = equations, library
        information = library.scaled_terms @ equations.information @ library.scaled_terms.T
        norms = np.sqrt(np.diag(information).clip(min=0))
        self._seen = norms > 0
        norms = np.where(self._seen, norms, 1.0)
        self._information = information / np.outer(norms, norms)
        self._score = library.scaled_terms @ equations.score / norms
        self._root_and_score = np.column_stack([_root(equations.information), equations.score])

    def of(self, supports: list[Support]) -> list[float]:
        """Compute the gains of supports of one size."""
        if not supports or not supports[0]:
            return [0.0] * len(supports)
        if not self._library.near_origin:
            return [gain_on(self._equations, self._library, support) for support in supports]
        index = np.array(supports)
        values, vectors = np.linalg.eigh(self._information[index[:, :, None], index[:, None, :]])
        along = np.einsum("sij,si->sj", vectors, self._score[index])
        is_identifiable = (values[:, 0] > IDENTIFIABLE * index.shape[1]) & self._seen[index].all(
            axis=1
        )
        gains = 0.5 * (along**2 / np.where(is_identifiable[:, None], values, 1.0)).sum(axis=1)
        return [float(gain) for gain in np.where(is_identifiable, gains, -np.inf)]

    def of_one(self, support: GrowingSupport) -> float:
        """Compute the gain of a support; −∞ where its terms are not identifiable."""
        if not support.inside:
            return 0.0
        span = _Span.of(support.rows @ self._root_and_score)
        if span is None or not span.is_identifiable(len(support.inside) * IDENTIFIABLE):
            return -np.inf
        return span.gain

    def with_one_more(self, support: GrowingSupport) -> Floats:
        """Compute the gain of the support with each further term, in order; (M11d), (M11e)."""
        k = len(support.inside)
        others = support.others @ self._root_and_score
        span = _Span.of(support.rows @ self._root_and_score)
        # Terms that are not identifiable stay so with one more term.
        if span is None or not span.is_identifiable(k * IDENTIFIABLE):
            return np.full(len(others), -np.inf)
        norms = np.linalg.norm(others[:, :-1], axis=1)
        seen = norms > 0
        others = others / np.where(seen, norms, 1.0)[:, None]
        along = np.zeros((len(others), k))
        # Once leaves rounding errors of what is taken away, beside which the rest may be small.
        for _ in range(2):
            part = others[:, :-1] @ span.orthonormal[:, :-1].T
            others, along = others - part @ span.orthonormal, along + part
        left = np.einsum("tj,tj->t", others[:, :-1], others[:, :-1])
        seen &= left > 0
        left = np.where(seen, left, 1.0)
        is_identifiable = seen & span.are_identifiable_beside(
            along @ span.inverse, left, (k + 1) * IDENTIFIABLE
        )
        return np.where(is_identifiable, span.gain + 0.5 * others[:, -1] ** 2 / left, -np.inf)

    def with_one_less(self, support: ShrinkingSupport) -> Floats:
        """Compute the gain of the support without each of its terms, in order; (M11d), (M11e)."""
        k = len(support.inside)
        if k == 1:
            return np.zeros(1)
        rows = support.rows @ self._root_and_score
        span = _Span.of(rows)
        if span is None or not span.is_identifiable((k - 1) * IDENTIFIABLE):
            return _without_one_of_too_many(rows, support.functionals)
        functionals = span.inverse @ (support.functionals / span.norms).T
        values = functionals.T @ span.orthonormal[:, -1]
        return np.asarray(
            span.gain - 0.5 * values**2 / np.einsum("ji,ji->i", functionals, functionals)
        )


def _without_one_of_too_many(rows: Floats, functionals: Floats) -> Floats:
    """Compute `with_one_less` for rows and scores (k, J + 1) that are not identifiable.

    The functionals are (k, k), one a row. Where one eigenvalue λ₁ of the information is too small,
    coefficients along its vector follow from the others where one functional is zero; where two
    are, one functional is not enough (Cauchy's interlacing).
    """
    k = len(rows)
    norms = np.linalg.norm(rows[:, :-1], axis=1)
    if np.sum(norms == 0) > 1:
        return np.full(k, -np.inf)
    norms = np.where(norms > 0, norms, 1.0)
    rows, functionals = rows / norms[:, None], functionals / norms
    values, vectors = np.linalg.eigh(rows[:, :-1] @ rows[:, :-1].T)
    enough = (k - 1) * IDENTIFIABLE
    if values[1] < enough:
        return np.full(k, -np.inf)
    along = functionals @ vectors
    with np.errstate(divide="ignore", invalid="ignore"):
        # On the functions where the functional is zero the smallest eigenvalue is the zero between
        # λ₁ and λ₂ of Σ m_j²/(λ_j − λ).
        is_identifiable = np.sum(along**2 / (values - enough), axis=1) < 0
        others, slopes = values[1:], -along[:, 1:] / along[:, :1]
        score = vectors.T @ rows[:, -1]
        scores = score[1:] + slopes * score[0]
        smallest = max(values[0], 0.0)
        by_smallest = (
            np.sum(scores * slopes / others, axis=1) ** 2
            * smallest
            / (1 + smallest * np.sum(slopes**2 / others, axis=1))
        )
        gains = 0.5 * (np.sum(scores**2 / others, axis=1) - by_smallest)
    return np.where(is_identifiable, gains, -np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class _Span:
    """Span of a support in the metric H.

    norms         (k,) norms of the rows of its basis
    information   (k, k) L Lᵀ of rows of unit norm
    inverse       (k, k) L⁻¹
    orthonormal   (k, J + 1) an orthonormal basis, and its scores
    most          bound of the largest eigenvalue of the inverse information, at most k^(1/4) times
                  that
    """

    norms: Floats
    information: Floats
    inverse: Floats
    orthonormal: Floats
    most: float

    @staticmethod
    def of(rows: Floats) -> "_Span | None":
        """Make the span of rows and scores (k, J + 1); None where the rows are parallel."""
        norms = np.linalg.norm(rows[:, :-1], axis=1)
        if not (norms > 0).all():
            return None
        rows = rows / norms[:, None]
        information = rows[:, :-1] @ rows[:, :-1].T
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(information))
        except np.linalg.LinAlgError:
            return None
        covariance = inverse.T @ inverse
        most = float(np.sqrt(np.linalg.norm(covariance @ covariance)))
        return _Span(norms, information, inverse, inverse @ rows, most)

    @property
    def gain(self) -> float:
        """Gain of the support."""
        return 0.5 * float(self.orthonormal[:, -1] @ self.orthonormal[:, -1])

    def is_identifiable(self, least: float) -> bool:
        """Return whether the information's smallest eigenvalue is at least `least`."""
        if self.most * least < 1:
            return True
        return self.most * least < len(self.norms) ** 0.25 and bool(
            np.linalg.eigvalsh(self.information)[0] >= least
        )

    def are_identifiable_beside(
        self, coefficients: Floats, left: Floats, least: float
    ) -> NDArray[np.bool_]:
        """Return whether the smallest eigenvalue is at least `least` with one more row, (M11e).

        The row has unit norm; there are m such rows, each alone.

        coefficients   (m, k) of the new row along the rows
        left           (m,) squared norm of what the rows leave of it
        """
        # The new inverse is the old one and u uᵀ/left, u = (coefficients, −1).
        size = (1 + np.einsum("tj,tj->t", coefficients, coefficients)) / left
        clear = (self.most + size) * least < 1
        if clear.all():
            return np.asarray(clear)
        values, vectors = np.linalg.eigh(self.information)
        if values[0] < least:
            return np.zeros(len(left), dtype=bool)
        size = (
            1
            + (coefficients @ vectors) ** 2
            @ (values / (values - least).clip(min=np.finfo(float).tiny))
        ) / left
        return np.asarray(clear | (size * least < 1))


def _root(information: Floats) -> Floats:
    """Compute F with F Fᵀ = H."""
    norms = np.sqrt(np.diag(information).clip(min=0))
    norms = np.where(norms > 0, norms, 1.0)
    values, vectors = np.linalg.eigh(information / np.outer(norms, norms))
    return np.asarray(norms[:, None] * vectors * np.sqrt(values.clip(min=0)))


def gain_on(equations: NormalEquations, library: Library, support: Support) -> float:
    """Compute ½ gᵀ ĉ on a support; −∞ where the data do not distinguish its terms.

    Parameters
    ----------
    equations, library, support : normal equations, library of terms, positions of the terms
    """
    basis = support_basis(library, support)
    solution = solve(equations, basis.rows, robust=False)
    return (
        -np.inf
        if solution is None
        else float(0.5 * solution.values @ (basis.rows @ equations.score))
    )


def gains_of(
    equations: NormalEquations, library: Library, supports: list[Support]
) -> dict[Support, float]:
    """Compute the gains of supports of any size.

    Parameters
    ----------
    equations, library, supports : normal equations, library of terms, positions of the terms
    """
    gains = Gains(equations, library)
    found: dict[Support, float] = {}
    for _, group in groupby(sorted(supports, key=len), key=len):
        alike = list(group)
        found.update(zip(alike, gains.of(alike), strict=True))
    return found


def all_supports(gains: Gains, size: int) -> Iterator[Level]:
    """Yield every support of a library of this size, smallest first."""
    for k in range(size + 1):
        supports = list(combinations(range(size), k))
        members = np.zeros((len(supports), size), dtype=bool)
        members[
            np.arange(len(supports))[:, None],
            np.array(supports, dtype=int).reshape(len(supports), k),
        ] = True
        yield Level(members, np.array(gains.of(supports)))


def stepwise(gains: Gains, library: Library) -> Iterator[Level]:
    """Yield forward additions from nothing and backward removals from everything, by size."""
    levels = [
        Level(np.zeros((1, library.size), dtype=bool), np.zeros(1)),
        *additions(gains, library),
    ]
    # Removals start from the full support, which is not one of theirs.
    for k, found in zip(range(library.size - 1, 0, -1), removals(gains, library), strict=False):
        levels[k] = levels[k].with_others(found)
    return iter(levels)


def additions(gains: Gains, library: Library) -> Iterator[Level]:
    """Yield the best support of each size with each further term, from none to all."""
    support = growing(library)
    while support.outside:
        level = with_each(gains, library, support)
        yield level
        support = support.with_term(support.outside[int(np.argmax(level.gains))])


def removals(gains: Gains, library: Library) -> Iterator[Level]:
    """Yield the best support of each size without each of its terms, from all to none."""
    support = shrinking(library)
    while support.inside:
        level = without_each(gains, library, support)
        yield level
        support = support.without_term(support.inside[int(np.argmax(level.gains))])


def with_each(gains: Gains, library: Library, support: GrowingSupport) -> Level:
    """Add each further term to a support in turn, in their order.

    Parameters
    ----------
    gains, library, support : gains of the component, library of terms, support to enlarge
    """
    outside = list(support.outside)
    members = np.zeros((len(outside), library.size), dtype=bool)
    members[:, list(support.inside)] = True
    members[np.arange(len(outside)), outside] = True
    return Level(members, gains.with_one_more(support))


def without_each(gains: Gains, library: Library, support: ShrinkingSupport) -> Level:
    """Remove each term of a support in turn, in their order.

    Parameters
    ----------
    gains, library, support : gains of the component, library of terms, support to reduce
    """
    inside = list(support.inside)
    members = np.zeros((len(inside), library.size), dtype=bool)
    members[:, inside] = True
    members[np.arange(len(inside)), inside] = False
    return Level(members, gains.with_one_less(support))


def neighbours(gains: Gains, library: Library, support: Support) -> Iterator[tuple[int, Level]]:
    """Yield the supports with one term less, exchanged or more, with their numbers of terms.

    Parameters
    ----------
    gains, library, support : gains of the component, library of terms, support in the middle
    """
    size = len(support)
    for smaller in without_each_term(library, support):
        members = np.zeros((1, library.size), dtype=bool)
        members[0, list(smaller.inside)] = True
        yield size - 1, Level(members, np.array([gains.of_one(smaller)]))
        yield size, with_each(gains, library, smaller)
    if size < library.size:
        yield size + 1, with_each(gains, library, growing(library, support))
