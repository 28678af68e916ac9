"""Text tables of any dialect, read in blocks so that memory holds the numbers but not the text."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from service.readers.cells import MISSING, grouping_of, shown, ungrouped
from service.readers.formats.column_parser import (
    ColumnParser,
    WordsInEmptyColumn,
    rows_may_differ,
    too_wide,
)
from service.readers.formats.dialect import Dialect, infer
from service.readers.formats.programs import rewriter_of, without_words_below
from service.readers.formats.text import blocks, encoding_of, is_comment, preview_of
from service.readers.options import Layout, Limits, Notes
from service.readers.table import LARGEST_EXACT, NOT_A_TIME, Column, Table

_SPOKEN = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def read(path: Path, layout: Layout, limits: Limits, notes: Notes) -> Table:
    """Read the table in a text file; where rows are trajectories, short rows are padded with NaN.

    Raises UnreadableData naming row and column.
    """
    encoding = encoding_of(path)
    with path.open(encoding=encoding, errors="replace", newline=None) as file:
        preview, preamble = preview_of(file, limits)
    grouping = grouping_of([text for _, text in preview])
    if grouping is not None:
        notes.assume(f"'{grouping}' separates groups of three digits")
        preview = [(number, ungrouped(text, grouping)) for number, text in preview]
    original = [text for _, text in preview]
    rewriter = rewriter_of(original)
    if rewriter is not None:
        preview = [(number, rewriter(text)) for number, text in preview]
        preview = [(number, text) for number, text in preview if not is_comment(text)]
    dialect = infer(preview, preamble)
    if len(dialect.kinds) > limits.columns:
        raise too_wide(len(dialect.kinds), dialect.first_line, limits)
    _describe(dialect, encoding, notes)
    below: list[str] = []

    def rows() -> Iterator[tuple[int, list[str]]]:
        below.clear()
        with path.open(encoding=encoding, errors="replace", newline=None) as file:
            found = blocks(file, limits)
            rewriter = rewriter_of(original)
            if rewriter is not None:
                found = ((first, list(map(rewriter, lines))) for first, lines in found)
            if grouping is not None:
                found = ((first, [ungrouped(x, grouping) for x in lines]) for first, lines in found)
            yield from without_words_below(
                found,
                lambda line: dialect.is_row(line, ragged=rows_may_differ(dialect, layout)),
                dialect.has_words,
                below,
            )

    parser = None
    while parser is None:
        try:
            parser = _parsed(rows(), dialect, layout, limits)
        except WordsInEmptyColumn as found:
            kinds = list(dialect.kinds)
            kinds[found.column] = "text"
            dialect = replace(dialect, kinds=tuple(kinds))
    if below:
        lines = (
            "1 line below the table was"
            if len(below) == 1
            else f"{len(below)} lines below the table were"
        )
        notes.assume(f"{lines} ignored: '{shown(below[0])}'")
        dialect.preamble.skipped_lines += below
    notes.dt_in_file = dialect.preamble.dt()
    table = parser.table(notes)
    columns = (_with_every_digit(one, rows(), dialect) for one in table.columns)
    return replace(table, columns=tuple(columns))


def _parsed(
    rows: Iterator[tuple[int, list[str]]], dialect: Dialect, layout: Layout, limits: Limits
) -> ColumnParser:
    parser = ColumnParser(dialect, layout, limits)
    for first_line, lines in rows:
        parser.add(first_line, lines)
    return parser


def _with_every_digit(
    column: Column, rows: Iterator[tuple[int, list[str]]], dialect: Dialect
) -> Column:
    """Read a column of whole numbers beyond 2^53 (nanoseconds since 1970) again, as int64."""
    numeric = column.kind == "number" and not dialect.ragged
    if not numeric or not np.any(np.abs(column.values) > LARGEST_EXACT):
        return column
    whole: list[int] = []
    for first_line, lines in rows:
        for number, line in enumerate(lines, start=first_line):
            if number < dialect.first_line or not line or line.isspace() or is_comment(line):
                continue
            cell = dialect.cells(line)[column.position - 1]
            try:
                whole.append(NOT_A_TIME if cell.lower() in MISSING else int(cell))
            except ValueError:
                return column
    if not NOT_A_TIME <= min(whole) <= max(whole) < -NOT_A_TIME:
        return column
    return replace(column, values=np.asarray(whole, dtype=np.int64))


def _describe(dialect: Dialect, encoding: str, notes: Notes) -> None:
    if dialect.delimiter not in (",", None):
        notes.assume(f"columns are separated by {_SPOKEN[dialect.delimiter]}")
    if dialect.decimal == ",":
        notes.assume("decimal commas")
    if dialect.names is None:
        notes.assume("there is no header; columns are named by their numbers")
    elif dialect.from_comment:
        notes.assume("the names of the columns come from the comment lines")
    if dialect.preamble.signed:
        notes.assume("percent and currency signs were removed from the numbers")
    if any(dialect.units):
        notes.assume("the row under the header holds units")
    if encoding == "cp1252":
        notes.assume("the text is in Windows-1252, as it is not UTF-8")
    if dialect.preamble.n_skipped:
        notes.assume(f"{dialect.preamble.n_skipped} lines above the header were ignored")
