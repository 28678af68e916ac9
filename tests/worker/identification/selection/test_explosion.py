"""Drifts that reach infinity in finite time are those of Osgood's criterion, and cost a term."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import Scales
from worker.identification.regression import NormalEquations
from worker.identification.selection.explosion import NO_ENDS, OpenEnds, explodes
from worker.identification.selection.support_selection import BIC, choose

Floats = NDArray[np.float64]
OPEN = OpenEnds(low=True, high=True)


def library_of(extra_terms: tuple[str, ...] = ()) -> Library:
    scales = Scales(1.0, 0.5, (0.5, 1.5), 0.5, 1.5, 1.0, 0.2, 1.0, np.ones(1), 100.0)
    return make_library((scales,), polynomial_degree=4, extra_terms=extra_terms, periods=(None,))


coefficients = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.5, 2.0]), min_size=5, max_size=5)


@given(coefficients, st.booleans(), st.booleans())
def test_a_drift_explodes_where_it_points_outward_faster_than_linearly(
    c: list[float], low: bool, high: bool
) -> None:
    support = tuple(k for k in range(5) if c[k])
    raw = np.array([c[k] for k in support])
    far = 1e6
    # Osgood: ∫ dx/b converges where b grows faster than x; x^1.5 parts powers one and two.
    outward = [sign * np.polynomial.Polynomial(c)(sign * far) > far**1.5 for sign in (-1, 1)]
    expected = (low and outward[0]) or (high and outward[1])
    assert explodes(library_of(), support, raw, OpenEnds(low, high)) == expected


def test_a_term_by_name_may_hold_the_process() -> None:
    library = library_of(("exp(x)",))
    assert explodes(library, (1, 2), np.array([1.0, -1.0]), OPEN)
    assert not explodes(library, (1, 2, 5), np.array([1.0, -1.0, 1.0]), OPEN)


def test_zero_holds_those_that_are_beyond_it() -> None:
    assert OPEN.held_by_zero(0.1, 3.0, 1.0, 1.2) == OpenEnds(low=False, high=True)
    assert OPEN.held_by_zero(-3.0, -0.1, -1.0, 1.2) == OpenEnds(low=True, high=False)
    # A few samples that noise carried across, and a process on both sides.
    assert OPEN.held_by_zero(-0.1, 3.0, 1.5, 1.2) == OpenEnds(low=False, high=True)
    assert OPEN.held_by_zero(-2.0, 3.0, 0.5, 1.2) == OPEN


def equations_in_one_well(
    truth: tuple[float, ...], error: float
) -> tuple[NormalEquations, Library]:
    """Regression at states about one, on coefficients of 1, x, x², …, whose noise is just zero."""
    library = library_of()
    y = np.linspace(-0.6, 0.6, 2000)
    design = library.internal(y) / error
    response = np.polynomial.Polynomial(truth)(library.origin + library.unit * y) / error
    information, score = design.T @ design, design.T @ response
    return NormalEquations(information, score, information[None], score[None], design), library


def test_in_one_well_the_drift_is_not_one_that_runs_out_of_it() -> None:
    equations, library = equations_in_one_well((0, 1, 0, -1), 1.0)

    def powers(ends: OpenEnds) -> tuple[int, ...]:
        return choose(equations, None, library, 2000, BIC, ends=ends).estimate.support

    # Both fit equally well, and that of the lower degree leaves through zero for minus infinity.
    assert powers(NO_ENDS) == (1, 2)
    assert powers(OpenEnds(high=True)) == (1, 2)
    assert powers(OPEN) == (1, 3)


def test_models_are_drawn_less_often_from_a_drift_that_explodes() -> None:
    equations, library = equations_in_one_well((0, 1, 0, -1), 1.0)

    def probability(ends: OpenEnds) -> float:
        selected = choose(equations, None, library, 2000, BIC, ends=ends)
        return {a.estimate.support: a.weight for a in selected.supports}.get((1, 2), 0.0)

    assert probability(OPEN) < 0.5 * probability(NO_ENDS)


@pytest.mark.parametrize("error", [0.02, 0.1])
def test_evidence_outweighs_the_price_of_an_explosion(error: float) -> None:
    equations, library = equations_in_one_well((0, 1, -1), error)
    selected = choose(equations, None, library, 2000, BIC, ends=OPEN)
    assert (selected.estimate.support == (1, 2)) == (error == 0.02)
