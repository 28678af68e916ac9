"""One cell of a text table: a number, a missing value, a time stamp, or words."""

import re
from collections.abc import Sequence
from typing import Literal

CellKind = Literal["number", "missing", "stamp", "text"]

MISSING = frozenset(
    {
        "",
        "nan",
        "+nan",
        "-nan",
        "na",
        "n/a",
        "#n/a",
        "#na",
        "null",
        "none",
        "nil",
        "-",
        "--",
        ".",
        "?",
        "missing",
        "nat",
    }
    # A spreadsheet's cells that could not be computed, in English and German, and what old C libraries print.
    | {
        "#value!",
        "#div/0!",
        "#num!",
        "#ref!",
        "#name?",
        "#null!",
        "#nv",
        "#wert!",
        "#zahl!",
        "#bezug!",
    }
    | {"nan(ind)", "-nan(ind)", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind"}
)
"""Spellings of a missing value, in lower case."""

_NUMBER = {
    ".": re.compile(
        r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?\Z|[+-]?inf(?:inity)?\Z",
        re.ASCII | re.IGNORECASE,
    ),
    ",": re.compile(
        r"[+-]?(?:\d+(?:,\d+)?|,\d+)(?:[eEdD][+-]?\d+)?\Z|[+-]?inf(?:inity)?\Z",
        re.ASCII | re.IGNORECASE,
    ),
}
_TIME_OF_DAY = r"\d{1,3}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?"
_STAMP = re.compile(
    r"(?:\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}[- ][A-Za-z]{3}[- ]\d{4})"
    rf"(?:(?:T|,? +){_TIME_OF_DAY})?\Z|\d{{8}}T\d{{4,6}}(?:\.\d+)?Z?\Z|{_TIME_OF_DAY}\Z",
    re.ASCII,
)
CLOCK = re.compile(r"\d{1,3}:\d{2}", re.ASCII)
"""Start of a time of day."""


def kind_of(cell: str, decimal: str) -> CellKind:
    """What a stripped cell is, with `decimal` as the decimal mark."""
    if cell.lower() in MISSING:
        return "missing"
    if _NUMBER[decimal].match(cell):
        return "number"
    return "stamp" if _STAMP.match(cell) else "text"


def number_of(cell: str, decimal: str) -> float:
    """Value of a stripped cell, NaN where missing. Raises ValueError where it is neither."""
    if cell.lower() in MISSING:
        return float("nan")
    if not _NUMBER[decimal].match(cell):
        raise ValueError(cell)
    return float(cell.replace(",", ".").replace("d", "e").replace("D", "e"))


def shown(cell: str) -> str:
    """A cell as a message may repeat it: printable and short."""
    text = "".join(character if character.isprintable() else "·" for character in cell[:41])
    return text if len(text) <= 40 else text[:40] + "…"


Grouping = Literal[",", "."]

_SIGNS = str.maketrans({"−": "-", "–": "-", "﹣": "-", "-": "-"})
"""Minus signs of typesetting, which spreadsheets and documents put into copied tables."""

_PLAIN = re.compile(r"(?<=\d)['’\u00a0\u2009\u202f](?=\d{3}(?:\D|$))")
_PROOF: dict[Grouping, re.Pattern[str]] = {
    ",": re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+|,\d{3})(?![\d.,])", re.ASCII),
    ".": re.compile(r"(?<![\d.,:])\d{1,3}(?:\.\d{3})+(?:,\d+|\.\d{3})(?![\d.,])", re.ASCII),
}
_MARK: dict[Grouping, re.Pattern[str]] = {
    ",": re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))", re.ASCII),
    # Not the fraction of a time of day, 12:00:00.125.
    ".": re.compile(r"(?<=\d)(?<!:\d\d)\.(?=\d{3}(?:\D|$))", re.ASCII),
}
_QUOTED = re.compile(r'"[^"]*"')
LOOKS_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[.,]\d{3})+\Z", re.ASCII)
"""A number that is either grouped or has three decimals."""


def plain(text: str) -> str:
    """The text with ASCII minus signs and without blanks or apostrophes between groups of digits."""
    if text.isascii():
        return _PLAIN.sub("", text) if "'" in text else text
    return _PLAIN.sub("", text.translate(_SIGNS))


def grouping_of(lines: Sequence[str]) -> Grouping | None:
    """The mark between groups of digits, where a number proves that there is one. Commas count inside quotes, or where
    semicolons or tabs separate the columns."""
    separated = sum(";" in line or "\t" in line for line in lines) > len(lines) // 2
    for mark, proof in _PROOF.items():
        texts = lines if separated else ["\n".join(_QUOTED.findall(line)) for line in lines]
        if any(proof.search(text) for text in texts):
            return mark
    return None


def ungrouped(line: str, mark: Grouping) -> str:
    """The line without the mark between groups of digits; outside quotes only where commas separate no columns."""
    if ";" in line or "\t" in line:
        return _MARK[mark].sub("", line)
    return _QUOTED.sub(lambda quoted: _MARK[mark].sub("", quoted[0]), line)
