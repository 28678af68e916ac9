"""Terms as functions of the state: values, derivatives, monomials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.identification.data.terms import (
    derivative,
    evaluate,
    monomial_exponents,
    parse,
)
from worker.identification.errors import UnknownTerm

X = np.linspace(0.2, 1.7, 7)
TERMS = [
    "x^3",
    "sin(2*x)",
    "x/(1+x^2)",
    "exp(-x)*cos(x)",
    "sqrt(1+x)",
    "log(x)",
    "tanh(3*x - 1)",
    "x^0.5",
    "2^x",
    "-x^2",
]


@pytest.mark.parametrize("text", TERMS)
def test_derivative_agrees_with_a_central_difference(text: str) -> None:
    tree, h = parse(text, ("x",)), 1e-5
    difference = (evaluate(tree, {"x": X + h}) - evaluate(tree, {"x": X - h})) / (2 * h)
    # The central difference is off by h²/6 times the third derivative, at most 10³ here, and
    # rounding/h.
    np.testing.assert_allclose(
        evaluate(derivative(tree, "x"), {"x": X}), difference, rtol=1e-7, atol=1e-7
    )


@given(st.text(max_size=30))
def test_no_text_does_more_than_parse_or_be_refused(text: str) -> None:
    try:
        tree = parse(text, ("x",))
    except UnknownTerm:
        return
    assert evaluate(tree, {"x": X}).shape == X.shape


def test_a_variable_that_the_state_does_not_have_is_refused() -> None:
    with pytest.raises(
        UnknownTerm, match="The term 'x\\*y' names 'y'; the variables here are x\\."
    ):
        parse("x*y", ("x",))


def test_monomials_are_recognised_however_they_are_written() -> None:
    assert {
        monomial_exponents(parse(t, ("x",)), ("x",)) for t in ("x*x^2", "x^3", "x**3", "x*x*x")
    } == {(3,)}
    assert monomial_exponents(parse("2*x", ("x",)), ("x",)) is None
