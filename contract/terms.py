"""What a term may be made of, checked where it comes in: numbers, variables, + − * / ^, parentheses and a few functions.

The worker's parser makes a tree of it (worker/identification/data/terms.py); a test holds both to the same grammar.
"""

import ast
import re
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

FUNCTIONS = ("sin", "cos", "exp", "tanh", "sqrt", "log")

_VARIABLE = re.compile(r"[xyz]|x(?:[4-9]|[1-9]\d+)", re.ASCII)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_LARGEST = 1e300
_EXAMPLES = "Write it like x^2, x*y, sin(2*x) or x/(1+x^2)."


def checked_term(text: str) -> str:
    """The term as given. Raises ValueError, naming what is not understood and where."""
    # A caret is one character, the operator it stands for two: kept of equal length for the position.
    source = text.replace("^", "**")
    try:
        expression = ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        at = _place(text, source, (error.offset or 1) - 1 + len(source) - len(source.lstrip()))
        raise _fault(f"the term cannot be read at position {at} of {len(text)}. {_EXAMPLES}") from None
    except (ValueError, RecursionError, MemoryError):
        raise _fault(f"the term cannot be read. {_EXAMPLES}") from None
    _check(expression)
    return text


@lru_cache(maxsize=4096)
def variables_of(text: str) -> frozenset[str]:
    """The variables that a checked term names."""
    tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)) - frozenset(FUNCTIONS)


def _fault(message: str) -> PydanticCustomError:
    # A plain ValueError's message would begin with the words "Value error".
    return PydanticCustomError("term", "{message}", {"message": message})


def _place(text: str, source: str, offset: int) -> int:
    """1-based position in the text of an offset into the source, in which every caret is one character longer."""
    reached = 0
    for position, character in enumerate(text, start=1):
        reached += 2 if character == "^" else 1
        if reached > min(offset, len(source) - 1):
            return position
    return len(text)


def _check(node: ast.expr) -> None:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value) if abs(value) < _LARGEST:
            return
        case ast.Name(id=name) if _VARIABLE.fullmatch(name):
            return
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _check(operand)
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _OPERATORS):
            _check(left)
            return _check(right)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return _check(argument)
        case ast.Name(id=name):
            raise _fault(f"the term names {name!r}; variables are x, y, z, x4, x5, …")
        case ast.Call(func=ast.Name(id=name)):
            raise _fault(f"the term calls {name!r}; known functions: {', '.join(FUNCTIONS)}")
    raise _fault(f"the term is not in the grammar. {_EXAMPLES}")


Term = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(checked_term)]
"""A term by its text, e.g. `x^3` or `sin(2*x)`."""
