"""The symbols of variables: words in terms and sentences, made from the names of a file's columns.

docs/decisions/0015 says why results are keyed by x, y, z all the same.
"""

import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence

from grammar.terms import FUNCTIONS, PI, NotATerm, Variable, parse, variable_name

LONGEST_SYMBOL = 24
"""Number of characters of the longest symbol, before what makes it unique."""

_RESERVED = frozenset((*FUNCTIONS, PI, *keyword.kwlist))
_TIME = ("t", "time")
_NONE_GIVEN: Mapping[int, str] = {}


def symbols_of(
    names: Sequence[str | None], given: Mapping[int, str] = _NONE_GIVEN
) -> tuple[str, ...]:
    """Make the symbol of each variable from its name in the file, without a unit.

    given   symbols that are not made but given (`given_symbol`), by the index of the variable

    Every run of characters that are no letters and no digits becomes `_`; a name that begins with a
    digit gets `c` (column) before it. A variable without a name, or with one of signs only, has its
    standard name. `_` is appended to what is a word of the grammar or of Python, another variable's
    standard name, or a symbol before it.
    """
    standard = [variable_name(i) for i in range(len(names))]
    symbols: list[str] = []
    for i, (own, name) in enumerate(zip(standard, names, strict=True)):
        symbol = given.get(i) or _word(name or "") or own
        others = set() if i in given else {*_RESERVED, *given.values(), *symbols, *standard} - {own}
        while symbol in others:
            symbol += "_"
        symbols.append(symbol)
    return tuple(symbols)


def given_symbol(name: str) -> str:
    """Make a symbol of the name that a user gives to a variable, as of the name of a column.

    Raises ValueError, which says why it cannot be the word for a variable.
    """
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise ValueError("holds a control character")
    try:
        plain = isinstance(parse(as_written(name)), Variable)
    except NotATerm:
        plain = True
    if not plain:
        raise ValueError("would be read as a number or a term; write letters, digits and `_`")
    word = re.sub(r"\W+", "_", as_written(name)).strip("_")
    if len(word) > LONGEST_SYMBOL:
        raise ValueError(f"is longer than {LONGEST_SYMBOL} characters")
    symbol = _word(name)
    if not symbol:
        raise ValueError("has no letter")
    if symbol in _TIME:
        raise ValueError(f"is {symbol}, the word for time")
    if symbol in FUNCTIONS or symbol == PI:
        raise ValueError(f"is {symbol}, a function or constant of terms")
    if symbol in _RESERVED:
        raise ValueError(f"is {symbol}, a word of programs that read equations")
    return symbol


def as_written(text: str) -> str:
    """Return a text in the characters of symbols, in which µ and μ, x₁ and x1 are the same."""
    return unicodedata.normalize("NFKC", text)


def _word(name: str) -> str:
    """Make a word of a name; empty where none can be made."""
    word = re.sub(r"\W+", "_", as_written(name)).strip("_")
    word = word[:LONGEST_SYMBOL].rstrip("_")
    word = f"c{word}" if word[:1].isdigit() else word
    return word if word.isidentifier() else ""
