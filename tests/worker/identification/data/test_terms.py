"""The grammar of terms: what it understands, what it refuses, and its derivatives."""

import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contract.terms import checked_term, variables_of
from worker.identification.data.terms import (
    derivative,
    evaluate,
    monomial_exponents,
    parse,
)
from worker.identification.errors import UnknownTerm

X = np.linspace(0.2, 1.7, 7)
TERMS = ["x^3", "sin(2*x)", "x/(1+x^2)", "exp(-x)*cos(x)", "sqrt(1+x)", "log(x)", "tanh(3*x - 1)", "x^0.5", "2^x", "-x^2"]


@pytest.mark.parametrize("text", TERMS)
def test_derivative_agrees_with_a_central_difference(text: str) -> None:
    tree, h = parse(text, ("x",)), 1e-5
    difference = (evaluate(tree, {"x": X + h}) - evaluate(tree, {"x": X - h})) / (2 * h)
    # The central difference is off by h²/6 times the third derivative, at most 10³ here, and rounding/h.
    np.testing.assert_allclose(evaluate(derivative(tree, "x"), {"x": X}), difference, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "x.real",
        "x[0]",
        "lambda: 1",
        "open(x)",
        "y",
        "x if x else 1",
        "'x'",
        "f(x)",
        "x, x",
        "",
        "(" * 150,
        "x" * 201,
        "True",
        "x**x.y",
        "sin(x, x)",
        "sin(x=1)",
        "1e999",
        "x;x",
    ],
)
def test_anything_outside_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(UnknownTerm):
        parse(text, ("x",))


@given(st.text(max_size=30))
def test_no_text_does_more_than_parse_or_be_refused(text: str) -> None:
    try:
        tree = parse(text, ("x",))
    except UnknownTerm:
        return
    assert evaluate(tree, {"x": X}).shape == X.shape


GRAMMAR = st.lists(
    st.sampled_from([*"xyz0129+-*/^(). ", "x4", "x3", "sin(", "log(", "exp(x)", "2.5", "1e9", "f(", "**", ",", "True", "é"]),
    max_size=12,
).map("".join)
VARIABLES = ("x", "y", "z", *(f"x{k}" for k in range(4, 1000)))


@given(st.one_of(GRAMMAR, st.text(max_size=12), st.sampled_from(TERMS)))
def test_what_the_door_lets_in_the_parser_understands_and_nothing_else(text: str) -> None:
    assume(text and not re.search(r"x\d{4}", text))  # more variables than there ever are
    try:
        tree = parse(text, VARIABLES)
    except UnknownTerm:
        with pytest.raises(ValueError, match="term"):
            checked_term(text)
        return
    assert checked_term(text) == text
    assert evaluate(tree, dict.fromkeys(VARIABLES, X)).shape == X.shape


@pytest.mark.parametrize(("text", "position"), [("x^^2", 3), ("x + + )", 7), ("sin(2*x", 4)])
def test_a_term_that_cannot_be_read_says_where(text: str, position: int) -> None:
    with pytest.raises(ValueError, match=f"at position {position} of"):
        checked_term(text)


def test_monomials_are_recognised_however_they_are_written() -> None:
    assert {monomial_exponents(parse(t, ("x",)), ("x",)) for t in ("x*x^2", "x^3", "x**3", "x*x*x")} == {(3,)}
    assert monomial_exponents(parse("2*x", ("x",)), ("x",)) is None


def test_functions_are_no_variables() -> None:
    assert variables_of("sin(2*x)/(1+y^2)") == {"x", "y"}
