"""Supports as subspaces, in exact arithmetic."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.identification.data.library import make_library
from worker.identification.data.trajectories import Scales
from worker.identification.selection import supports
from worker.identification.selection.supports import Exact, support_basis


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


@pytest.mark.parametrize("origin", [0.0, 0.25, 3.0, 1e3, 1e6])
@pytest.mark.parametrize("support", [s for k in (1, 2, 3) for s in combinations(range(5), k)])
def test_raw_coefficients_give_back_the_function(origin: float, support: tuple[int, ...]) -> None:
    library = make_library((_scales(origin, 0.5),))
    basis = support_basis(library, support)
    values = np.arange(1.0, len(support) + 1)
    raw = basis.raw_coefficients(values)
    y = np.linspace(-1, 1, 5)
    internal = library.internal(y) @ (basis.rows.T @ values)
    x = origin + 0.5 * y
    direct = sum(c * x ** library.degrees[k] for c, k in zip(raw, support, strict=True))
    # The raw sum cancels by design: its own rounding, relative to its largest term, is all that may
    # differ.
    largest = max(
        abs(c) * np.abs(x).max() ** library.degrees[k] for c, k in zip(raw, support, strict=True)
    )
    np.testing.assert_allclose(direct, internal, atol=1e-14 * largest + 1e-12)


@given(
    st.floats(-1e6, 1e6).map(lambda v: round(v * 16) / 16), st.sampled_from([2.0**-20, 1.0, 48.0])
)
@settings(max_examples=25, deadline=None)
def test_rows_stay_far_from_parallel_wherever_the_origin_is(origin: float, unit: float) -> None:
    library = make_library((_scales(origin, unit),))
    for support in combinations(range(5), 3):
        rows = support_basis(library, support).rows
        singular = np.linalg.svd(
            rows / np.linalg.norm(rows, axis=1, keepdims=True), compute_uv=False
        )
        assert singular[-1] > 1e-3


def _solved(
    matrix: Sequence[Sequence[Fraction]], right: Sequence[Sequence[Fraction]]
) -> list[list[Fraction]]:
    """The matrix's inverse times the right-hand side, in rational numbers."""
    k = len(matrix)
    rows = [[*left, *more] for left, more in zip(matrix, right, strict=True)]
    for i in range(k):
        swap = next(r for r in range(i, k) if rows[r][i])
        rows[i], rows[swap] = rows[swap], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        rows = [
            row if r == i else [v - row[i] * p for v, p in zip(row, rows[i], strict=True)]
            for r, row in enumerate(rows)
        ]
    return [row[k:] for row in rows]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([9.0, -40.0, 1e3 + 1 / 3, 1e6, -1e9]), min_size=1, max_size=2),
    st.sampled_from([2.0**-20, 0.3, 48.0]),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_bases_are_those_of_rational_arithmetic(
    origins: list[float], unit: float, data: st.DataObject
) -> None:
    scales = [_scales(origin, unit) for origin in origins]
    degree = 6 if len(origins) == 1 else 3
    library = make_library(
        scales, polynomial_degree=degree, extra_terms=("x^8",), periods=(None,) * len(origins)
    )
    support = tuple(sorted(data.draw(st.sets(st.integers(0, library.size - 1), min_size=1))))
    k, basis = len(support), supports._reduced_basis(library, support)
    assert np.abs(basis.rows).max() <= 2
    pivots = [
        int(np.flatnonzero((basis.rows[i] == 1) & (np.abs(basis.rows).sum(axis=0) == 1))[0])
        for i in range(k)
    ]
    terms = [library.change_of_basis[term] for term in support]
    at_pivots = [[row[j] for j in pivots] for row in terms]
    exact = _solved(at_pivots, terms)
    # Entries of order one, rounded once.
    np.testing.assert_allclose(
        basis.rows, [[float(v) for v in row] for row in exact], rtol=0, atol=3e-16
    )
    transform = _solved(at_pivots, [[Fraction(int(i == j)) for j in range(k)] for i in range(k)])
    expected = np.array([[float(v) for v in row] for row in transform])
    assert isinstance(basis.transform, Exact)
    # What a coefficient is read off with: to the last bit of the largest in its column.
    np.testing.assert_array_less(
        np.abs(basis.transform.floats() - expected),
        4e-16 * np.abs(expected).max(axis=0) * np.ones((k, 1)),
    )


def test_with_the_bits_of_a_float_alone_a_basis_would_be_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library, support = make_library((_scales(1e3, 0.3),)), (2, 3, 4)
    right = supports._from_terms(library, support).rows
    supports._precise_terms.cache_clear()
    monkeypatch.setattr(supports, "SPARE_BITS", 53 - 2 * library.lost_bits)
    try:
        wrong = supports._from_terms(library, support).rows
    finally:
        supports._precise_terms.cache_clear()
    # Negative control of the law above: of x⁴ beside x² and x³ a part of 10⁻⁷ is left.
    assert np.abs(wrong - right).max() > 1e-11
