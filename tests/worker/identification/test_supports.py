"""Supports as subspaces, in exact arithmetic."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.identification.library import make_library
from worker.identification.supports import support_basis
from worker.identification.trajectories import Scales


def _scales(origin: float, unit: float) -> Scales:
    return Scales(
        origin, unit, (origin - unit, origin + unit), origin - unit, origin + unit, origin, unit / 2, 1.0, np.ones(1), 100.0
    )


@pytest.mark.parametrize("origin", [0.0, 0.25, 3.0, 1e3, 1e6])
@pytest.mark.parametrize("support", [s for k in (1, 2, 3) for s in combinations(range(5), k)])
def test_raw_coefficients_give_back_the_function(origin: float, support: tuple[int, ...]) -> None:
    library = make_library(_scales(origin, 0.5))
    basis = support_basis(library, support)
    values = np.arange(1.0, len(support) + 1)
    raw = basis.raw_coefficients(values)
    y = np.linspace(-1, 1, 5)
    internal = library.internal(y) @ (basis.rows.T @ values)
    x = origin + 0.5 * y
    direct = sum(c * x ** library.degrees[k] for c, k in zip(raw, support, strict=True))
    # The raw sum cancels by design: its own rounding, relative to its largest term, is all that may differ.
    largest = max(abs(c) * np.abs(x).max() ** library.degrees[k] for c, k in zip(raw, support, strict=True))
    np.testing.assert_allclose(direct, internal, atol=1e-14 * largest + 1e-12)


@given(st.floats(-1e6, 1e6).map(lambda v: round(v * 16) / 16), st.sampled_from([2.0**-20, 1.0, 48.0]))
@settings(max_examples=25, deadline=None)
def test_rows_stay_far_from_parallel_wherever_the_origin_is(origin: float, unit: float) -> None:
    library = make_library(_scales(origin, unit))
    for support in combinations(range(5), 3):
        rows = support_basis(library, support).rows
        singular = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True), compute_uv=False)
        assert singular[-1] > 1e-3
