"""Columns of a text table, parsed block by block: by NumPy's C parser, or cell by cell.

`pyarrow.csv` was tried in place of `numpy.loadtxt`. The CPU time of 106 MB of numbers stayed the
same (1.9 s; with 2 % missing 1.9 s for 4.3 s), but its import made a small upload three times as
long (0.41 s for 0.14 s, 122 MB for 42 MB). It does not know missing values with blanks around them
(13.7 s for 7.0 s), or runs of blanks as delimiters.
"""

import re
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter

import numpy as np

from service.readers.cells import MISSING, kind_of, number_of, shown
from service.readers.errors import UnreadableData, too_large
from service.readers.evidence import locate, located_all
from service.readers.formats.dialect import Dialect, is_split_stamp
from service.readers.formats.text import MARKS, is_comment
from service.readers.names import has_role, split_unit
from service.readers.options import Layout, Limits, Notes
from service.readers.table import Column, Floats, Lines, Table
from service.readers.timestamps import column_of_stamps

_FIRST_ROWS = 4
"""Number of rows of which the cells of unread columns are kept, for the report."""
_COMMENT_HEADS = frozenset(mark[0] for mark in MARKS)


class WordsInEmptyColumn(Exception):
    """A column whose cells were empty in the first lines holds words further on."""

    def __init__(self, column: int) -> None:
        """Name the column by its index."""
        super().__init__(column)
        self.column = column


