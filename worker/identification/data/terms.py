"""Terms of a library by their text: `x^3`, `sin(2*x)`, `x/(1+x^2)`. Parsed to a tree, never evaluated as code.

Grammar: numbers, variables, + − * / ^, parentheses, and the functions of `FUNCTIONS`.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from worker.identification.errors import UnknownTerm

Floats = NDArray[np.float64]
MAXIMUM_LENGTH = 200

FUNCTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "log": np.log,
}


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    argument: "Tree"


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: "Tree"
    right: "Tree"


Tree = Number | Variable | Call | Binary

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}


def parse(text: str, variables: tuple[str, ...]) -> Tree:
    """The tree of a term. Raises UnknownTerm, naming what is not understood."""
    if len(text) > MAXIMUM_LENGTH:
        raise UnknownTerm(
            f"A term of {len(text)} characters is too long; {MAXIMUM_LENGTH} are allowed. Split it into several terms."
        )
    try:
        expression = ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnknownTerm(f"The term {text!r} cannot be read. Write it like x^2, x*y, sin(2*x) or x/(1+x^2).") from error
    return _convert(expression, text, variables)


def _convert(node: ast.expr, text: str, variables: tuple[str, ...]) -> Tree:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value) if abs(value) < 1e300:
            return Number(float(value))
        case ast.Name(id=name) if name in variables:
            return Variable(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Binary("*", Number(-1.0), _convert(operand, text, variables))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return Binary(_OPERATORS[type(operator)], _convert(left, text, variables), _convert(right, text, variables))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return Call(name, _convert(argument, text, variables))
        case ast.Name(id=name):
            raise UnknownTerm(f"The term {text!r} names {name!r}; the variables here are {', '.join(variables)}.")
        case ast.Call(func=ast.Name(id=name)):
            raise UnknownTerm(f"The term {text!r} calls {name!r}; known functions: {', '.join(FUNCTIONS)}.")
    raise UnknownTerm(f"The term {text!r} is not in the grammar. Write it like x^2, x*y, sin(2*x) or x/(1+x^2).")


def evaluate(tree: Tree, values: Mapping[str, Floats]) -> Floats:
    """Value of a term at states; (n,) for values of shape (n,). Undefined operations give NaN."""
    with np.errstate(all="ignore"):
        return _evaluate(tree, values)


def _evaluate(tree: Tree, values: Mapping[str, Floats]) -> Floats:
    match tree:
        case Number(value):
            return np.full_like(next(iter(values.values())), value)
        case Variable(name):
            return values[name]
        case Call(function, argument):
            return FUNCTIONS[function](_evaluate(argument, values))
        case Binary("^", base, Number(exponent)) if exponent == int(exponent) and 0 <= exponent <= 64:
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
    """∂(term)/∂(variable), unsimplified."""
    match tree:
        case Number():
            return Number(0.0)
        case Variable(name):
            return Number(1.0 if name == variable else 0.0)
        case Call(function, argument):
            return Binary("*", _outer_derivative(function, argument), derivative(argument, variable))
        case Binary("+" | "-" as operator, left, right):
            return Binary(operator, derivative(left, variable), derivative(right, variable))
        case Binary("*", left, right):
            return Binary("+", Binary("*", derivative(left, variable), right), Binary("*", left, derivative(right, variable)))
        case Binary("/", left, right):
            top = Binary("-", Binary("*", derivative(left, variable), right), Binary("*", left, derivative(right, variable)))
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
    """Exponent of each variable where the tree is a plain monomial with coefficient one, else None."""
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
    """`1`, `x`, `x^2*y`: the way monomials are written everywhere."""
    factors = [v if e == 1 else f"{v}^{e}" for v, e in zip(variables, exponents, strict=True) if e]
    return reduce(lambda a, b: f"{a}*{b}", factors) if factors else "1"
