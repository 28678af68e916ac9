"""The symbols of variables: words in terms and sentences, made from the names of a file's columns.

docs/decisions/0015 says why results are keyed by x, y, z all the same.
"""

import keyword
import re
import unicodedata
from collections.abc import Sequence

from grammar.terms import FUNCTIONS, PI, variable_name

LONGEST_SYMBOL = 24
"""Number of characters of the longest symbol, before what makes it unique."""

_RESERVED = frozenset((*FUNCTIONS, PI, *keyword.kwlist))


def symbols_of(names: Sequence[str | None]) -> tuple[str, ...]:
    """Make the symbol of each variable from its name in the file, without a unit.

    Every run of characters that are no letters and no digits becomes `_`; a name that begins with a
    digit gets `c` (column) before it. A variable without a name, or with one of signs only, has its
    standard name. `_` is appended to what is a word of the grammar or of Python, another variable's
    standard name, or a symbol before it.
    """
    standard = [variable_name(i) for i in range(len(names))]
    symbols: list[str] = []
    for own, name in zip(standard, names, strict=True):
        symbol = _word(name or "") or own
        others = {*_RESERVED, *symbols, *standard} - {own}
        while symbol in others:
            symbol += "_"
        symbols.append(symbol)
    return tuple(symbols)


def as_written(text: str) -> str:
    """Return a text in the characters of symbols, in which µ and μ, x₁ and x1 are the same."""
    return unicodedata.normalize("NFKC", text)


def _word(name: str) -> str:
    """Make a word of a name; empty where none can be made."""
    word = re.sub(r"\W+", "_", as_written(name)).strip("_")
    word = word[:LONGEST_SYMBOL].rstrip("_")
    word = f"c{word}" if word[:1].isdigit() else word
    return word if word.isidentifier() else ""
