"""The spelling of one cell of a text table: a number, a missing value, a time stamp, or words.

Blanks and apostrophes between groups of three digits (`1 234,5`, `1'234.5`) and signs that look
like a minus are always removed. A comma or point between groups looks like a decimal mark; it is
removed only where some number of the file has both (`1.234,5`) or more than one (`1,234,567`).
"""

import re
from collections.abc import Sequence
from typing import Literal

from service.readers.names import words

CellKind = Literal["number", "missing", "stamp", "text"]
Grouping = Literal[",", "."]
"""Mark between groups of three digits."""

MISSING = frozenset(
    {"", *words("nan +nan -nan na n/a #n/a #na null none nil - -- . ? missing nat")}
    # Buoys of the NDBC, tables of GISS and Fortran programs write these.
    | words("mm *** **** ***** ****** ******** **********")
    # Spreadsheets write these for a cell that they could not compute, in English and German.
    | words("#value! #div/0! #num! #ref! #name? #null! #nv #wert! #zahl! #bezug!")
    # Old C libraries print these.
    | words("nan(ind) -nan(ind) 1.#qnan -1.#qnan 1.#ind -1.#ind")
)
"""Spellings of a missing value, in lower case."""

_AFTER_MANTISSA = r"(?:[eEdD][+-]?\d+)?\Z|[+-]?inf(?:inity)?\Z"
_NUMBER = {
    ".": re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){_AFTER_MANTISSA}", re.ASCII | re.IGNORECASE),
    ",": re.compile(rf"[+-]?(?:\d+(?:,\d+)?|,\d+){_AFTER_MANTISSA}", re.ASCII | re.IGNORECASE),
}
_TIME_OF_DAY = (
    r"\d{1,3}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?"
    r"(?: ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?"
)
_STAMP = re.compile(
    r"(?:[A-Z][a-z]{2}, (?=\d))?(?:\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|"
    r"\d{1,2}/\d{1,2}/\d{2}|\d{1,2}\.\d{1,2}\.\d{2}|\d{1,2}-\d{1,2}-\d{2}(?=[ ,T]+\d{1,2}:)|"
    r"\d{1,2}[- ][A-Za-z]{3,9}[- ](?:\d{4}|\d{2})|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})"
    rf"(?:(?:T|,? +){_TIME_OF_DAY})?\Z|\d{{8}}T\d{{4,6}}(?:\.\d+)?Z?\Z|{_TIME_OF_DAY}\Z|"
    r"\d{1,3}:\d{2}[.,]\d+\Z",
    re.ASCII,
)
CLOCK = re.compile(r"\d{1,3}:\d{2}", re.ASCII)
"""Start of a time of day."""

_SIGNS = str.maketrans({"−": "-", "–": "-", "﹣": "-", "-": "-"})
"""Minus signs of typesetting, which copied tables of spreadsheets and documents contain."""

_SYMBOLS = frozenset("%$€£¥")
_AT_NUMBER = re.compile(
    r"(?<![^\s\",;|+-])[$€£¥] ?(?=[+-]?[\d.])|(?<=\d) ?[%$€£¥](?=[ \t]*(?:[\",;\t|\r\n]|\Z))"
)
_PLAIN = re.compile(r"(?<=\d)['’\u00a0\u2009\u202f](?=\d{3}(?:\D|$))")
_PROOF: dict[Grouping, re.Pattern[str]] = {
    ",": re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+|,\d{3})(?![\d.,])", re.ASCII),
    ".": re.compile(r"(?<![\d.,:])\d{1,3}(?:\.\d{3})+(?:,\d+|\.\d{3})(?![\d.,])", re.ASCII),
}
_MARK: dict[Grouping, re.Pattern[str]] = {
    ",": re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))", re.ASCII),
    # The look-behind spares the fraction of a time of day, 12:00:00.125.
    ".": re.compile(r"(?<=\d)(?<!:\d\d)\.(?=\d{3}(?:\D|$))", re.ASCII),
}
_QUOTED = re.compile(r'"[^"]*"')
LOOKS_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[.,]\d{3})+\Z", re.ASCII)
"""Pattern of a number whose last three digits are either a group or decimals."""


def kind_of(cell: str, decimal: str) -> CellKind:
    """Classify a stripped cell, with `decimal` as the decimal mark."""
    if cell.lower() in MISSING:
        return "missing"
    if _NUMBER[decimal].match(cell):
        return "number"
    return "stamp" if _STAMP.match(cell) else "text"


def number_of(cell: str, decimal: str) -> float:
    """Return the value of a stripped cell, NaN where missing. Raises ValueError for other cells."""
    if cell.lower() in MISSING:
        return float("nan")
    if not _NUMBER[decimal].match(cell):
        raise ValueError(cell)
    return float(cell.replace(",", ".").replace("d", "e").replace("D", "e"))


def shown(cell: str) -> str:
    """Return a cell so that a message may repeat it: printable and short."""
    text = "".join(character if character.isprintable() else "·" for character in cell[:41])
    return text if len(text) <= 40 else text[:40] + "…"


def plain(text: str) -> str:
    """Return text whose numbers a parser understands.

    Minus signs become ASCII; blanks and apostrophes between groups of digits, and percent and
    currency signs at numbers, are removed.
    """
    if not _SYMBOLS.isdisjoint(text):
        text = _AT_NUMBER.sub("", text)
    if text.isascii():
        return _PLAIN.sub("", text) if "'" in text else text
    return _PLAIN.sub("", text.translate(_SIGNS))


def has_signs(text: str) -> bool:
    """Return whether a percent or currency sign stands at a number."""
    return not _SYMBOLS.isdisjoint(text) and _AT_NUMBER.search(text) is not None


def grouping_of(lines: Sequence[str]) -> Grouping | None:
    """Return the mark between groups of digits where a number proves that there is one.

    Numbers inside quotes count, and all numbers where semicolons or tabs separate the columns.
    """
    separated = sum(";" in line or "\t" in line for line in lines) > len(lines) // 2
    for mark, proof in _PROOF.items():
        texts = lines if separated else ["\n".join(_QUOTED.findall(line)) for line in lines]
        if any(proof.search(text) for text in texts):
            return mark
    return None


def ungrouped(line: str, mark: Grouping) -> str:
    """Remove the mark between groups of digits from a line.

    Where commas may separate the columns, only numbers inside quotes are changed.
    """
    if ";" in line or "\t" in line:
        return _MARK[mark].sub("", line)
    return _QUOTED.sub(lambda quoted: _MARK[mark].sub("", quoted[0]), line)
