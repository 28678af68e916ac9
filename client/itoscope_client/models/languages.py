"""Terms as expressions of programming languages: one table a language, and one printer for all."""

import keyword
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from itoscope_client.models.terms import Binary, Call, Number, Tree, Variable

_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}
"""How closely an operation binds."""
_ATOM = 4
_WHOLE_POWERS = range(65)

Total = Sequence[tuple[float, Tree]]
"""A sum of coefficients times terms."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language's spelling of what terms are made of.

    power      operator of powers, or `pow` for the function of this name
    functions  what stands before the name of a function
    pi         π
    comment    what begins a line of comment
    reserved   words that no variable may have: the language's, and those of the exported file
    whole      whether whole numbers are exact, and therefore written without a point
    unicode    whether names may hold letters beyond ASCII
    """

    power: Literal["**", "^", "pow"]
    functions: str
    pi: str
    comment: str
    reserved: frozenset[str]
    whole: bool = False
    unicode: bool = True

    def allows(self, name: str) -> bool:
        """Return whether a variable may have this name."""
        return (
            name.isidentifier()
            and name not in self.reserved
            and not name.startswith("_")
            and not name.endswith("__")
            and (self.unicode or name.isascii())
        )

    def number(self, value: float) -> str:
        """Write a number that reads back as the same double."""
        return str(int(value)) if self.whole and value in _WHOLE_POWERS else repr(float(value))

    def total(self, summands: Total, names: Mapping[str, str]) -> str:
        """Write a sum of coefficients times terms; `0.0` without any."""
        text = ""
        for value, tree in summands:
            sign = "-" if value < 0 else "+"
            text += f" {sign} " if text else sign.strip("+")
            text += self._summand(abs(value), tree, names)
        return text or "0.0"

    def _summand(self, size: float, tree: Tree, names: Mapping[str, str]) -> str:
        if tree == Number(1.0):
            return repr(size)
        # A product in it needs no parentheses: the coefficient may be its first factor.
        written = self._operand(tree, names, 2, first=True)
        factor = f"({written})" if written[0] == "-" else written
        return factor if size == 1 else f"{size!r}*{factor}"

    def expression(self, tree: Tree, names: Mapping[str, str]) -> str:
        """Write a term.

        names   word of each variable
        """
        match tree:
            case Number(math.pi):
                return self.pi
            case Number(value):
                return self.number(value)
            case Variable(name):
                return names[name]
            case Call(function, argument):
                return f"{self.functions}{function}({self.expression(argument, names)})"
            case Binary("*", Number(-1.0), other):
                return f"-{self._operand(other, names, 2, first=False)}"
            case Binary("^", base, exponent):
                return self._raised(base, exponent, names)
            case Binary(operator, left, right):
                own = _BINDING[operator]
                between = f" {operator} " if own == 1 else operator
                first = self._operand(left, names, own, first=True)
                return f"{first}{between}{self._operand(right, names, own, first=False)}"

    def _raised(self, base: Tree, exponent: Tree, names: Mapping[str, str]) -> str:
        if self.power == "pow":
            return f"pow({self.expression(base, names)}, {self.expression(exponent, names)})"
        above = (
            str(int(exponent.value))
            if isinstance(exponent, Number) and exponent.value in _WHOLE_POWERS
            else self._operand(exponent, names, 3, first=False)
        )
        return f"{self._operand(base, names, 3, first=False)}{self.power}{above}"

    def _operand(self, tree: Tree, names: Mapping[str, str], own: int, *, first: bool) -> str:
        """Write an operand, in parentheses unless it binds more closely than its operation.

        The first of two may bind as closely, as operations are carried out from the left.
        """
        binding = _BINDING[tree.operator] if isinstance(tree, Binary) else _ATOM
        written = self.expression(tree, names)
        plain = binding > own or (binding == own and first)
        return written if plain and (first or written[0] != "-") else f"({written})"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OWN = "state out drift diffusion noise "

PYTHON = Language(
    "**", "np.", "np.pi", "#", _words(_OWN + "np VARIABLES float a") | {*keyword.kwlist}
)
SYMPY = Language("**", "sp.", "sp.pi", "#", _words(_OWN + "sp") | {*keyword.kwlist}, whole=True)
JULIA = Language(
    "^",
    "",
    "pi",
    "#",
    _words(
        _OWN + "p t baremodule begin break catch const continue do else elseif end export false "
        "finally for function global if import in isa let local macro module nothing quote return "
        "struct true try using where while zeros pi NaN Inf cholesky Symmetric"
    ),
)
STAN = Language(
    "^",
    "",
    "pi()",
    "//",
    _words(
        _OWN + "for in while if else continue break return int real complex vector array matrix "
        "row_vector simplex unit_vector ordered positive_ordered cov_matrix corr_matrix lower "
        "upper offset multiplier functions model data parameters quantities transformed generated "
        "var fvar true false void print reject target profile tuple repeat until then STAN_MAJOR "
        "get_lp fatal_error complex_vector complex_matrix complex_row_vector sum_to_zero_vector"
    ),
    unicode=False,
)
C = Language(
    "pow",
    "",
    repr(math.pi),
    "//",
    _words(
        _OWN + "auto break case char const continue default do double else enum extern float for "
        "goto if inline int long register restrict return short signed sizeof static struct switch "
        "typedef union unsigned void volatile while bool true false nullptr alignas alignof "
        "constexpr static_assert thread_local typeof asm linux unix pow main NAN INFINITY HUGE_VAL "
        "math_errhandling class new delete this template namespace private public protected "
        "virtual operator try catch throw using"
    ),
    unicode=False,
)
