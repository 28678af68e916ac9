"""Digits in groups of three, and signs that only look like a minus: lines as a number parser wants them.

Blanks and apostrophes between groups are plain (`1 234,5`, `1'234.5`). A comma or point between groups looks like a decimal mark;
it is taken out only where some number of the file has both (`1.234,5`) or more than one (`1,234,567`).
"""

import re
from collections.abc import Sequence
from typing import Literal

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
