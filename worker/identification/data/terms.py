"""Terms of a library as functions of the state: values, derivatives, and which are monomials."""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from grammar import terms
from grammar.terms import FUNCTIONS, Binary, Call, Number, Tree, Variable
from worker.identification.errors import UnknownTerm

Floats = NDArray[np.float64]

_FUNCTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    name: getattr(np, name) for name in FUNCTIONS
}


def parse(text: str, variables: tuple[str, ...]) -> Tree:
    """Parse the text of a term. Raise UnknownTerm, naming what is not understood."""
    try:
        return terms.parse(text, variables)
    except terms.NotATerm as error:
        raise UnknownTerm(str(error)) from error


def evaluate(tree: Tree, values: Mapping[str, Floats]) -> Floats:
    """Evaluate a term at states of shape (n,); undefined operations give NaN."""
    with np.errstate(all="ignore"):
        return _evaluate(tree, values)


def _evaluate(tree: Tree, values: Mapping[str, Floats]) -> Floats:
    match tree:
        case Number(value):
            return np.full_like(next(iter(values.values())), value)
        case Variable(name):
            return values[name]
        case Call(function, argument):
            return _FUNCTIONS[function](_evaluate(argument, values))
        case Binary("^", base, Number(exponent)) if (
            exponent == int(exponent) and 0 <= exponent <= 64
        ):
            return np.asarray(_evaluate(base, values) ** int(exponent), dtype=np.float64)
        case Binary(operator, left, right):
            a, b = _evaluate(left, values), _evaluate(right, values)
            if operator == "+":
                return a + b
            if operator == "-":
                return a - b
            if operator == "*":
                return a * b
            return a / b if operator == "/" else np.asarray(a**b, dtype=np.float64)


def derivative(tree: Tree, variable: str) -> Tree:
    """Differentiate a term with respect to a variable, without simplifying."""
    match tree:
        case Number():
            return Number(0.0)
        case Variable(name):
            return Number(1.0 if name == variable else 0.0)
        case Call(function, argument):
            return Binary(
                "*", _outer_derivative(function, argument), derivative(argument, variable)
            )
        case Binary("+" | "-" as operator, left, right):
            return Binary(operator, derivative(left, variable), derivative(right, variable))
        case Binary("*", left, right):
            return Binary(
                "+",
                Binary("*", derivative(left, variable), right),
                Binary("*", left, derivative(right, variable)),
            )
        case Binary("/", left, right):
            top = Binary(
                "-",
                Binary("*", derivative(left, variable), right),
                Binary("*", left, derivative(right, variable)),
            )
            return Binary("/", top, Binary("^", right, Number(2.0)))
        case Binary("^", base, Number(exponent)):
            if exponent == 0:
                return Number(0.0)
            outer = Binary("*", Number(exponent), Binary("^", base, Number(exponent - 1)))
            return Binary("*", outer, derivative(base, variable))
        case Binary(_, base, exponent):
            inner = Binary(
                "+",
                Binary("*", derivative(exponent, variable), Call("log", base)),
                Binary("/", Binary("*", exponent, derivative(base, variable)), base),
            )
            return Binary("*", Binary("^", base, exponent), inner)


def _outer_derivative(function: str, argument: Tree) -> Tree:
    match function:
        case "sin":
            return Call("cos", argument)
        case "cos":
            return Binary("*", Number(-1.0), Call("sin", argument))
        case "exp":
            return Call("exp", argument)
        case "tanh":
            return Binary("-", Number(1.0), Binary("^", Call("tanh", argument), Number(2.0)))
        case "sqrt":
            return Binary("/", Number(0.5), Call("sqrt", argument))
        case _:
            return Binary("/", Number(1.0), argument)


def monomial_exponents(tree: Tree, variables: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the exponents where the tree is a monomial with coefficient one, else None."""
    match tree:
        case Number(1.0):
            return (0,) * len(variables)
        case Variable(name):
            return tuple(int(name == v) for v in variables)
        case Binary("^", base, Number(exponent)) if exponent == int(exponent) and exponent >= 0:
            inner = monomial_exponents(base, variables)
            return None if inner is None else tuple(int(exponent) * e for e in inner)
        case Binary("*", left, right):
            both = monomial_exponents(left, variables), monomial_exponents(right, variables)
            if both[0] is None or both[1] is None:
                return None
            return tuple(a + b for a, b in zip(both[0], both[1], strict=True))
    return None


def monomial_name(exponents: tuple[int, ...], variables: tuple[str, ...]) -> str:
    """Write a monomial the way it is reported: `1`, `x`, `x^2*y`."""
    factors = [v if e == 1 else f"{v}^{e}" for v, e in zip(variables, exponents, strict=True) if e]
    return reduce(lambda a, b: f"{a}*{b}", factors) if factors else "1"