class ColumnParser:
    """Parser that collects the columns of a table from blocks of lines."""

    def __init__(self, dialect: Dialect, layout: Layout, limits: Limits) -> None:
        """Select the columns to parse by the dialect of the file and the layout."""
        self.dialect = dialect
        self.limits = limits
        self.lines = Lines()
        self.first_rows: list[list[str]] = []
        self.n_rows = 0
        self.n_blank = 0
        self.n_headers = 0
        self.pending_blank = 0
        wanted = sorted(_wanted(dialect, layout))
        self.numeric = [j for j in wanted if dialect.kinds[j] in ("number", "missing")]
        self.stamped = [j for j in wanted if dialect.kinds[j] == "stamp"]
        self.worded = [j for j in wanted if dialect.kinds[j] == "text"]
        self.wordy = bool(self.stamped or self.worded)
        self.ragged = rows_may_differ(dialect, layout)
        self.numbers: list[Floats] = []
        self.stamps: dict[int, list[list[str]]] = {j: [] for j in self.stamped}
        self.joined: set[int] = set()
        """Columns with the time of day to the dates of the column before them."""
        self.codes: dict[int, list[list[int]]] = {j: [] for j in self.worded}
        self.labels: dict[int, dict[str, int]] = {j: {} for j in self.worded}

    def add(self, first_line: int, lines: list[str]) -> None:
        """Parse a block of lines. Raises UnreadableData naming row and column."""
        numbers, kept = self._data_lines(first_line, lines)
        if not kept:
            return
        if self.n_rows == 0:
            self.lines = Lines([0], [numbers[0]])
            self.first_rows = [self.dialect.cells(line) for line in kept[:_FIRST_ROWS]]
        if numbers[-1] - numbers[0] == len(kept) - 1:
            self.lines.start(self.n_rows, numbers[0])
        else:
            for sample, number in enumerate(numbers, start=self.n_rows):
                self.lines.start(sample, number)
        if self.wordy:
            self._words(numbers, kept)
        block = self._fast(kept) if self.numeric else np.empty((len(kept), 0))
        if block is None:
            block = self._cell_by_cell(numbers, kept)
        self.numbers.append(block)
        self.n_rows += len(kept)
        if self.n_rows * len(self.dialect.kinds) > self.limits.numbers:
            raise too_large(
                f"The file holds more than {self.limits.numbers:,} numbers.",
                "Upload fewer samples, or keep only the columns needed.",
            )

    def table(self, notes: Notes) -> Table:
        """Return the table of all columns."""
        width = max([block.shape[1] for block in self.numbers], default=0)
        if self.ragged:
            self.numbers = [_padded(block, width) for block in self.numbers]
            self.numeric = list(range(width))
        matrix = np.concatenate(self.numbers) if self.numbers else np.empty((0, 0))
        self.numbers.clear()
        names, units = self.dialect.names, self.dialect.units
        columns, unread = [], []
        for j in range(max(width, len(self.dialect.kinds))):
            name = names[j] if names is not None and j < len(names) else ""
            unit = units[j] if j < len(units) else None
            if j in self.numeric:
                values = matrix[:, self.numeric.index(j)]
                unit = unit or split_unit(name)[1]
                columns.append(Column(j + 1, name or None, "number", values, unit))
            elif j in self.stamps:
                cells = list(chain(*self.stamps[j]))
                columns.append(column_of_stamps(cells, j + 1, name or None, self.lines, notes))
            elif j in self.codes:
                codes = np.fromiter(chain(*self.codes[j]), dtype=np.int64)
                labels = tuple(self.labels[j])
                columns.append(Column(j + 1, name or None, "text", codes, labels=labels))
            else:
                unread.append(self._unread(j, name or None, unit, notes))
        if self.n_headers:
            times = "once" if self.n_headers == 1 else f"{self.n_headers} times"
            notes.assume(f"the header is repeated {times} between the data and was ignored there")
        if self.n_blank:
            notes.assume(f"{self.n_blank} blank lines between the data were ignored")
        return Table(tuple(columns), self.lines, unread=tuple(unread))

    def _unread(self, j: int, name: str | None, unit: str | None, notes: Notes) -> Column:
        """Make a column of the first values alone."""
        cells = [row[j] if j < len(row) else "" for row in self.first_rows]
        if self.dialect.kinds[j] in ("number", "missing"):
            values = np.asarray([_number_or_nan(cell, self.dialect) for cell in cells])
            return Column(j + 1, name, "number", values, unit or split_unit(name or "")[1])
        if self.dialect.kinds[j] == "stamp" and j not in self.joined:
            return column_of_stamps(cells, j + 1, name, self.lines, Notes())
        column = Column(j + 1, name, "text", np.arange(len(cells)), labels=tuple(cells))
        if j in self.joined:
            notes.place("time", "holds the time of the dates before it", column)
        return column

    def _data_lines(self, first_line: int, lines: list[str]) -> tuple[Sequence[int], list[str]]:
        start = max(0, self.dialect.first_line - first_line)
        lines = lines[start:]
        first_line += start
        header = self.dialect.header_line
        if header is not None and any(line.strip() == header for line in lines):
            # A file that was joined from several repeats their header.
            self.n_headers += sum(line.strip() == header for line in lines)
            lines = ["#" if line.strip() == header else line for line in lines]
        if (
            all(map(str.strip, lines))
            and _COMMENT_HEADS.isdisjoint(map(itemgetter(0), map(str.lstrip, lines)))
            and not self.pending_blank
        ):
            return range(first_line, first_line + len(lines)), lines
        kept, numbers = [], []
        for number, line in enumerate(lines, start=first_line):
            if not line or line.isspace():
                self.pending_blank += 1
            elif not is_comment(line):
                kept.append(line)
                numbers.append(number)
                if self.pending_blank:
                    self.n_blank += self.pending_blank if self.n_rows or len(kept) > 1 else 0
                    self.pending_blank = 0
        return numbers, kept

    def _fast(self, lines: list[str]) -> Floats | None:
        """Parse a block (n, numeric columns) by NumPy's C parser; None where a cell defeats it."""
        dialect = self.dialect
        width = len(dialect.kinds)
        if self.ragged or (dialect.decimal == "," and dialect.delimiter == ","):
            return None
        if dialect.decimal == "," and any("." in line for line in lines):
            return None  # among decimal commas the value of 1.234 is not certain
        whole = len(self.numeric) == width
        checked = whole or self.wordy
        if not checked and any(len(dialect.cells(line)) != width for line in lines):
            return None
        for rewrite in (self._plain, self._with_nan, self._without_words):
            try:
                block = np.loadtxt(
                    rewrite(lines),
                    delimiter=dialect.delimiter,
                    comments=None,
                    quotechar='"' if dialect.quoted else None,
                    usecols=None if whole else self.numeric,
                    ndmin=2,
                )
            except ValueError:
                continue
            if block.shape == (len(lines), len(self.numeric)) and not np.isinf(block).any():
                return np.asarray(block, dtype=np.float64)
        return None

    def _plain(self, lines: list[str]) -> list[str]:
        if self.dialect.decimal == ",":
            lines = [line.replace(",", ".") for line in lines]
        if self.dialect.trailing and self.dialect.delimiter is not None:
            lines = [line.rstrip(" ").removesuffix(self.dialect.delimiter) for line in lines]
        return lines

    def _with_nan(self, lines: list[str]) -> list[str]:
        text = "\n" + "\n".join(self._plain(lines)) + "\n"
        delimiter = self.dialect.delimiter
        if delimiter is not None:
            if " " in text:
                text = re.sub(rf" *{re.escape(delimiter)} *", lambda _: delimiter, text)
            for _ in range(2):
                text = text.replace(delimiter * 2, f"{delimiter}nan{delimiter}")
            text = text.replace(f"\n{delimiter}", f"\nnan{delimiter}").replace(
                f"{delimiter}\n", f"{delimiter}nan\n"
            )
        return text[1:-1].split("\n")

    def _without_words(self, lines: list[str]) -> list[str]:
        text = "\n" + "\n".join(self._with_nan(lines)) + "\n"
        return _WORDS[self.dialect.delimiter].sub("nan", text)[1:-1].split("\n")

    def _cell_by_cell(self, numbers: Sequence[int], lines: list[str]) -> Floats:
        dialect = self.dialect
        rows = []
        for number, line in zip(numbers, lines, strict=True):
            cells = dialect.cells(line)
            if not self.ragged:
                _check_count(number, cells, dialect)
            elif len(cells) > self.limits.columns:
                raise too_wide(len(cells), number, self.limits)
            picked = range(len(cells)) if self.ragged else self.numeric
            for j in picked:
                if not self.ragged and dialect.kinds[j] == "missing":
                    _refuse_words(cells[j], j, dialect)
            rows.append([_number(cells[j], number, j, dialect) for j in picked])
        width = max(map(len, rows))
        padded = [row + [np.nan] * (width - len(row)) for row in rows]
        return np.asarray(padded, dtype=np.float64).reshape(len(rows), width)

    def _words(self, numbers: Sequence[int], lines: list[str]) -> None:
        dialect = self.dialect
        rows = (
            [dialect.cells(line) for line in lines]
            if dialect.quoted
            else [line.split(dialect.delimiter) for line in lines]
        )
        width = len(dialect.kinds) + (dialect.trailing and not dialect.quoted)
        if set(map(len, rows)) != {width}:
            for number, line in zip(numbers, lines, strict=True):
                _check_count(number, dialect.cells(line), dialect)
        for j in self.stamped:
            if j and j - 1 in self.stamps and is_split_stamp(dialect.kinds, rows[0], j - 1):
                days = self.stamps[j - 1]
                days[-1] = [
                    f"{day} {row[j].strip()}" for day, row in zip(days[-1], rows, strict=True)
                ]
                self.stamps.pop(j)
                self.joined.add(j)
                self.stamped = [k for k in self.stamped if k != j]
            elif j in self.stamps:
                self.stamps[j].append([row[j].strip() for row in rows])
        for j in self.worded:
            known = self.labels[j]
            words = (row[j].strip() for row in rows)
            self.codes[j].append(
                [-1 if x.lower() in MISSING else known.setdefault(x, len(known)) for x in words]
            )


