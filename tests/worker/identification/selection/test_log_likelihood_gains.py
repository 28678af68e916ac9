"""Gains of many supports at once are those of each by itself, near the origin and far from it."""

from collections.abc import Sequence
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import Scales
from worker.identification.regression import NormalEquations
from worker.identification.selection import gauss_jordan
from worker.identification.selection import log_likelihood_gains as gains_module
from worker.identification.selection.best_subset import (
    EQUALLY_WELL,
    best_of,
    searched,
    selection_path,
)
from worker.identification.selection.log_likelihood_gains import (
    IDENTIFIABLE,
    Gains,
    Level,
    Support,
    gain_on,
    removals,
    stepwise,
)
from worker.identification.selection.supports import growing, shrinking

Floats = NDArray[np.float64]

origins = st.lists(st.sampled_from([0.0, 0.25, -3.0, 40.0, 1e3, -1e6]), min_size=1, max_size=3)


def library_of(origins: Sequence[float], degree: int, extra_terms: tuple[str, ...] = ()) -> Library:
    scales = [
        Scales(o, 0.5, (o - 0.5, o + 0.5), o - 0.5, o + 0.5, o, 0.25, 1.0, np.ones(1), 100.0)
        for o in origins
    ]
    return make_library(
        scales, polynomial_degree=degree, extra_terms=extra_terms, periods=(None,) * len(origins)
    )


def response_of(design: Floats, seed: int) -> Floats:
    """Random responses to a design (n, J), and noise."""
    response = design @ np.random.default_rng([seed, 1]).normal(size=design.shape[1])
    return np.asarray(response + np.random.default_rng([seed, 2]).normal(size=len(design)))


def equations_of(design: Floats, seed: int) -> NormalEquations:
    """Of a design (n, J) and random responses."""
    information, score = design.T @ design, design.T @ response_of(design, seed)
    return NormalEquations(information, score, information[None], score[None], design)


def on_states(library: Library, seed: int, n: int = 400) -> NormalEquations:
    """A regression on the library's functions at states in the middle of the range."""
    y = np.random.default_rng(seed).uniform(-1, 1, (n, library.dimension))
    return equations_of(library.internal(y), seed)


@pytest.mark.slow
@given(origins, st.integers(0, 10_000), st.data())
@settings(max_examples=60, deadline=None)
def test_one_term_more_or_less_gains_what_the_support_gains_by_itself(
    where: list[float], seed: int, data: st.DataObject
) -> None:
    library = library_of(where, 5 if len(where) == 1 else 3, ("x^6",))
    equations = on_states(library, seed)
    gains, order = Gains(equations, library), data.draw(st.permutations(range(library.size)))
    n = data.draw(st.integers(1, library.size - 1))
    grown = growing(library)
    for term in order[:n]:
        grown = grown.with_term(term)
    shrunk = shrinking(library)
    for term in order[n:]:
        shrunk = shrunk.without_term(term)
    assert grown.inside == shrunk.inside == tuple(sorted(order[:n]))
    more = [gain_on(equations, library, tuple(sorted((*grown.inside, t)))) for t in grown.outside]
    less = [
        gain_on(equations, library, tuple(t for t in shrunk.inside if t != out))
        for out in shrunk.inside
    ]
    # The information's eigenvalues are above 10⁻⁶ here, so that float64 leaves 10⁻⁹ of a gain.
    np.testing.assert_allclose(gains.with_one_more(grown), more, rtol=1e-8)
    np.testing.assert_allclose(gains.with_one_less(shrunk), less, rtol=1e-8, atol=1e-8)


def smallest_eigenvalue(equations: NormalEquations, library: Library, support: Support) -> float:
    """Of a support's information with terms of unit norm; infinite for no terms."""
    if not support:
        return np.inf
    rows = library.scaled_terms[list(support)]
    information = rows @ equations.information @ rows.T
    norms = np.sqrt(np.diag(information))
    return float(np.linalg.eigvalsh(information / np.outer(norms, norms))[0])


def rounding_of_a_gain(library: Library, n_terms: int, smallest: float) -> float:
    """Bound of the error that rounding leaves in the gain of a support, over half of the response².

    Information H and scores g of terms of unit norm are sums over J functions: their entries have
    errors of J ε, the scores' in units of the response y. Errors E and e move the gain ½ gᵀH⁻¹g by
    e·c − ½ cᵀEc, where |E| ≤ k J ε of k terms and |c|² ≤ |y|²/λ, λ the smallest eigenvalue of H.
    """
    return 3 * n_terms * library.internal_size * float(np.finfo(float).eps) / smallest


@given(st.integers(0, 10_000), st.integers(1, 3), st.data())
@settings(max_examples=40, deadline=None)
def test_what_cannot_be_told_apart_is_the_same_by_either_way(
    seed: int, n_copies: int, data: st.DataObject
) -> None:
    library = library_of([0.25], 7)
    design = on_states(library, seed).design.copy()
    # Some functions are combinations of others on these data, exactly or but for 10⁻⁹ or a tenth of
    # them.
    for copy in range(n_copies):
        size = data.draw(st.sampled_from([0.0, 1e-9, 0.1]))
        j = data.draw(st.integers(1, library.internal_size - 1))
        design[:, j] = design[:, :j].sum(axis=1) + size * np.random.default_rng(
            [seed, copy]
        ).normal(size=len(design))
    equations = equations_of(design, seed)
    half_of_square = 0.5 * float(np.sum(response_of(design, seed) ** 2))
    gains, order = Gains(equations, library), data.draw(st.permutations(range(library.size)))
    grown, shrunk = growing(library), shrinking(library)
    for add, drop in zip(order[:-1], order[::-1][:-1], strict=True):
        larger = [tuple(sorted((*grown.inside, t))) for t in grown.outside]
        smaller = [tuple(t for t in shrunk.inside if t != out) for out in shrunk.inside]
        # A removal takes a part from a gain, if there is one, that was rounded itself.
        before = smallest_eigenvalue(equations, library, shrunk.inside)
        identifiable = before >= IDENTIFIABLE * len(shrunk.inside)
        for found, supports, at_most in (
            (gains.with_one_more(grown), larger, np.inf),
            (gains.with_one_less(shrunk), smaller, before if identifiable else np.inf),
        ):
            direct = gains.of(supports)
            assert list(np.isfinite(found)) == list(np.isfinite(direct))
            for one, other, support in zip(found, direct, supports, strict=True):
                if np.isfinite(other):
                    smallest = min(smallest_eigenvalue(equations, library, support), at_most)
                    allowed = rounding_of_a_gain(library, len(support) + 1, smallest)
                    assert one == pytest.approx(other, rel=0, abs=2 * allowed * half_of_square)
        grown, shrunk = grown.with_term(add), shrunk.without_term(drop)


