"""Dialect of a text table (delimiter, decimal mark, header, units), inferred from its beginning."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from service.readers.cells import CLOCK, CellKind, kind_of, shown
from service.readers.errors import UnreadableData
from service.readers.formats.programs import END_OF_HEADER
from service.readers.formats.text import Preamble
from service.readers.names import looks_like_unit

_CANDIDATES: tuple[tuple[str | None, str], ...] = (
    *((delimiter, ".") for delimiter in "\t,;|"),
    *((delimiter, ",") for delimiter in ";\t|"),
    (None, "."),
    (None, ","),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Rules by which lines are cut into cells, and the kind of each column."""

    delimiter: str | None
    """Character between cells; None for any run of blanks."""
    decimal: str
    kinds: tuple[CellKind, ...]
    """Kind of each column: number, stamp or text; missing where no value was seen."""
    names: tuple[str, ...] | None
    units: tuple[str | None, ...]
    header_line: str | None
    """Header as written; None without one."""
    first_line: int
    """Number of the first line of data, counted from 1."""
    trailing: bool
    """Whether every line ends with a delimiter after which nothing follows."""
    ragged: bool
    """Whether lines have different numbers of cells."""
    quoted: bool
    from_comment: bool
    """Whether the names are in a comment line."""
    preamble: Preamble

    def is_row(self, line: str, *, ragged: bool) -> bool:
        """Return whether a line has as many cells as a row, and numbers where a row has them."""
        cells = self.cells(line)
        if ragged:
            return all(kind_of(cell, self.decimal) != "text" for cell in cells)
        if len(cells) != len(self.kinds):
            return False
        pairs = [(cell, kind) for cell, kind in zip(cells, self.kinds, strict=True)]
        wanted = [(cell, kind) for cell, kind in pairs if kind in ("number", "stamp")]
        found_kinds = [kind_of(cell, self.decimal) for cell, _ in wanted]
        # A row may hold one faulty cell, which is then named; words in its first cell are none.
        leading = bool(found_kinds) and pairs[0] == wanted[0] and found_kinds[0] == "text"
        return not leading and any(kind in ("number", "stamp") for kind in found_kinds)

    def has_words(self, line: str) -> bool:
        """Return whether a line holds words or signs instead of numbers."""
        return any(kind_of(cell, self.decimal) == "text" for cell in self.cells(line))

    def cells(self, line: str) -> list[str]:
        """Return the stripped cells of a line, without the empty one after a trailing delimiter."""
        cells = split(line, self.delimiter, self.quoted)
        if self.trailing and cells and not cells[-1]:
            cells.pop()
        while len(cells) > len(self.kinds) and not cells[-1]:
            cells.pop()
        return cells


def split(line: str, delimiter: str | None, quoted: bool) -> list[str]:
    """Cut a line into stripped cells."""
    if quoted:
        rows = list(csv.reader([line], delimiter=delimiter or " ", skipinitialspace=True))
        return [cell.strip() for cell in rows[0]] if rows else []
    return [cell.strip() for cell in line.split(delimiter)]


def infer(lines: Sequence[tuple[int, str]], preamble: Preamble) -> Dialect:
    """Infer the dialect of a file from its first lines, without comments and blank lines.

    lines     number and text of each line
    preamble  comment lines above them; receives the number of lines that are left out

    Raises UnreadableData where no dialect gives numbers.
    """
    if not lines:
        raise UnreadableData("The file holds only comments or blank lines.", code="empty-file")
    lines = _below_the_header_of_a_program(lines, preamble)
    body = _body(lines)
    quoted = any('"' in text for text in body)
    delimiter, decimal = _delimiter_of(body, lines[0][1], quoted)
    rows = _without_words([split(text, delimiter, quoted) for text in body], decimal)
    trailing = delimiter is not None and all(len(row) > 1 and not row[-1] for row in rows)
    if trailing:
        rows = [row[:-1] for row in rows]
    counts = Counter(len(row) for row in rows)
    width = max(counts) if len(counts) > 3 else counts.most_common(1)[0][0]
    cells = ([row[j] for row in rows if j < len(row)] for j in range(width))
    kinds = tuple(_column_kind(column, decimal) for column in cells)
    quotes = quoted or any('"' in text for _, text in lines[:5])
    start, header, units = _first_data(lines, kinds, delimiter, decimal, quotes, preamble)
    if header is not None and len(header) == len(kinds) + 1 and not header[-1]:
        header = header[:-1]
    if header is not None and trailing and len(header) == width + 1:
        trailing, width, kinds = False, width + 1, (*kinds, "missing")
    if header is not None and len(header) == width - 1:
        # R writes no name above the row names; other programs leave the last column without a name
        # and empty.
        header = [*header, ""] if kinds[-1] == "missing" else ["", *header]
        units = ["", *units] if units and kinds[-1] != "missing" else units
    return Dialect(
        delimiter=delimiter,
        decimal=decimal,
        kinds=kinds,
        names=tuple(header) if header is not None else None,
        units=tuple(cell or None for cell in _padded(units, width)),
        header_line=_line_above(lines, start, bool(units)) if header is not None else None,
        first_line=start,
        trailing=trailing,
        ragged=len(counts) > 1,
        quoted=quoted,
        from_comment=header is not None and start == lines[0][0],
        preamble=preamble,
    )