def _missing_words(delimiter: str | None) -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in sorted(MISSING - {""}, key=len, reverse=True))
    before, after = rf"(?<=[\n{delimiter}])", rf"(?=[\n{delimiter}])"
    if delimiter is None:
        before, after = r"(?<!\S)", r"(?!\S)"
    return re.compile(rf"{before}(?:{words}){after}", re.IGNORECASE)


_WORDS = {delimiter: _missing_words(delimiter) for delimiter in (None, "\t", ",", ";", "|")}


def _wanted(dialect: Dialect, layout: Layout) -> set[int]:
    """Return the indices of the columns to read: all, or the ones that the layout needs."""
    everything = set(range(len(dialect.kinds)))
    if layout.orientation == "rows":
        return everything
    names = [
        dialect.names[j] if dialect.names is not None and j < len(dialect.names) else None
        for j in range(len(dialect.kinds))
    ]
    ignored = layout.ignored_columns or ()
    everything -= {locate(given, names, "ignored_columns") for given in ignored}
    if layout.state_columns is None:
        return everything
    wanted = {locate(given, names, "state_columns") for given in layout.state_columns}
    for field, given_names in layout.beside.items():
        wanted.update(locate(given, names, field) for given in given_names)
    if layout.time_column is not None:
        wanted.add(locate(layout.time_column, names, "time_column"))
    if layout.id_column is not None:
        wanted.update(located_all(layout.id_column, names))
    roles = {j for j in everything if dialect.kinds[j] == "stamp" or has_role(names[j])}
    return (wanted & everything) | roles


