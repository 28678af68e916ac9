"""The grammar of terms: what it understands, and what it refuses and where."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contract.base import checked_term
from grammar.terms import (
    FUNCTIONS,
    Binary,
    NotATerm,
    Number,
    as_factor,
    parse,
    variable_name,
    variables_of,
)

ROOT = Path(__file__).resolve().parents[2]
TEXTS = st.lists(
    st.sampled_from(
        [
            *"xyz0129+-*/^(). ",
            "x4",
            "x3",
            "sin(",
            "log(",
            "exp(x)",
            "2.5",
            "1e9",
            "f(",
            "**",
            ",",
            "True",
            "é",
        ]
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    "original", ["grammar/terms.py", "grammar/spelling.py", "service/responses/sampling.py"]
)
def test_the_client_holds_the_same_file(original: str) -> None:
    copy = ROOT / "client" / "itoscope_client" / "models" / Path(original).name
    assert copy.read_bytes() == (ROOT / original).read_bytes()


def test_variables_are_counted_from_the_fourth_on() -> None:
    assert [variable_name(i) for i in range(5)] == ["x", "y", "z", "x4", "x5"]


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
        "x +",
        "(x",
        "x)",
        "2 x",
        "x$",
        "x*２",
        "0b1*x",
        "0x1f*x",
        "1_000*x",
        "2j*x",
    ],
)
def test_anything_outside_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(NotATerm):
        parse(text, ("x",))


@given(st.one_of(TEXTS, st.text(max_size=30)))
def test_the_door_lets_in_what_is_a_term_of_some_variables_and_nothing_else(text: str) -> None:
    assume(text)
    try:
        tree = parse(text)
    except NotATerm:
        with pytest.raises(ValueError, match="term"):
            checked_term(text)
        return
    assert checked_term(text) == text
    variables = tuple(variables_of(tree))
    assert parse(text, variables) == tree
    assert not set(variables) & {"pi", *FUNCTIONS}
    for missing in variables:
        with pytest.raises(NotATerm, match="names"):
            parse(text, tuple(name for name in variables if name != missing))


def test_pi_is_a_number() -> None:
    assert parse("2*pi") == Binary("*", Number(2.0), Number(math.pi))


@pytest.mark.parametrize(("text", "position"), [("x^^2", 3), ("x + + )", 7), ("sin(2*x", 4)])
def test_a_term_that_cannot_be_read_says_where(text: str, position: int) -> None:
    with pytest.raises(ValueError, match=f"at position {position} of"):
        checked_term(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x*sin", "names the function sin without its argument"),
        ("f(x)", "calls 'f'; known functions: sin, cos, exp, tanh, sqrt, log"),
        ("x > 1", "is not in the grammar. Write it like"),
        ("0b1*x", "holds '0b1'; numbers are written like 2, 0.5 or 1e-3"),
        ("x" * 201, "of 201 characters is too long; 200 are allowed"),
    ],
)
def test_a_fault_is_named(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^the term {re.escape(fault)}"):
        checked_term(text)


def test_a_term_knows_its_variables() -> None:
    assert variables_of(parse("sin(2*x)/x4 + 1")) == {"x", "x4"}


@pytest.mark.parametrize(
    ("term", "factor"),
    [
        ("x^3", "x^3"),
        ("x*y/2", "x*y/2"),
        ("sin(x - y)", "sin(x - y)"),
        ("(x - y)*2", "(x - y)*2"),
        ("x - y", "(x - y)"),
        ("-x", "(-x)"),
        ("-x*y", "(-x*y)"),
        ("(x - y)", "((x - y))"),
    ],
)
def test_a_sum_stands_in_parentheses_where_it_is_a_factor(term: str, factor: str) -> None:
    assert as_factor(term) == factor
