"""Equations as MathML, which browsers typeset by themselves.

Every term is a `<math>` element of its own, so that long equations wrap between terms.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from contract.results import Component, Term
from grammar.terms import Binary, Call, NotATerm, Number, Tree, Variable, as_factor, parse
from service.web.numbers import measured, plain, power_of_ten

_EMPTY = Markup("")
_EQUALS = Markup("<mo>=</mo>")
_D = Markup("<mspace width='0.12em'></mspace><mi>d</mi>")
_TENSOR = Markup(
    "<mo>,</mo><mspace width='0.7em'></mspace><mi>a</mi><mo>=</mo><mi>σ</mi>"
    "<msup><mi>σ</mi><mi>⊤</mi></msup>"
)
_PLUS = Markup('<mo form="infix" lspace="0em" rspace="0.25em">+</mo>')
_BINDING = {"+": 1, "-": 1, "*": 2}


@dataclass(frozen=True, slots=True)
class Equation:
    """Left side, and the signed terms of the right side, each a fragment of MathML."""

    left: Markup
    terms: tuple[Markup, ...]


def drift_equation(variable: str, component: Component, *, alone: bool) -> Equation:
    """Typeset b(x) = … of the only variable, or b_x = … of one of several."""
    return Equation(_left_side("b", (variable,), alone), _right_side(component.terms))


def diffusion_equation(pair: str, component: Component, *, where: Sequence[str] = ()) -> Equation:
    """Typeset a(x) = … as a function of some variables, or a_xy = … of a pair."""
    names = where or pair.split(",")
    return Equation(_left_side("a", names, bool(where)), _right_side(component.terms))


def general_equation(variables: Sequence[str]) -> Markup:
    """Typeset dx = b dt + σ dW of one variable, or of several."""
    if len(variables) == 1:
        x = variable_name(variables[0])
        noise = Markup("<mo>+</mo>") + _root_of(_of("a", x)) + _D + _name("W")
        return _math(_D + x + _EQUALS + _of("b", x) + _D + _name("t") + noise)
    x = _name("𝐱")
    noise = Markup("<mo>+</mo>") + _of("σ", x) + _D + _name("𝐖")
    return _math(_D + x + _EQUALS + _of("𝐛", x) + _D + _name("t") + noise + _TENSOR)


def moving_equation(positions: Sequence[str], velocities: Sequence[str]) -> Markup:
    """Typeset dx = v dt, dv = F dt + σ dW of positions and their velocities."""
    alone = len(positions) == 1
    x = variable_name(positions[0]) if alone else _name("𝐱")
    v = variable_name(velocities[0]) if alone else _name("𝐯")
    where = x + Markup("<mo>,</mo>") + v
    apart = Markup("<mo>,</mo><mspace width='0.7em'></mspace>")
    if alone:
        noise = _root_of(_of("a", where)) + _D + _name("W")
    else:
        noise = _of("σ", where) + _D + _name("𝐖") + _TENSOR
    force = _of("F" if alone else "𝐅", where) + _D + _name("t") + Markup("<mo>+</mo>") + noise
    return _math(_D + x + _EQUALS + v + _D + _name("t") + apart + _D + v + _EQUALS + force)


def motion_equations(
    position: str, velocity: str, force: Component, *, alone: bool
) -> tuple[Equation, Equation]:
    """Typeset dx = v dt, and dv = (…) dt + … dW of one position."""
    x, v = variable_name(position), variable_name(velocity)
    time = _D + _name("t")
    index = Markup("<msub><mrow>{}</mrow><mrow>{}</mrow></msub>")
    noise = _root_of(_name("a")) + _D + _name("W")
    if not alone:
        noise = index.format(_bracketed(_name("σ") + _D + _name("𝐖"), True), v)
    terms = list(_right_side(force.terms))
    terms[0] = _math(Markup("<mo>(</mo>")) + terms[0]
    terms[-1] += _math(Markup("<mo>)</mo>") + time)
    return (
        Equation(_math(_D + x + _EQUALS), (_math(v + time),)),
        Equation(_math(_D + v + _EQUALS), (*terms, _math(_PLUS + noise))),
    )


def coloured_equations(position: str, drift: Component) -> tuple[Equation, Equation]:
    """Typeset dx = f dt + u dt, and f(x) = … of a drift with coloured noise u."""
    x, time = variable_name(position), _D + _name("t")
    moved = _of("f", x) + time + Markup("<mo>+</mo>") + _name("u") + time
    return (
        Equation(_math(_D + x + _EQUALS), (_math(moved),)),
        Equation(_left_side("f", (position,), True), _right_side(drift.terms)),
    )


def term(text: str) -> Markup:
    """Typeset a single term."""
    return _math(_expression(text))


def variable_name(name: str) -> Markup:
    """Typeset `x`, or x with its index; `v_x` is a velocity with its position."""
    if name.startswith("v_") and name.strip("v_"):
        return Markup("<msub><mi>v</mi>{}</msub>").format(variable_name(name[2:]))
    if name[1:].isdecimal():
        return Markup("<msub><mi>{}</mi><mn>{}</mn></msub>").format(name[:1], name[1:])
    return Markup("<mi>{}</mi>").format(name)


def _right_side(terms: Sequence[Term]) -> tuple[Markup, ...]:
    shown = tuple(t for t in terms if t.active and t.value)
    if not shown:
        return (_math(Markup("<mn>0</mn>")),)
    return tuple(_math(piece) for piece in _signed(shown))


def _signed(terms: Sequence[Term]) -> Iterator[Markup]:
    for place, t in enumerate(terms):
        # Each term is an element of its own, in which a sign between two terms would be typeset as
        # a sign in front of one.
        form, sign, factor = Markup(' form="prefix"'), _EMPTY, _EMPTY
        if place:
            form = Markup(' form="infix" lspace="0em" rspace="0.25em"')
        if place or t.value < 0:
            sign = Markup("<mo{}>{}</mo>").format(form, "−" if t.value < 0 else "+")
        if t.term != "1":
            factor = Markup("<mspace width='0.2em'></mspace>") + _expression(t.term, factor=True)
        alone = t.term == "1" and len(terms) == 1
        yield sign + _coefficient(abs(t.value), t.std_error, alone=alone) + factor


def _coefficient(value: float, error: float | None, *, alone: bool) -> Markup:
    if not error:
        return Markup("<mn>{}</mn>").format(plain(value))
    number, spread, exponent = measured(value, error)
    inside = Markup("<mn>{}</mn><mo>±</mo><mn>{}</mn>").format(number, spread)
    if alone and not exponent:
        return inside
    power = Markup("<mtext>{}</mtext>").format(power_of_ten(exponent)) if exponent else _EMPTY
    return _bracketed(inside, True) + power


def _name(letter: str) -> Markup:
    return Markup("<mi>{}</mi>").format(letter)


def _of(letter: str, argument: Markup) -> Markup:
    """Typeset a function of its argument, such as b(x)."""
    return _name(letter) + _bracketed(argument, True)


def _root_of(inside: Markup) -> Markup:
    return Markup("<msqrt><mrow>{}</mrow></msqrt>").format(inside)


def _left_side(letter: str, names: Sequence[str], alone: bool) -> Markup:
    short = not alone and all(len(name) == 1 for name in names)
    between = _EMPTY if short else Markup("<mo>,</mo>")
    variables = between.join(variable_name(name) for name in names)
    if alone:
        return _math(_of(letter, variables) + _EQUALS)
    return _math(
        Markup("<msub><mi>{}</mi><mrow>{}</mrow></msub><mo>=</mo>").format(letter, variables)
    )


def _math(inside: Markup) -> Markup:
    return Markup("<math>{}</math>").format(inside)


def _expression(text: str, *, factor: bool = False) -> Markup:
    try:
        tree = _tree(parse(text), 0)
        return _bracketed(tree, True) if factor and as_factor(text) != text else tree
    except NotATerm:
        return Markup("<mtext>{}</mtext>").format(text)


def _tree(tree: Tree, outside: int) -> Markup:
    match tree:
        case Number(math.pi):
            return Markup("<mi>π</mi>")
        case Number(value):
            return Markup("<mn>{}</mn>").format(
                plain(value, 6).rstrip("0").rstrip(".") if value % 1 else int(value)
            )
        case Variable(name):
            return variable_name(name)
        case Call("sqrt", argument):
            return Markup("<msqrt>{}</msqrt>").format(_tree(argument, 0))
        case Call("exp", argument):
            return Markup("<msup><mi>e</mi><mrow>{}</mrow></msup>").format(_tree(argument, 0))
        case Call(name, argument):
            return Markup("<mi>{}</mi><mo>\u2061</mo>").format(name) + _bracketed(
                _tree(argument, 0), True
            )
        case Binary("*", Number(-1.0), operand):
            inner = _bracketed(_tree(operand, 2), _is_negative(operand))
            return Markup("<mrow><mo>−</mo>{}</mrow>").format(inner)
        case Binary("^", left, right):
            base = _bracketed(_tree(left, 0), isinstance(left, Binary) or _is_exponential(left))
            return Markup("<msup>{}<mrow>{}</mrow></msup>").format(base, _tree(right, 0))
        case Binary("/", left, right):
            return Markup("<mfrac><mrow>{}</mrow><mrow>{}</mrow></mfrac>").format(
                _tree(left, 0), _tree(right, 0)
            )
        case Binary(operator, left, right):
            binding = _BINDING[operator]
            return _bracketed(_infix(left, operator, right, binding), binding < outside)


def _infix(left: Tree, operator: str, right: Tree, binding: int) -> Markup:
    sign = {"+": "<mo>+</mo>", "-": "<mo>−</mo>"}.get(operator)
    if sign is None:
        sign = "<mo>·</mo>" if isinstance(right, Number) else "<mspace width='0.1em'></mspace>"
    after = _bracketed(_tree(right, binding + (operator == "-")), _is_negative(right))
    return _tree(left, binding) + Markup(sign) + after


def _is_negative(tree: Tree) -> bool:
    return isinstance(tree, Binary) and tree.operator == "*" and tree.left == Number(-1.0)


def _is_exponential(tree: Tree) -> bool:
    return isinstance(tree, Call) and tree.function == "exp"


def _bracketed(inside: Markup, needed: bool) -> Markup:
    if not needed:
        return Markup("<mrow>{}</mrow>").format(inside)
    # All brackets have one height: they must not grow with the root beside them.
    return Markup('<mrow><mo stretchy="false">(</mo>{}<mo stretchy="false">)</mo></mrow>').format(
        inside
    )
