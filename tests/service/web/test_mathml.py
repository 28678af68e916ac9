"""Equations: every term that the contract allows is typeset, and nothing that is not a term becomes
markup."""

import re
from xml.etree import ElementTree

import pytest

from contract.base import checked_term
from contract.results import Component, Term
from service.web import mathml


def text_of(markup: str) -> str:
    return "".join(
        ElementTree.fromstring(re.sub(r"&(?!amp;|lt;|gt;|quot;|#)", "&amp;", markup)).itertext()
    )


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("x^3", "x3"),
        ("x*y", "xy"),
        ("x4^2", "x42"),
        ("sin(2*x)", "sin\u2061(2x)"),
        ("x/(1+x^2)", "x1+x2"),
        ("exp(-x)", "e−x"),
        ("sqrt(x)*log(y)", "xlog\u2061(y)"),
        ("(1+x)*y", "(1+x)y"),
        ("x-(y-z)", "x−(y−z)"),
        ("0.5*x", "0.5x"),
        ("-x^2", "−x2"),
        ("(-x)^2", "(−x)2"),
        ("(x^2)^3", "(x2)3"),
        ("(x+y)^2", "(x+y)2"),
        ("sin(x)^2", "sin\u2061(x)2"),
        ("exp(x)^2", "(ex)2"),
        ("x*-y", "x(−y)"),
        ("x - -y", "x−(−y)"),
        ("-x*y", "−xy"),
    ],
)
def test_a_term_is_typeset(term: str, text: str) -> None:
    assert text_of(mathml.term(checked_term(term))) == text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "x<y",
        "'\"><img>",
        "a" * 300,
        "f(x)(y)",
        "__import__('os')",
        "(((((",
    ],
)
def test_what_is_no_term_stays_text(text: str) -> None:
    assert "<script" not in mathml.term(text)
    assert "<img" not in mathml.term(text)
    ElementTree.fromstring(mathml.term(text))


def component(*terms: Term) -> Component:
    return Component(expression="", terms=terms)


def test_a_drift_shows_its_active_terms_with_errors_and_signs() -> None:
    made = mathml.drift_equation(
        "x",
        component(
            Term(term="1", value=0.0, active=False),
            Term(term="x", value=0.87488, active=True, std_error=0.0919),
            Term(term="x^3", value=-0.92129, active=True, std_error=0.0762),
        ),
        alone=True,
    )
    assert text_of(made.left) == "b(x)="
    assert [text_of(t) for t in made.terms] == ["(0.875±0.092)x", "−(0.921±0.076)x3"]


def test_a_sum_that_is_one_term_stands_in_brackets() -> None:
    terms = (Term(term="x-y", value=2.0, active=True), Term(term="-x", value=-3.0, active=True))
    equation = mathml.drift_equation("x", Component(expression="", terms=terms), alone=False)
    assert "".join(map(text_of, equation.terms)) == "2.000(x−y)−3.000(−x)"


def test_a_single_constant_needs_no_brackets_and_no_drift_is_zero() -> None:
    constant = component(Term(term="1", value=0.2577, active=True, std_error=0.0046))
    assert [text_of(t) for t in mathml.diffusion_equation("x,x", constant, where=("x",)).terms] == [
        "0.2577±0.0046"
    ]
    nothing = mathml.drift_equation(
        "y", component(Term(term="1", value=0.0, active=False)), alone=False
    )
    assert (text_of(nothing.left), [text_of(t) for t in nothing.terms]) == ("by=", ["0"])