def plain_stepwise(
    equations: NormalEquations, library: Library
) -> list[dict[tuple[int, ...], float]]:
    """Forward and backward steps as they are defined, every support by itself."""

    def of(supports: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
        return {s: gain_on(equations, library, s) for s in supports}

    size, current = library.size, ()
    levels: list[dict[tuple[int, ...], float]] = [{(): 0.0}, *({} for _ in range(size))]
    for k in range(1, size + 1):
        levels[k].update(
            of([tuple(sorted((*current, t))) for t in range(size) if t not in current])
        )
        current = max(levels[k], key=levels[k].__getitem__)
    for k in range(size - 1, 0, -1):
        shrunk = of([tuple(t for t in current if t != out) for out in current])
        levels[k].update(shrunk)
        current = max(shrunk, key=shrunk.__getitem__)
    return levels


@pytest.mark.slow
@pytest.mark.parametrize("where", [[0.0, 0.0], [40.0, -1e3], [1e6, 0.25]])
def test_forward_and_backward_steps_are_those_of_every_support_by_itself(
    where: list[float],
) -> None:
    library = library_of(where, 4)
    for seed in range(4):
        equations = on_states(library, seed)
        found = list(stepwise(Gains(equations, library), library))
        for level, plain in zip(found, plain_stepwise(equations, library), strict=True):
            by_support = {level.support(i): float(gain) for i, gain in enumerate(level.gains)}
            assert by_support == pytest.approx(plain, rel=1e-8)


def test_a_path_costs_one_step_of_elimination_a_support_and_no_support_is_evaluated_by_itself() -> (
    None
):
    library = library_of([40.0, 3.0, -7.0], 4)
    equations = on_states(library, 0, 2000)
    gains = Gains(equations, library)
    list(removals(gains, library))  # makes what is made once a library
    with (
        patch.object(gauss_jordan, "eliminated", wraps=gauss_jordan.eliminated) as steps,
        patch.object(gauss_jordan, "exchanged", wraps=gauss_jordan.exchanged) as exchanges,
        patch.object(gains_module, "gain_on", wraps=gain_on) as direct,
    ):
        levels = list(stepwise(gains, library))
    assert sum(len(level.gains) for level in levels) > library.size**2 // 2
    assert steps.call_count <= 2 * library.size
    # Pivots are the largest entries, which seldom leave a larger one elsewhere.
    assert exchanges.call_count <= library.size
    assert direct.call_count == 0


def on_states_near_a_curve(library: Library, seed: int) -> NormalEquations:
    """A regression where one variable nearly determines the other, so that terms are much alike."""
    random = np.random.default_rng(seed)
    y = random.uniform(-1, 1, (400, 2))
    y[:, 1] = 0.9 * y[:, 0] ** 2 - 0.45 + 0.1 * y[:, 1]
    design = library.internal(y)
    truth = random.normal(size=5) @ library.scaled_terms[random.permutation(library.size)[:5]]
    response = 3 * design @ truth + random.normal(size=len(design))
    information, score = design.T @ design, design.T @ response
    return NormalEquations(information, score, information[None], score[None], design)


def exchanges_that_are_better(
    equations: NormalEquations, library: Library, costs: Floats, best: tuple[int, ...]
) -> int:
    """Count the supports with one term more, less or exchanged that beat one, each by itself."""

    def score(support: tuple[int, ...]) -> float:
        return gain_on(equations, library, support) - costs[list(support)].sum()

    rest = [k for k in range(library.size) if k not in best]
    less = [tuple(k for k in best if k != out) for out in best]
    others = [*less, *(tuple(sorted((*s, k))) for s in (best, *less) for k in rest)]
    # Supports of one size within one of each other fit equally well.
    return sum(score(other) > score(best) + EQUALLY_WELL for other in others)


@pytest.mark.slow
def test_no_support_with_one_term_more_less_or_exchanged_is_better() -> None:
    costs, alone = np.full(15, 4.0), 0
    # On these of sixty seeds the path of forward and backward steps ends beside a better support.
    for seed, where in product((9, 42, 45, 55), ([0.0, 0.0], [40.0, -1e3])):
        library = library_of(where, 4)
        equations = on_states_near_a_curve(library, seed)

        def best(
            levels: Sequence[Level],
            equations: NormalEquations = equations,
            library: Library = library,
        ) -> Support:
            path = selection_path(levels, equations, library, costs, coefficients=False)
            return best_of(path).support

        found = best(searched(equations, library, costs))
        assert not exchanges_that_are_better(equations, library, costs, found)
        steps = best(tuple(stepwise(Gains(equations, library), library)))
        alone += exchanges_that_are_better(equations, library, costs, steps) > 0
    assert alone == 4
