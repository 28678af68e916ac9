"""A symbolic model of several variables as functions of the state."""

import numpy as np
import pytest

from worker.identification.data.library import make_library
from worker.identification.data.trajectories import Scales
from worker.identification.errors import InvalidLibrary
from worker.identification.symbolic_system import (
    Fields,
    SymbolicSystem,
    field_from_internal,
    field_from_terms,
)

VARIABLES, PERIODS = ("x", "y", "z"), (None, None, 360.0)


def _system() -> SymbolicSystem:
    def field(**terms: float):
        return field_from_terms(
            {k.replace("_", "*"): v for k, v in terms.items()}, VARIABLES, PERIODS
        )

    b = tuple(
        field_from_terms(terms, VARIABLES, PERIODS)
        for terms in (
            {"x": 1, "x^3": -1, "x*y^2": 0.5},
            {"x/(1+y^2)": 2.0, "1": 1},
            {"sin(z)*x": 3.0, "cos(2*z)": 1},
        )
    )
    a = {(0, 0): field_from_terms({"1": 1, "x^2": 0.5}, VARIABLES, PERIODS), (0, 1): field(x_y=0.1)}
    zero = field()
    rows = tuple(tuple(a.get((min(p, q), max(p, q)), zero) for q in range(3)) for p in range(3))
    return SymbolicSystem(b, rows, ((-np.inf, np.inf),) * 3, PERIODS)


def test_the_jacobian_is_the_drifts_derivative() -> None:
    system = _system()
    x = np.random.default_rng(0).uniform(-1, 1, (6, 3)) * [1.5, 2.0, 170.0]
    jacobian = system.drift_jacobian(x)
    for i, step in enumerate((1e-5, 1e-5, 1e-3)):
        shift = np.eye(3)[i] * step
        np.testing.assert_allclose(
            jacobian[:, :, i],
            (system.drift(x + shift) - system.drift(x - shift)) / (2 * step),
            atol=1e-7,
            rtol=1e-6,
        )


def test_the_tensor_is_symmetric_and_an_angle_is_a_phase() -> None:
    system = _system()
    x = np.array([[0.5, -2.0, 90.0]])
    np.testing.assert_allclose(
        system.drift(x)[0], [0.5 - 0.125 + 1.0, 0.2 + 1, 1.5 - 1], atol=1e-12
    )
    a = system.diffusion(x)[0]
    np.testing.assert_array_equal(a, a.T)
    assert a[0, 1] == pytest.approx(-0.1)


def test_internal_coefficients_give_the_same_function_in_the_datas_units() -> None:
    scales = tuple(
        Scales(o, u, (o - u, o + u), o - u, o + u, o, u / 2, 1.0, np.ones(1), 9.0)
        for o, u in ((2.0, 0.5), (-1.0, 4.0))
    )
    library = make_library(
        scales, periods=(None, None), polynomial_degree=4, extra_terms=("sin(x*y)",)
    )
    coefficients = np.random.default_rng(1).standard_normal(library.internal_size)
    y = np.random.default_rng(2).uniform(-1, 1, (7, 2))
    x = y * [0.5, 4.0] + [2.0, -1.0]
    np.testing.assert_allclose(
        field_from_internal(library, coefficients, 3.0)(x),
        3 * library.internal(y) @ coefficients,
        atol=1e-12,
    )


def test_a_power_of_an_angle_is_refused() -> None:
    with pytest.raises(InvalidLibrary, match="z is periodic"):
        field_from_terms({"x*z": 1.0}, VARIABLES, PERIODS)


def test_fields_evaluated_together_are_the_sums_of_their_monomials() -> None:
    """Also over more states than one batch, and where a monomial that a field lacks overflows."""
    fields = Fields(
        tuple(
            field_from_terms(t, VARIABLES[:2], (None, None))
            for t in ({"x": 2, "x^3*y^2": -1}, {"y": 1}, {})
        )
    )
    x = np.random.default_rng(3).uniform(-2, 2, (201, 2))
    expected = np.column_stack([2 * x[:, 0] - x[:, 0] ** 3 * x[:, 1] ** 2, x[:, 1], np.zeros(201)])
    np.testing.assert_allclose(fields(x), expected, rtol=1e-13, atol=1e-13)
    far = fields(np.array([[1e150, 3.0]]))
    assert far[0, 0] == -np.inf
    assert far[0, 1:].tolist() == [3.0, 0.0]