def rows_may_differ(dialect: Dialect, layout: Layout) -> bool:
    """Return whether rows are trajectories that may have different lengths."""
    numeric = all(kind in ("number", "missing") for kind in dialect.kinds)
    guessed = layout.orientation is None and dialect.names is None and len(dialect.kinds) > 20
    return dialect.ragged and numeric and (layout.orientation == "rows" or guessed)


def too_wide(width: int, line: int, limits: Limits) -> UnreadableData:
    """Make the error for a row with more columns than are read from text."""
    return too_large(
        f"Row {line} has {width:,} columns; at most {limits.columns:,} are read from text.",
        "Upload wide arrays as NPY, NPZ or Parquet.",
    )


def _check_count(number: int, cells: Sequence[str], dialect: Dialect) -> None:
    width = len(dialect.kinds)
    if len(cells) != width:
        what = "value" if len(cells) == 1 else "values"
        hints = ["Write NaN for a missing value, so that every row has the same number of columns."]
        if dialect.names is None:
            hints.append("If rows are trajectories of different lengths, set orientation=rows.")
        if dialect.delimiter == "," and len(cells) == 2 * width:
            hints.append("Decimal commas need another delimiter, for instance a semicolon.")
        detail = f"Row {number} has {len(cells)} {what} where {width} are expected."
        raise UnreadableData(detail, *hints)


def _refuse_words(cell: str, j: int, dialect: Dialect) -> None:
    if kind_of(cell, dialect.decimal) == "text":
        raise WordsInEmptyColumn(j)


def _number(cell: str, number: int, j: int, dialect: Dialect) -> float:
    name = dialect.names[j] if dialect.names is not None and j < len(dialect.names) else ""
    place = f"Row {number}, column {j + 1}" + (f" ('{name}')" if name else "")
    try:
        value = number_of(cell, dialect.decimal)
    except ValueError:
        raise UnreadableData(
            f"{place}: '{shown(cell)}' is not a number.",
            "Write NaN or nothing for a missing value, or omit the column by state_columns.",
        ) from None
    if np.isinf(value):
        raise UnreadableData(f"{place}: the value is infinite.", "Write NaN for a missing value.")
    return value


def _number_or_nan(cell: str, dialect: Dialect) -> float:
    try:
        return number_of(cell, dialect.decimal)
    except ValueError:
        return float("nan")


def _padded(block: Floats, width: int) -> Floats:
    return np.pad(block, ((0, 0), (0, width - block.shape[1])), constant_values=np.nan)
