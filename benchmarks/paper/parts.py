"""The shape that all items share: tables, sentences, and claims with a verdict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["yes", "no", "partly", "open"]

SCATTER = 2.0
"""Standard deviations of a single seed within which a published number counts as a draw of ours."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Sentence of the paper that can be right or wrong.

    said       claim in our words
    where      label, section or table of the paper
    published  number as printed
    measured   our number
    """

    said: str
    where: str
    published: str
    measured: str
    holds: Verdict


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header. The first column is text, the others numbers or `words`."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One item of the paper. The paragraphs of `text` follow the tables and interpret them."""

    title: str
    where: str
    tables: tuple[Table, ...]
    text: tuple[str, ...]
    claims: tuple[Claim, ...] = ()


def verdict(right: bool) -> Verdict:
    """Return yes or no."""
    return "yes" if right else "no"


def of_all(right: Sequence[bool]) -> Verdict:
    """Return yes where all are right, no where none is, else partly."""
    return "yes" if all(right) else "partly" if any(right) else "no"


def within_scatter(published: float, values: Sequence[float]) -> bool:
    """Return whether a published number could be one more of these draws."""
    return (
        bool(abs(published - np.mean(values)) <= SCATTER * np.std(values, ddof=1))
        if len(values) > 1
        else False
    )


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Format mean ± standard deviation of a single seed."""
    return (
        f"{_signed(float(np.mean(values)), digits)} ± "
        f"{np.std(values, ddof=min(1, len(values) - 1)):.{digits}f}"
    )


def percent(value: float, digits: int = 1) -> str:
    """Format a share in percent."""
    return f"{_signed(100 * value, digits)} %"


def percents(values: Sequence[float], digits: int = 1) -> str:
    """Format mean ± standard deviation of a single seed, of shares in percent."""
    return f"{spread([100 * v for v in values], digits)} %"


def rms(values: Sequence[float]) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def number(value: float, digits: int = 3) -> str:
    """Format a number."""
    return _signed(value, digits)


def sizes(values: Iterable[float], digits: int = 2) -> str:
    """Format several numbers: `1, 2.5, 10`."""
    return ", ".join(f"{v:.{digits}g}" for v in values)


def _signed(value: float, digits: int) -> str:
    """Format with a typeset minus, no minus zero, and a dash where there is no number."""
    if np.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "" if float(text) == 0 else "−")
