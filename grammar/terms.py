"""The grammar of a model's terms, `x^3`, `sin(2*x)`, `x/(1+x^2)`: a text becomes a tree.

A term is made of numbers, pi, variables, + − * / ^, parentheses, and the functions of `FUNCTIONS`.
The client is a distribution of its own and holds a copy of this file; a test holds both equal.
"""

import ast
import math
import re
from dataclasses import dataclass
from functools import lru_cache

FUNCTIONS = ("sin", "cos", "exp", "tanh", "sqrt", "log")
PI = "pi"
"""The word for π; no variable has this name, nor that of a function."""
LONGEST = 200
"""Number of characters of the longest term."""

_FIRST_VARIABLES = ("x", "y", "z")
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}
_LARGEST = 1e300
_EXAMPLES = "Write it like x^2, x*y, sin(2*x) or x/(1+x^2)."


class NotATerm(ValueError):
    """Error for a text that is not in the grammar; `fault` is the message without the text."""

    def __init__(self, text: str, fault: str) -> None:
        super().__init__(f"The term {text!r} {fault}{'' if fault[-1] in '.…' else '.'}")
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Number:
    """A constant of a term."""

    value: float


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a term, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `FUNCTIONS` applied to one argument."""

    function: str
    argument: "Tree"


@dataclass(frozen=True, slots=True)
class Binary:
    """An operation on two terms: one of + - * / ^."""

    operator: str
    left: "Tree"
    right: "Tree"


Tree = Number | Variable | Call | Binary
"""A term as a tree; a sign is a product with the number −1, which no text spells otherwise."""


def variable_name(index: int) -> str:
    """Return the name of the state variable with this index from zero: x, y, z, x4, x5, …"""
    return _FIRST_VARIABLES[index] if index < len(_FIRST_VARIABLES) else f"x{index + 1}"


def velocity_name(index: int, n_positions: int) -> str:
    """Return the name of the velocity of a position: v of a single one, else vx, vy, vz, vx4, …"""
    return "v" if n_positions == 1 else f"v{variable_name(index)}"


def names_in_phase_space(n_positions: int) -> tuple[str, ...]:
    """Return the names of positions and then of their velocities: x, v, or x, y, vx, vy."""
    return (
        *(variable_name(i) for i in range(n_positions)),
        *(velocity_name(i, n_positions) for i in range(n_positions)),
    )


@lru_cache(maxsize=4096)
def parse(text: str, variables: tuple[str, ...] | None = None) -> Tree:
    """Parse a term into its tree. Nothing in the text is ever run as code.

    variables   the names that may occur; None: any

    Raises NotATerm, which names what is not understood and where.
    """
    if len(text) > LONGEST:
        fault = f"of {len(text)} characters is too long; {LONGEST} are allowed"
        raise NotATerm(f"{text[:20]}…", f"{fault}. Split it into several terms.")
    # A caret is one character, the operator it stands for two.
    source = text.replace("^", "**")
    try:
        expression = ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        at = _position(text, source, (error.offset or 1) - 1 + len(source) - len(source.lstrip()))
        where = f"at position {at} of {len(text)}"
        raise NotATerm(text, f"cannot be read {where}. {_EXAMPLES}") from None
    except (ValueError, RecursionError, MemoryError):
        raise NotATerm(text, f"cannot be read. {_EXAMPLES}") from None
    return _tree(expression, text, variables)


def variables_of(tree: Tree) -> frozenset[str]:
    """Collect the variables that a term names."""
    match tree:
        case Number():
            return frozenset()
        case Variable(name):
            return frozenset({name})
        case Call(_, argument):
            return variables_of(argument)
        case Binary(_, left, right):
            return variables_of(left) | variables_of(right)


def as_factor(text: str) -> str:
    """Write a term as a factor: a sum, and a term that begins with a sign, in parentheses."""
    tree = parse(text)
    added = isinstance(tree, Binary) and tree.operator in "+-"
    return f"({text})" if added or text.lstrip().startswith("-") else text


def _position(text: str, source: str, offset: int) -> int:
    """Return the 1-based position in the text of an offset into the source.

    A caret is one character longer in the source.
    """
    reached = 0
    for position, character in enumerate(text, start=1):
        reached += 2 if character == "^" else 1
        if reached > min(offset, len(source) - 1):
            return position
    return len(text)


def _tree(node: ast.expr, text: str, variables: tuple[str, ...] | None) -> Tree:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value) if abs(value) < _LARGEST:
            spelled = ast.get_source_segment(text.replace("^", "**").strip(), node) or ""
            if _NUMBER.fullmatch(spelled):
                return Number(float(value))
            raise NotATerm(text, f"holds {spelled!r}; numbers are written like 2, 0.5 or 1e-3")
        case ast.Name(id=name) if name == PI:
            return Number(math.pi)
        case ast.Name(id=name):
            if name not in FUNCTIONS if variables is None else name in variables:
                return Variable(name)
            if variables is None:
                raise NotATerm(text, f"names the function {name} without its argument")
            raise NotATerm(text, f"names {name!r}; the variables here are {', '.join(variables)}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Binary("*", Number(-1.0), _tree(operand, text, variables))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return Binary(
                _OPERATORS[type(operator)],
                _tree(left, text, variables),
                _tree(right, text, variables),
            )
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return Call(name, _tree(argument, text, variables))
        case ast.Call(func=ast.Name(id=name)):
            raise NotATerm(text, f"calls {name!r}; known functions: {', '.join(FUNCTIONS)}")
    raise NotATerm(text, f"is not in the grammar. {_EXAMPLES}")
