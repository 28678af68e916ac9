"""A model's equations in LaTeX."""

import math
import re
from collections.abc import Sequence

from itoscope_client.models.document import ModelDocument, Summand
from itoscope_client.models.terms import (
    Binary,
    Call,
    Number,
    Tree,
    Variable,
    as_factor,
    parse,
)

_GREEK = re.compile(
    "(?i:gamma|delta|theta|lambda|xi|pi|sigma|upsilon|phi|psi|omega)|"
    "alpha|beta|epsilon|zeta|eta|iota|kappa|mu|nu|rho|tau|chi"
)
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "_%&#$"})
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 4, "^": 3}
"""How closely an operation binds; a fraction and a function need no parentheses around them."""
_ALONE = 4

_POWER = re.compile("× 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def equations(model: ModelDocument, *, errors: bool) -> str:
    """Write drift and diffusion as lines of an `aligned` environment.

    errors   whether each coefficient has its standard error
    """
    lines = []
    positions = {v: x for x, v in model.velocities.items()}
    for letter, component, summands in model.sums(errors=errors):
        names = [variable(name) for name in component.split(",")]
        if letter == "b" and component in positions:
            lines += _motion(variable(positions[component]), names[0], summands, len(positions))
            continue
        index = (" " if len("".join(names)) == len(names) else ", ").join(names)
        lines.append(f"{letter}_{{{index}}} &= {_sum(summands)}")
    body = " \\\\\n".join(lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def _motion(position: str, velocity: str, force: Sequence[Summand], count: int) -> list[str]:
    """Write dx = v dt and dv = (…) dt + … dW of one of `count` positions."""
    noise = f"\\sqrt{{a_{{{velocity} {velocity}}}}} \\, dW"
    if count > 1:
        noise = f"\\left(\\sigma \\, dW\\right)_{{{velocity}}}"
    return [
        f"d{position} &= {velocity} \\, dt",
        f"d{velocity} &= {_bracketed(_sum(force))} \\, dt + {noise}",
    ]


def variable(name: str) -> str:
    """Write a variable: x, x₄, a Greek letter by its name, or a word in upright letters.

    `v_x` is the velocity of x.
    """
    if name.startswith("v_") and name.strip("v_"):
        return f"v_{{{variable(name[2:])}}}"
    if len(name) == 1:
        return name
    if _GREEK.fullmatch(name) and name[1:].islower():
        return f"\\{name}"
    if name[1:].isdecimal():
        return f"{name[0]}_{{{name[1:]}}}"
    return f"\\mathrm{{{name.translate(_SPECIAL)}}}"


def expression(tree: Tree) -> str:
    """Write a term."""
    match tree:
        case Number(value):
            return "\\pi" if value == math.pi else _number(f"{value:.6g}")
        case Variable(name):
            return variable(name)
        case Call("sqrt", argument):
            return f"\\sqrt{{{expression(argument)}}}"
        case Call(function, argument):
            return f"\\{function}{_bracketed(expression(argument))}"
        case Binary("*", Number(-1.0), other):
            return f"-{_within(other, 2)}"
        case Binary("/", left, right):
            return f"\\frac{{{expression(left)}}}{{{expression(right)}}}"
        case Binary("^", base, exponent):
            # What is a power, a fraction or a function itself needs parentheses, too.
            simple = isinstance(base, Number | Variable)
            below = expression(base) if simple else _bracketed(expression(base))
            return f"{below}^{{{expression(exponent)}}}"
        case Binary("*", left, right):
            digits = isinstance(right, Number) and right.value != math.pi
            between = " \\cdot " if digits else " \\, "
            return f"{_first(left, 2)}{between}{_within(right, 2)}"
        case Binary(operator, left, right):
            closely = 2 if operator == "-" else 1
            return f"{_first(left, 1)} {operator} {_within(right, closely)}"


def _first(tree: Tree, binding: int) -> str:
    """Write an operand, with parentheses where it binds less closely than its operation."""
    own = _BINDING[tree.operator] if isinstance(tree, Binary) else _ALONE
    return _bracketed(expression(tree)) if own < binding else expression(tree)


def _within(tree: Tree, binding: int) -> str:
    """Write an operand that is not the first and therefore cannot begin with a sign."""
    written = _first(tree, binding)
    return _bracketed(written) if written.startswith("-") else written


def _bracketed(text: str) -> str:
    return f"\\left({text}\\right)"


def _sum(summands: Sequence[Summand]) -> str:
    text = ""
    for sign, size, term in summands:
        coefficient = _POWER.sub(
            lambda power: f"\\cdot 10^{{{power[1].translate(_DIGITS)}}}", size.replace("±", "\\pm")
        )
        if "±" in size and size[0] != "(":
            coefficient = _bracketed(coefficient)
        text += f" {sign} " if text else sign
        if term != "1":
            factor = expression(parse(term))
            bare = as_factor(term) == term
            coefficient += f" \\, {factor if bare else _bracketed(factor)}"
        text += coefficient
    return text or "0"


def _number(text: str) -> str:
    """Write `1e-05` as a power of ten."""
    words = []
    for word in text.split(" "):
        digits, e, exponent = word.partition("e")
        words.append(f"{digits} \\cdot 10^{{{int(exponent)}}}" if e else word)
    return " ".join(words)
