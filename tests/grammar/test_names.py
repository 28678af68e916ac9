"""Symbols made from the names of columns, and terms and sentences written with them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar.names import LONGEST_SYMBOL, symbols_of
from grammar.spelling import harmonics_in_values, in_phases, in_symbols, in_values, renamed
from grammar.terms import FUNCTIONS, Binary, Call, Number, Tree, Variable, parse, variable_name


@pytest.mark.parametrize(
    ("names", "symbols"),
    [
        (["Position"], ("Position",)),
        (["S&P 500"], ("S_P_500",)),
        (["500 Hz"], ("c500_Hz",)),
        (["φ", "Größe"], ("φ", "Größe")),
        (["x₁", "µ"], ("x1", "μ")),
        ([None, "%"], ("x", "y")),
        (["sin", "pi", "lambda"], ("sin_", "pi_", "lambda_")),
        (["v", "v"], ("v", "v_")),
        (["v", "x"], ("v", "x_")),
        (["x", "v"], ("x", "v")),
        (["y"], ("y",)),
        (["temperature of the second bath"], ("temperature_of_the_secon",)),
    ],
)
def test_a_symbol_is_made_from_the_columns_name(
    names: list[str | None], symbols: tuple[str, ...]
) -> None:
    assert symbols_of(names) == symbols


@given(st.lists(st.one_of(st.none(), st.text(max_size=40)), min_size=1, max_size=8))
def test_every_symbol_is_a_variable_of_the_grammar_and_means_one(names: list[str | None]) -> None:
    symbols = symbols_of(names)
    assert len(set(symbols)) == len(names)
    for i, symbol in enumerate(symbols):
        assert parse(f"{symbol}^2*{symbol}", symbols)
        assert len(symbol.rstrip("_")) <= LONGEST_SYMBOL + 1
        others = {variable_name(j) for j in range(len(names)) if j != i}
        assert symbol not in others
        back = renamed(renamed("x*x4+y", {variable_name(i): symbol}), {symbol: variable_name(i)})
        assert back == "x*x4+y"


def test_symbols_are_made_once() -> None:
    once = symbols_of(["Position", "x", "S&P 500", "x"])
    assert symbols_of(once) == once


def test_names_are_replaced_as_whole_words_and_all_at_once() -> None:
    said = "The well at x = 0.5 (x → −∞), |x|^3, sin(2*x), x_a, max, 1e5*x*y, exp(y), x."
    assert renamed(said, {"x": "y", "y": "x"}) == (
        "The well at y = 0.5 (y → −∞), |y|^3, sin(2*y), x_a, max, 1e5*y*x, exp(x), y."
    )
    assert renamed("sin(x)", {"sin": "cos"}) == "sin(x)"


def value_of(tree: Tree, at: dict[str, float]) -> float:
    match tree:
        case Number(value):
            return value
        case Variable(name):
            return at[name]
        case Call(function, argument):
            return float(getattr(np, function)(value_of(argument, at)))
        case Binary(operator, left, right):
            a, b = value_of(left, at), value_of(right, at)
            return {
                "+": a + b, "-": a - b, "*": a * b, "/": a / b if b else math.nan,
            }.get(operator, a**b if operator == "^" else math.nan)  # fmt: skip
    raise AssertionError(tree)


TERMS = ["sin(x)", "cos(3*x)", "sin(2*x)^2*y", "exp(cos(x))", "sin(x)*cos(2*x)", "cos(x-1)*y^2"]
PERIODS = [360.0, 1.0, 24.0, 2 * math.pi, 6.2832, 4 * math.pi, 0.5]


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("period", PERIODS)
def test_in_values_a_term_is_the_function_of_the_phase(term: str, period: float) -> None:
    written, periods = in_values(term, {"x": period}), {"x": period}
    assert in_values(written, periods) == written
    for x, y in ((0.3 * period, 1.5), (-1.2 * period, -0.7)):
        phase = {"x": 2 * math.pi * x / period, "y": y}
        expected = value_of(parse(term), phase)
        assert value_of(parse(written), {"x": x, "y": y}) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("term", ["sin(x)", "cos(3*x)", "sin(2*x)^2*y", "exp(cos(x))"])
def test_in_phases_undoes_it(term: str, period: float) -> None:
    assert in_phases(in_values(term, {"x": period}), {"x": period}) == term


def test_an_angle_in_degrees_is_written_so() -> None:
    assert in_values("cos(x)", {"x": 360.0}) == "cos(2*pi*x/360)"
    assert harmonics_in_values("Choose sin(2*x) or x.", {"x": 360.0}) == (
        "Choose sin(4*pi*x/360) or x."
    )


@pytest.mark.parametrize("term", ["sin(pi*x/360)", "exp(pi*x)", "sin(2*pi*x/7)", "cos(0*pi*x/360)"])
def test_a_term_that_is_none_on_the_circle_is_refused(term: str) -> None:
    with pytest.raises(ValueError, match="not a function on the circle of x, whose period is 360"):
        in_phases(term, {"x": 360.0})


def test_without_an_angle_pi_is_a_number() -> None:
    assert in_phases("sin(2*pi*x/360)", {}) == "sin(2*pi*x/360)"
    assert in_phases("sin(2*pi*y)*cos(x)", {"x": 2 * math.pi}) == "sin(2*pi*y)*cos(x)"


def test_a_document_is_written_in_symbols() -> None:
    document = {
        "data": {"variables": [{"name": "x", "symbol": "φ", "column": "φ (deg)"}]},
        "model": {
            "drift": {"x": {"terms": [{"term": "sin(x)", "value": 1.0}]}},
            "diffusion": {"x,x": {"terms": [{"term": "1", "value": 2.0}]}},
            "symbols": {"x": "φ"},
            "periodic": {"x": 360.0},
        },
        "selection": {"drift": {"x": {"path": [{"support": ["1", "cos(2*x)"]}]}}},
        "curves": {"grid": [0.0, 1.0]},
    }
    found = in_symbols(document)
    assert found["model"]["drift"] == {"φ": {"terms": [{"term": "sin(2*pi*φ/360)", "value": 1.0}]}}
    assert list(found["model"]["diffusion"]) == ["φ,φ"]
    assert found["model"]["periodic"] == {"φ": 360.0}
    assert found["selection"]["drift"]["φ"]["path"] == [{"support": ["1", "cos(4*pi*φ/360)"]}]
    assert found["data"]["variables"][0]["name"] == "φ"
    assert found["curves"] == document["curves"]
    assert in_symbols(found) == found


def test_functions_are_never_symbols() -> None:
    assert not set(symbols_of([*FUNCTIONS, "pi"])) & {*FUNCTIONS, "pi"}
