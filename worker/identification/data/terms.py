"""Terms of a library as functions of the state, and the terms that it has by default."""

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from grammar import terms
from grammar.terms import FUNCTIONS, Binary, Call, Number, Tree, Variable
from worker.identification.errors import InvalidLibrary, UnknownTerm

Floats = NDArray[np.float64]
Exponents = tuple[int, ...]

MOST_TERMS = 250

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


def candidate_terms(
    variables: tuple[str, ...], circular: tuple[bool, ...], degree: int, harmonics: int
) -> list[str]:
    """List the names of the terms, lowest total degree first.

    The n-th harmonic of an angle counts as degree n. The product of a monomial of degree p and
    harmonics of total h is included where p ≤ degree, h ≤ harmonics and p + h ≤ max(degree,
    harmonics).

    Parameters
    ----------
    variables : names of the d variables
    circular : whether each variable is an angle
    degree : highest total degree of the monomials
    harmonics : highest total number of the harmonics

    Raises
    ------
    InvalidLibrary : there would be more than `MOST_TERMS` terms
    """
    count = _count(circular, degree, harmonics)
    if count > MOST_TERMS:
        raise InvalidLibrary(
            f"Total degree {degree} in {len(variables)} variables has {count} terms; "
            f"the maximum is {MOST_TERMS}.",
            hints=(
                "Lower library.polynomial_degree or library.fourier_harmonics, "
                "or choose fewer columns in layout.state_columns.",
            ),
        )
    found: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []

    def extend(chosen: tuple[tuple[int, bool], ...], p: int, h: int) -> None:
        """Append every choice for the open variables; (power or harmonic, whether a cosine)."""
        i = len(chosen)
        if i == len(variables):
            found.append(
                (p + h, tuple(-n for n, _ in chosen), tuple(int(cosine) for _, cosine in chosen))
            )
            return
        if circular[i]:
            for n in range(min(harmonics - h, max(degree, harmonics) - p - h) + 1):
                for cosine in (False, True)[: 2 if n else 1]:
                    extend((*chosen, (n, cosine)), p, h + n)
        else:
            for n in range(min(degree - p, max(degree, harmonics) - p - h) + 1):
                extend((*chosen, (n, False)), p + n, h)

    extend((), 0, 0)
    return [
        _name(variables, circular, tuple(-n for n in numbers), cosines)
        for _, numbers, cosines in sorted(found)
    ]


def _name(
    variables: tuple[str, ...],
    circular: tuple[bool, ...],
    numbers: Exponents,
    cosines: tuple[int, ...],
) -> str:
    powers = tuple(0 if circle else n for n, circle in zip(numbers, circular, strict=True))
    factors = [] if not any(powers) else [monomial_name(powers, variables)]
    for variable, circle, n, cosine in zip(variables, circular, numbers, cosines, strict=True):
        if circle and n:
            factors.append(
                f"{'cos' if cosine else 'sin'}({variable if n == 1 else f'{n}*{variable}'})"
            )
    return "*".join(factors) if factors else "1"


def _count(circular: tuple[bool, ...], degree: int, harmonics: int) -> int:
    """Count the terms without making them, by convolving the counts by (p, h) over variables."""
    top = max(degree, harmonics)
    counts = [[0] * (top + 1) for _ in range(top + 1)]
    counts[0][0] = 1
    for circle in circular:
        new = [[0] * (top + 1) for _ in range(top + 1)]
        for p, h in product(range(top + 1), repeat=2):
            for n in range(top - p - h + 1):
                if circle and h + n <= harmonics:
                    new[p][h + n] += counts[p][h] * (2 if n else 1)
                elif not circle and p + n <= degree:
                    new[p + n][h] += counts[p][h]
        counts = new
    return sum(map(sum, counts))
