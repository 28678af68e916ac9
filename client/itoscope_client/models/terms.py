"""Terms by their text, `x^3`, `sin(2*x)`, `x/(1+x^2)`: parsed to a tree and evaluated on arrays, never run as code.

Grammar, as everywhere (highest first): numbers, variables, f(·), parentheses; ^ or **, from right to left; sign; * /; + −.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
"""Real or complex."""

FUNCTIONS: Mapping[str, Callable[[Values], Values]] = {
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "tanh": np.tanh, "sqrt": np.sqrt, "log": np.log,
}  # fmt: skip
LONGEST = 200
_DEEPEST = 60
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/^()]))", re.ASCII)
_INTEGER_POWERS = range(65)
_OPERATORS: Mapping[str, Callable[[Values, Values], Values]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power,
}  # fmt: skip


class UnknownTerm(ValueError):
    """The text is not in the grammar."""


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


@lru_cache(maxsize=4096)
def parse(text: str) -> Tree:
    """The tree of a term. Raises UnknownTerm with what is not understood."""
    if len(text) > LONGEST:
        raise UnknownTerm(f"a term of {len(text)} characters is too long; {LONGEST} are allowed")
    parser = _Parser(text)
    tree = parser.sum(0)
    parser.end()
    return tree


def function_of(tree: Tree) -> Callable[[Mapping[str, Values]], Values]:
    """A term as a function of states, arrays of one shape by variable; undefined operations give NaN or infinity, with NumPy's
    warnings."""
    match tree:
        case Number(value):
            return lambda values: np.full_like(next(iter(values.values())), value)
        case Variable(name):
            return lambda values: values[name]
        case Call(name, argument):
            outer, inner = FUNCTIONS[name], function_of(argument)
            return lambda values: outer(inner(values))
        case Binary("^", base, Number(exponent)) if exponent in _INTEGER_POWERS:
            below, power = function_of(base), int(exponent)
            # Two multiplications are a tenth of a power.
            if power == 3:
                return lambda values: (x := below(values)) * x * x
            return lambda values: np.asarray(below(values) ** power)
        case Binary("*", Number(value), other):
            scaled = function_of(other)
            return lambda values: value * scaled(values)
        case Binary(operator, left, right):
            combine, a, b = _OPERATORS[operator], function_of(left), function_of(right)
            return lambda values: combine(a(values), b(values))


def variables_of(tree: Tree) -> frozenset[str]:
    """The variables that a term names."""
    match tree:
        case Number():
            return frozenset()
        case Variable(name):
            return frozenset({name})
        case Call(_, argument):
            return variables_of(argument)
        case Binary(_, left, right):
            return variables_of(left) | variables_of(right)


class _Parser:
    """Recursive descent; one method for each level of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise UnknownTerm(f"the term {text!r} has an unknown sign {text[at:].strip()[0]!r}")
            self._tokens.append("^" if match[3] == "**" else match[0].strip())
            at = match.end()
        self._tokens.reverse()

    def sum(self, depth: int) -> Tree:
        tree = self._product(depth)
        while self._next in ("+", "-"):
            tree = Binary(self._tokens.pop(), tree, self._product(depth))
        return tree

    def end(self) -> None:
        if self._tokens:
            raise UnknownTerm(f"the term {self._text!r} goes on with {self._next!r} where it should end")

    def _product(self, depth: int) -> Tree:
        tree = self._signed(depth)
        while self._next in ("*", "/"):
            tree = Binary(self._tokens.pop(), tree, self._signed(depth))
        return tree

    def _signed(self, depth: int) -> Tree:
        self._check(depth)
        if self._next == "-":
            self._tokens.pop()
            return Binary("*", Number(-1.0), self._signed(depth + 1))
        return self._power(depth)

    def _power(self, depth: int) -> Tree:
        base = self._atom(depth)
        if self._next != "^":
            return base
        self._tokens.pop()
        return Binary("^", base, self._signed(depth + 1))

    def _atom(self, depth: int) -> Tree:
        self._check(depth)
        token = self._next
        if not token or token in "+-*/^)":
            raise UnknownTerm(f"the term {self._text!r} misses something {f'before {token!r}' if token else 'at its end'}")
        self._tokens.pop()
        if token == "(":
            tree = self.sum(depth + 1)
            self._close()
            return tree
        if not (token[0].isalpha() or token[0] == "_"):
            return Number(float(token))
        if self._next != "(":
            return Variable(token)
        if token not in FUNCTIONS:
            raise UnknownTerm(f"the term {self._text!r} calls {token!r}; known functions: {', '.join(FUNCTIONS)}")
        self._tokens.pop()
        argument = self.sum(depth + 1)
        self._close()
        return Call(token, argument)

    @property
    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _close(self) -> None:
        if self._next != ")":
            raise UnknownTerm(f"the term {self._text!r} misses a closing parenthesis")
        self._tokens.pop()

    def _check(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise UnknownTerm(f"the term {self._text!r} is nested too deeply")
