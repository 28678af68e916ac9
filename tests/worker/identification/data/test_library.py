"""Libraries of several variables: which terms, and the exact change to the internal basis."""

import numpy as np
import pytest

from worker.identification.data.library import check_library_size, make_library
from worker.identification.data.terms import MOST_TERMS, candidate_terms, evaluate
from worker.identification.data.trajectories import Scales
from worker.identification.errors import InvalidLibrary, TooFewSamples
from worker.identification.selection.supports import support_basis


def _scales(origin: float, unit: float) -> Scales:
    return Scales(
        origin,
        unit,
        (origin - unit, origin + unit),
        origin - unit,
        origin + unit,
        origin,
        unit / 2,
        1.0,
        np.ones(1),
        100.0,
    )


def test_polynomials_go_to_a_total_degree_with_interactions() -> None:
    names = candidate_terms(("x", "y"), (False, False), 3, 0)
    assert names == ["1", "x", "y", "x^2", "x*y", "y^2", "x^3", "x^2*y", "x*y^2", "y^3"]


def test_angles_have_harmonics_and_products_of_them() -> None:
    names = candidate_terms(("x", "y"), (True, False), 2, 1)
    assert names == ["1", "sin(x)", "cos(x)", "y", "y*sin(x)", "y*cos(x)", "y^2"]


def test_a_library_too_large_to_judge_is_refused_before_it_is_made() -> None:
    with pytest.raises(InvalidLibrary, match=f"maximum is {MOST_TERMS}") as refused:
        candidate_terms(tuple(f"x{k}" for k in range(64)), (False,) * 64, 10, 0)
    assert "polynomial_degree" in refused.value.hints[0]


def test_more_terms_than_the_data_can_judge_are_refused() -> None:
    library = make_library((_scales(0, 1), _scales(0, 1)), periods=(None, None))
    with pytest.raises(TooFewSamples, match="15 terms"):
        check_library_size(library, 149)
    check_library_size(library, 150)


def test_a_power_of_an_angle_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidLibrary, match="y is periodic"):
        make_library(
            (_scales(0, 1), _scales(0, np.pi)), periods=(None, 2 * np.pi), extra_terms=("x*y^2",)
        )


@pytest.mark.parametrize("origins", [(0.0, 0.0), (0.25, -3.0), (1e4, 0.0)])
def test_terms_are_their_internal_functions(origins: tuple[float, float]) -> None:
    units = 0.5, 2.0
    scales = tuple(_scales(o, u) for o, u in zip(origins, units, strict=True))
    library = make_library(
        scales, periods=(None, None), polynomial_degree=4, extra_terms=("x/(1+y^2)", "x^2*y^3")
    )
    y = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    x = np.array(origins) + y * units
    matrix = np.array([[float(v) for v in row] for row in library.change_of_basis])
    through = library.internal(y) @ matrix.T
    direct = np.stack(
        [evaluate(tree, {"x": x[:, 0], "y": x[:, 1]}) for tree in library.trees], axis=1
    )
    np.testing.assert_allclose(
        through, direct, rtol=1e-11, atol=1e-11 * np.abs(direct).max(axis=0).min()
    )


@pytest.mark.parametrize("origin", [0.0, 1.5, 1e5])
def test_raw_coefficients_give_back_the_function_near_the_origin_and_far(origin: float) -> None:
    library = make_library(
        (_scales(origin, 1.0), _scales(0.0, 1.0)), periods=(None, None), polynomial_degree=3
    )
    assert library.near_origin == (origin < 10)
    support = (0, 1, 4, 7)
    basis = support_basis(library, support)
    values = np.arange(1.0, 5.0)
    y = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    x = {"x": origin + y[:, 0], "y": y[:, 1]}
    parts = [
        c * evaluate(library.trees[k], x)
        for c, k in zip(basis.raw_coefficients(values), support, strict=True)
    ]
    # Far from the origin the raw sum cancels by design: its own rounding, relative to its largest
    # term, is all that may differ.
    largest = max(np.abs(p).max() for p in parts)
    np.testing.assert_allclose(
        sum(parts), library.internal(y) @ (basis.rows.T @ values), atol=1e-14 * largest + 1e-11
    )