def _below_the_header_of_a_program(
    lines: Sequence[tuple[int, str]], preamble: Preamble
) -> Sequence[tuple[int, str]]:
    """Return the lines after LabVIEW's last `***End_of_Header***`, and keep what stood above."""
    ends = [k for k, (_, text) in enumerate(lines) if text.startswith(END_OF_HEADER)]
    if not ends or ends[-1] + 1 == len(lines):
        return lines
    preamble.comments += [" ".join(text.split()) for _, text in lines[: ends[-1]]]
    return lines[ends[-1] + 1 :]


def _without_words(rows: Sequence[list[str]], decimal: str) -> list[list[str]]:
    """Leave out rows with words where most rows have none: closing lines, headers of segments."""
    plain = [row for row in rows if all(kind_of(cell, decimal) != "text" for cell in row)]
    return plain if 2 * len(plain) > len(rows) else list(rows)


def _line_above(lines: Sequence[tuple[int, str]], start: int, with_units: bool) -> str | None:
    """Return the text of the header: the line above the data, or above their units."""
    above = [text for number, text in lines if number < start]
    place = -2 if with_units else -1
    return above[place].strip() if len(above) >= -place else None


def _body(lines: Sequence[tuple[int, str]]) -> list[str]:
    """Return lines that are certainly data: up to 100 of the last two thirds."""
    body: list[str] = []
    for _, text in reversed(lines[-min(100, max(1, (2 * len(lines)) // 3)) :]):
        body.append(text)
        if len(body) >= 3 and sum(map(len, body)) > 200_000:
            break
    return body[::-1]


def _delimiter_of(body: Sequence[str], first: str, quoted: bool) -> tuple[str | None, str]:
    candidates = (*_CANDIDATES, (",", ",")) if quoted else _CANDIDATES
    best, best_score = candidates[0], (0.0, 0.0, 0)
    for delimiter, decimal in candidates:
        rows = [split(text, delimiter, quoted) for text in body]
        kinds = [kind_of(cell, decimal) for row in rows for cell in row]
        n_present = sum(kind != "missing" for kind in kinds)
        good = sum(kind in ("number", "stamp") for kind in kinds)
        common, n_common = Counter(len(row) for row in rows).most_common(1)[0]
        score = (round(good / max(n_present, 1), 2), round(n_common / len(rows), 1), common)
        if good and score > best_score:
            best, best_score = (delimiter, decimal), score
    if all(kind_of(cell, ".") == "missing" for text in body for cell in split(text, ",", quoted)):
        raise UnreadableData("Every value is missing.", code="too-few-samples")
    if best_score[0] == 0.0:
        raise UnreadableData(
            f"No numbers were found; the first line reads '{shown(first)}'.",
            "Upload a table of numbers: one row per sample, columns separated by commas, "
            "semicolons, tabs or blanks.",
        )
    if best_score[2] == 1:
        return None, best[1]
    if best == (",", ".") and _is_one_decimal_column(body, first):
        return None, ","
    return best


def _is_one_decimal_column(body: Sequence[str], first: str) -> bool:
    """Return whether lines like `1,542` are one number with a decimal comma, not two integers."""
    cells = [text.strip().split(",") for text in body]
    if not all(
        len(row) == 2
        and re.fullmatch(r"[+-]?\d+", row[0])
        and re.fullmatch(r"\d+(?:[eE][+-]?\d+)?", row[1])
        for row in cells
    ):
        return False
    headed = kind_of(first.split(",")[0].strip(), ".") == "text"
    if headed:
        return "," not in first
    left, right = [int(row[0]) for row in cells], [row[1] for row in cells]
    zeros = any(len(part) > 1 and part.startswith("0") for part in right)
    mantissas = all("e" in part.lower() for part in right) and max(map(abs, left)) < 10
    printed_alike = len({len(part) for part in right}) == 1 and len(right[0]) >= 3
    counted = all(b > a for a, b in pairwise(left))
    return zeros or mantissas or (printed_alike and not counted)


def _column_kind(cells: Sequence[str], decimal: str) -> CellKind:
    present = [kind for kind in (kind_of(cell, decimal) for cell in cells) if kind != "missing"]
    if not present:
        return "missing"
    (most, count), *_ = Counter(present).most_common()
    return most if count * 2 > len(present) else "text"


def _first_data(
    lines: Sequence[tuple[int, str]],
    kinds: Sequence[CellKind],
    delimiter: str | None,
    decimal: str,
    quoted: bool,
    preamble: Preamble,
) -> tuple[int, list[str] | None, list[str]]:
    """Return the number of the first line of data, the cells of the header, and of the units."""
    text_rows: list[tuple[int, list[str]]] = []
    for number, text in lines:
        row = split(text, delimiter, quoted)
        found = [kind_of(cell, decimal) for cell in row]
        expected = list(zip(found, kinds, strict=False))
        n_numbers = sum(kind in ("number", "stamp") and want == kind for kind, want in expected)
        if n_numbers and not _is_numbered_header(row, found, kinds):
            if _is_above(row, found, kinds, text_rows, lines, number, delimiter, quoted):
                text_rows.append((number, row))
                continue
            whole = all(cell.lstrip("+-").isdigit() for cell in row)
            above = _header_and_units(text_rows, len(kinds), preamble, delimiter, whole=whole)
            return number, *above
        text_rows.append((number, row))
    raise UnreadableData(
        "No line has numbers in the columns of numbers.",
        "Check that header, delimiter and decimal mark are consistent.",
    )


def _is_above(
    row: Sequence[str],
    found: Sequence[CellKind],
    kinds: Sequence[CellKind],
    text_rows: Sequence[tuple[int, list[str]]],
    lines: Sequence[tuple[int, str]],
    number: int,
    delimiter: str | None,
    quoted: bool,
) -> bool:
    """Return whether a line with numbers stands above the header or above the table."""
    width = len(kinds)
    place = next(k for k, (line, _) in enumerate(lines) if line == number)
    following = [split(text, delimiter, quoted) for _, text in lines[place + 1 : place + 21]]
    # The first and last year, or the numbers of rows and columns, in a line of their own.
    counts = len(row) <= 2 and all(cell.isdigit() for cell in row) and not text_rows
    if counts and width > 2 * len(row) and len(following) > 2:
        return all(len(other) == width for other in following[: max(3, len(following) // 2)])
    named = any(
        kind == "text" and want in ("number", "stamp")
        for kind, want in zip(found, kinds, strict=False)
    )
    short = len(row) < width - 1 and not text_rows
    words_follow = bool(following) and any(kind_of(x, ".") == "text" for x in following[0])
    may_be = short or named or (words_follow and len(following[0]) < width)
    return may_be and _is_preamble(lines, number, width, delimiter, quoted)


def _is_preamble(
    lines: Sequence[tuple[int, str]], number: int, width: int, delimiter: str | None, quoted: bool
) -> bool:
    """Return whether a header of full width follows a line with a number (`Samples: 100`)."""
    later = [split(text, delimiter, quoted) for line, text in lines if line > number][:40]
    full = [row for row in later if len(row) >= width and any(row)]
    return any(all(kind_of(cell, ".") == "text" for cell in row if cell) for row in full)


def _is_numbered_header(
    row: Sequence[str], found: Sequence[CellKind], kinds: Sequence[CellKind]
) -> bool:
    """Return whether a row names its columns by number: `,0,1,2` or `t,1,2,3`."""
    if len(row) < 2 or kinds[0] == "text" or found[0] not in ("text", "missing"):
        return False
    digits = all(cell.isdigit() for cell in row[1:])
    return digits and all(int(b) - int(a) == 1 for a, b in pairwise(row[1:]))


def _header_and_units(
    text_rows: Sequence[tuple[int, list[str]]],
    width: int,
    preamble: Preamble,
    delimiter: str | None,
    *,
    whole: bool,
) -> tuple[list[str] | None, list[str]]:
    full = [row for _, row in text_rows if abs(len(row) - width) <= 1]
    if not text_rows:
        return preamble.names(width, delimiter), []
    last = text_rows[-1][1]
    if width == 1 and len(last) > 1:
        last = [" ".join(last)]
    if abs(len(last) - width) > 1:
        if len(last) > 1 and width <= 2 * len(last) and whole:
            raise UnreadableData(
                f"Row {text_rows[-1][0]} names {len(last)} columns, but {width} whole numbers "
                "follow in each row.",
                "If the decimal mark is a comma, separate columns by semicolons or tabs, or "
                "put the numbers in quotes.",
            )
        preamble.skipped(text_rows)
        return None, []
    joined = _joined_names(full)
    if joined is not None:
        preamble.skipped(text_rows[: -len(full)])
        return joined, []
    _keep_increment([row for _, row in text_rows], preamble)
    origin = _names_above_units(full)
    if origin is not None:
        preamble.skipped(text_rows[: -len(full)])
        return origin
    units: list[str] = []
    if len(full) > 1 and any(last) and all(looks_like_unit(cell) for cell in last if cell):
        units = [re.sub(r"^[\[({]|[\])}]$", "", cell) for cell in last]
        full = full[:-1]
    # Of several rows of names the first holds the names of the program that wrote the file.
    names = full[0] if len(full) > 1 and _are_names(full[0], full[1:], width) else full[-1]
    preamble.skipped(text_rows[: len(text_rows) - 1 - bool(units)])
    return names, units


def _names_above_units(rows: Sequence[list[str]]) -> tuple[list[str], list[str]] | None:
    """Return names and units where a row of comments follows them (Origin), else None."""
    for names, units, _ in zip(rows, rows[1:], rows[2:], strict=False):
        if all(names) and all(units) and all(map(looks_like_unit, units)):
            return list(names), [re.sub(r"^[\[({]|[\])}]$", "", cell) for cell in units]
    return None


def _keep_increment(rows: Sequence[Sequence[str]], preamble: Preamble) -> None:
    """Keep the step of an oscilloscope (Rigol) that stands under `Increment` in the header."""
    for names, values in pairwise(rows):
        for name, value in zip(names, values, strict=False):
            if name.lower() == "increment" and kind_of(value, ".") == "number":
                preamble.comments.append(f"dt = {value}")


def _are_names(row: Sequence[str], others: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether the rows name the same columns: as many, and all named in the first row."""
    alike = all(len(other) == len(row) == width for other in others)
    return alike and all(row) and len(set(row)) == width and all(map(all, others))


def _joined_names(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Return `nose x`, `nose y`, … for DeepLabCut's rows of body parts and coordinates."""
    levels = {row[0].lower(): row[1:] for row in rows if row}
    if not {"bodyparts", "coords"} <= levels.keys():
        return None
    parts = [levels[key] for key in ("individuals", "bodyparts", "coords") if key in levels]
    return ["frame", *(" ".join(cells) for cells in zip(*parts, strict=False))]


def _padded(cells: Sequence[str], width: int) -> list[str]:
    return [*cells[:width], *[""] * (width - len(cells))]


def is_split_stamp(kinds: Sequence[CellKind], row: Sequence[str], j: int) -> bool:
    """Return whether columns j and j+1 are a date and its time of day, split at their blank."""
    if j + 1 >= min(len(kinds), len(row)) or kinds[j] != "stamp" or kinds[j + 1] != "stamp":
        return False
    return not CLOCK.match(row[j]) and CLOCK.match(row[j + 1]) is not None
