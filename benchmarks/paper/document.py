"""Composition of docs/paper.md from the parts."""

import textwrap
from collections.abc import Iterator, Sequence

from benchmarks.paper.parts import Claim, Part, Table

WIDTH = 140

IN_SHORT = (
    "The published coefficients, densities and figures are what Algorithm 1 gives: this project's "
    "`paper` preset finds them again.",
    "Their errors of three to four percent are not noise. Rows stacked by trajectory keep a bias "
    "that more trajectories never remove; the same equations, added up first, are at the "
    "Cramér–Rao bound. That bias is also the “floor” of fig:convergence and the slope of "
    "fig:hyperparams, which the paper puts down to discretisation and to smoothing.",
    "Weights in time fail, as the paper says: they find no drift at all. But their bias does not "
    "grow with the record.",
    "Terms are chosen by the threshold on raw coefficients, hardly by the lasso.",
    "The estimator is not robust to measurement noise (thm:noise is false), and increments "
    "regressed as they are do not get noisier as dt → 0.",
    "The escape times printed do not follow from the formula beside them.",
)


def document(parts: Sequence[Part], how: str) -> str:
    """Return the Markdown text; `how` states how it was made."""
    return (
        "\n".join(
            (*_head(how), *_summary(parts), *(line for p in parts for line in _part(p)))
        ).rstrip()
        + "\n"
    )


def _head(how: str) -> Iterator[str]:
    yield "# The paper, reproduced"
    yield ""
    yield from _paragraph(
        "*Data-Driven Weak-form Discovery of Stochastic Systems* (R A and Honnavar): every table "
        "and figure, through this project's own core. `paper` is its Algorithm 1 to the letter "
        "(`preset: paper`); default is what a job does that asks for nothing "
        "([method.md](method.md)). Words like tab:coefficients are labels in the paper's source."
    )
    yield from _paragraph(how)


def _summary(parts: Sequence[Part]) -> Iterator[str]:
    claims = [c for p in parts for c in p.claims]
    yield "## In short"
    yield ""
    for sentence in IN_SHORT:
        yield from textwrap.wrap(
            sentence, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False
        )
    yield ""
    counts = {v: sum(c.holds == v for c in claims) for v in ("yes", "partly", "no")}
    yield from _paragraph(
        f"Of {len(claims)} claims {counts['yes']} hold, {counts['partly']} hold in part, "
        f"{counts['no']} do not. ± is the standard deviation of a single seed; a published number "
        "“within the scatter” is within two of them of our mean. The items follow in the paper's "
        "order."
    )
    for title, verdicts in (
        ("What holds", ("yes",)),
        ("What holds in part", ("partly",)),
        ("What does not hold", ("no",)),
    ):
        chosen = [c for c in claims if c.holds in verdicts]
        if chosen:
            yield f"### {title}"
            yield ""
            yield from _claims(chosen)


def _claims(claims: Sequence[Claim]) -> Iterator[str]:
    rows = tuple((c.said, c.where, c.published, c.measured, c.holds) for c in claims)
    yield from _rows(("claim", "where", "published", "measured", "holds?"), rows, numeric=False)


def _part(part: Part) -> Iterator[str]:
    yield f"## {part.title}"
    yield ""
    yield f"*{part.where[:1].upper()}{part.where[1:]}.*"
    yield ""
    for table in part.tables:
        yield from _table(table)
    for text in part.text:
        yield from _paragraph(text)


def _table(table: Table) -> Iterator[str]:
    yield from _paragraph(table.caption)
    yield from _rows(table.header, table.rows, numeric=not table.words)


def _paragraph(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    yield ""


def _rows(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, numeric: bool
) -> Iterator[str]:
    align = ["---", *(["---:" if numeric else "---"] * (len(header) - 1))]
    for row in (header, align, *rows):
        if len(row) != len(header):
            raise ValueError(f"a row of {len(row)} cells under {len(header)} columns: {row}")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""
