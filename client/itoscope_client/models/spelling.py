"""Terms, sentences and documents in other words: x or the file's symbol, the phase or the value.

In a result's keys and terms variables are called x, y, z, and of an angle of period P, `sin(x)`
means sin(2πx/P). Equations and sentences call variables by their symbols, and an angle's terms are
written as functions of its value: `sin(2*pi*phi/360)`. The client is a distribution of its own and
holds a copy of this file; a test holds both equal.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*(?![\w(])")
_NOT_AFTER_PI = re.compile(r"(?<!pi\*)" + _WORD.pattern)
"""A word that is not an angle whose value the term names already."""
_NUMBER = r"\d+(?:\.\d*)?(?:e[+-]?\d+)?"
_PHASE = re.compile(r"\b(sin|cos)\((?:(\d+)\*)?([^\W\d]\w*)\)")
_VALUE = re.compile(
    rf"\b(sin|cos)\((?:({_NUMBER})\*)?pi\*([^\W\d]\w*)(?:/({_NUMBER}))?\)", re.IGNORECASE
)
_TERMS = ("term", "support", "equivalent", "extra_terms", "variable", "name")
"""Fields of a result that hold terms or names of variables."""


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Replace names in a term or a sentence, all at once. Names of functions remain."""
    return _WORD.sub(lambda found: names.get(found[0], found[0]), text) if names else text


def harmonics_in_values(text: str, periods: Mapping[str, float]) -> str:
    """Write sin(n*x) of a phase as a function of the angle's value: sin(4*pi*x/360) for n = 2.

    An angle in radians remains as it is.
    """

    def written(found: re.Match[str]) -> str:
        function, n, name = found.groups()
        period = periods.get(name)
        if period is None or _is_radian(period):
            return found[0]
        return f"{function}({2 * int(n or 1)}*pi*{name}/{_plain(period)})"

    return _PHASE.sub(written, text) if periods else text


def in_values(term: str, periods: Mapping[str, float]) -> str:
    """Write a term of phases as a function of the angles' values [state]."""
    whole = harmonics_in_values(term, periods)
    others = {
        name: f"(2*pi*{name}/{_plain(period)})"
        for name, period in periods.items()
        if not _is_radian(period)
    }
    return _NOT_AFTER_PI.sub(lambda found: others.get(found[0], found[0]), whole)


def in_phases(term: str, periods: Mapping[str, float]) -> str:
    """Write a term of angles' values as one of their phases: sin(2*pi*x/360) as sin(x).

    A term without pi is one of phases already. Raises ValueError where a term with pi is not a
    harmonic of the angle.
    """

    def written(found: re.Match[str]) -> str:
        function, factor, name, divisor = found.groups()
        if name not in periods:
            return found[0]
        n = float(factor or 1) * periods[name] / (2 * float(divisor or 1))
        whole = round(n)
        if whole < 1 or abs(n - whole) > 1e-9 * whole:
            raise ValueError(_no_harmonic(term, name, periods[name]))
        return f"{function}({name})" if whole == 1 else f"{function}({whole}*{name})"

    without = term.replace(" ", "")
    if "pi" not in _WORD.findall(without):
        return term
    phased = _VALUE.sub(written, without)
    words = _WORD.findall(phased)
    angle = next((name for name in periods if name in words), None)
    if "pi" in words and angle is not None and not _is_radian(periods[angle]):
        raise ValueError(_no_harmonic(term, angle, periods[angle]))
    return phased


def in_symbols(document: Any, symbols: Mapping[str, str] | None = None) -> Any:
    """Write a result or a dataset with the file's symbols for x, y, z, and angles' terms in values.

    document   JSON, whose keys and terms are in standard names
    symbols    symbol by standard name, where the document itself does not say
    """
    described = (document.get("data") or document.get("report") or {}).get("variables") or ()
    own = {v["name"]: v["symbol"] for v in described if v.get("symbol")}
    parameters = (document.get("provenance") or {}).get("parameters") or {}
    return _walked(document, {**(symbols or {}), **own}, parameters.get("periodic") or {})


def _walked(value: Any, symbols: Mapping[str, str], periods: Mapping[str, float]) -> Any:
    if isinstance(value, Mapping):
        model = value.get("model")
        if isinstance(model, Mapping) and "drift" in model:
            symbols = {**symbols, **model.get("symbols", {})}
            periods = model.get("periodic") or {}
        return {
            _spelled(key, symbols, periods): _named(inside, symbols, periods)
            if key in _TERMS
            else _walked(inside, symbols, periods)
            for key, inside in value.items()
        }
    if isinstance(value, list) and value and not isinstance(value[0], int | float | str | None):
        return [_walked(item, symbols, periods) for item in value]
    return value


def _named(value: Any, symbols: Mapping[str, str], periods: Mapping[str, float]) -> Any:
    if isinstance(value, str):
        return _spelled(value, symbols, periods)
    if isinstance(value, list):
        return [_named(item, symbols, periods) for item in value]
    return value


def _spelled(text: str, symbols: Mapping[str, str], periods: Mapping[str, float]) -> str:
    # Without a function it is a name, such as x or x,y: an angle is nowhere else in a term.
    return renamed(in_values(text, periods) if "(" in text else text, symbols)


def _is_radian(period: float) -> bool:
    return math.isclose(period, 2 * math.pi, rel_tol=1e-12)


def _plain(number: float) -> str:
    """Write a number with all its digits, without `.0`."""
    return repr(int(number)) if float(number).is_integer() and number < 1e15 else repr(number)


def _no_harmonic(term: str, name: str, period: float) -> str:
    of = _plain(period)
    return (
        f"the term {term} is not a function on the circle of {name}, whose period is {of}; "
        f"write the n-th harmonic as sin(n*{name}), or as sin(2*n*pi*{name}/{of}) with a number 2n"
    )
