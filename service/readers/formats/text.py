"""Text files as numbered lines in blocks of bounded size, and the comment lines above the data."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from service.readers.cells import has_signs, kind_of, plain
from service.readers.errors import UnreadableData, too_large
from service.readers.names import looks_like_unit
from service.readers.options import Limits

_BLOCK = 4_000_000
_PREVIEW_LINES = 300
_PREVIEW_CHARACTERS = 4_000_000
MARKS = ("#", "%", "@", "//", "!", "&", '"#')
"""Characters with which a comment line starts."""

_DT = re.compile(
    r"(?:\bdt|\bdelta[ _]?t|(?-i:\bDelta_X)|\bΔt|\btime[ _]?step"
    r"|\bsampl(?:e|ing)[ _](?:interval|period|time)|\bframe[ _]interval"
    r"|\bSetScale/P x [^,]*,)\s*"
    r"(?:\(?\[?(?P<u1>[a-zµ]{1,3})\]?\)?)?\s*[:=]?"
    r"\s*(?P<value>\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(?:,\s*\")?(?P<u2>fs|ps|ns|us|µs|ms|s|min|h)?\b",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?:\bfps|\bframes?[ _]?(?:rate|per[ _]second)|\bsampl(?:ing|e)[ _]?(?:rate|freq(?:uency)?)"
    r"|\bsamples[ _]per[ _]second|\bacquisition[ _](?:rate|frequency)"
    r"|\bfs(?=\s*(?:[(\[]\w+[)\]])?\s*[:=]))"
    r"\s*[(\[]?\s*(?P<u1>hz|khz|mhz|1/s|s-1|fps)?\s*[)\]]?\s*[:=\t ]\s*"
    r"(?P<value>\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(?P<u2>hz|khz|mhz|1/s|s-1|fps)?(?![\w.])",
    re.IGNORECASE,
)
_PER_SECOND = re.compile(
    r"(?<![\w.])(?P<value>\d+(?:\.\d+)?)\s*(?:fps\b|frames?(?:/| per )s(?:ec(?:ond)?)?\b)",
    re.IGNORECASE,
)
_HERTZ = {"khz": 1e3, "mhz": 1e6}
_FIELDS = re.compile(r"#!\s*FIELDS\s+(?P<names>.+)")
_LONGEST_NAME = 60
_XVG_LABEL = re.compile(
    r'^@\s*(?:(?P<axis>[xy])axis\s+label|s(?P<set>\d+)\s+legend)\s+"(?P<text>[^"]*)"'
)
_IDENTIFIER = re.compile(r"[A-Za-zµΔ_][\w.]{0,20}(?:\s?[\[(/][^\])]{0,15}[\])]?)?\Z")


@dataclass(slots=True)
class Preamble:
    """Comment lines above the data, in the order of the file."""

    comments: list[str] = field(default_factory=list)
    n_skipped: int = 0
    """Number of lines above the header that are neither comments nor data."""

    signed: bool = False
    """Whether percent or currency signs were removed from numbers."""
    skipped_lines: list[str] = field(default_factory=list)
    """These lines; they may name the sampling interval."""

    def skipped(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Keep lines that were left out, each as its number and its cells."""
        self.n_skipped = len(rows)
        self.skipped_lines = [" ".join(cells)[:1000] for _, cells in rows[:1000]]

    def dt(self) -> tuple[float, str | None, str] | None:
        """Return the sampling interval, its unit and its words where the comments name only one."""
        found = {}
        for comment in (*self.comments, *self.skipped_lines):
            for match in _DT.finditer(comment):
                if (value := float(match["value"])) > 0:
                    found[value] = (value, match["u2"] or match["u1"], match[0].strip())
            for match in _RATE.finditer(comment):
                if (rate := float(match["value"])) > 0:
                    hertz = _HERTZ.get((match["u2"] or match["u1"] or "").lower(), 1.0)
                    value = float(f"{1 / (rate * hertz):.15g}")
                    found[value] = (value, "s", match[0].strip())
            for match in _PER_SECOND.finditer(comment):
                if (rate := float(match["value"])) > 0:
                    value = float(f"{1 / rate:.15g}")
                    found[value] = (value, "s", match[0].strip())
        return next(iter(found.values())) if len(found) == 1 else None

    def names(self, width: int, delimiter: str | None) -> list[str] | None:
        """Return `width` names of columns, from xvg labels or from a header in the last comment."""
        labels: dict[str, str] = {}
        for comment in self.comments:
            if match := _XVG_LABEL.match(comment):
                labels[match["axis"] or match["set"]] = match["text"].strip()
        if labels.get("x"):
            labels["0"] = labels.get("0") or labels.get("y", "")
            return [labels["x"], *(labels.get(str(j), "") for j in range(width - 1))]
        comments = [line for line in self.comments if line.strip("#%@!&/; \t")]
        if not comments:
            return None
        for comment in comments:
            # PLUMED writes lines of settings (#! SET) below the names.
            if fields := _FIELDS.match(comment):
                named = fields["names"].split()
                return named if len(named) == width else None
        if numbered := _numbered_header(comments[-1], width, delimiter):
            return numbered
        named = _names_in(comments[-1], width, delimiter)
        above = _names_in(comments[-2], width, delimiter) if len(comments) > 1 else None
        # NDBC's buoys write names and then units.
        units = named is not None and sum(map(looks_like_unit, named)) >= min(2, width)
        return above if above is not None and units else named


def _names_in(comment: str, width: int, delimiter: str | None) -> list[str] | None:
    """Return the names in a comment that is a header, else None."""
    line = re.sub(r"^[#%@!&/\"\s]+", "", comment).strip()
    cells = [cell.strip().strip('"') for cell in line.split(delimiter)]
    if len(cells) != width or len(set(cells)) != width:
        return None
    # MM is the month to the NDBC, and a missing value.
    named = all(
        _IDENTIFIER.match(cell) and (cell == "MM" or kind_of(cell, ".") == "text") for cell in cells
    )
    return cells if named else None


def _numbered_header(line: str, width: int, delimiter: str | None) -> list[str] | None:
    """Return the names in a header whose first column is called `#`, as loggers write it."""
    if delimiter is None or not line.startswith(f"#{delimiter}"):
        return None
    cells = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    if len(cells) != width or not all(len(cell) <= _LONGEST_NAME for cell in cells):
        return None
    return cells


def is_comment(line: str) -> bool:
    """Return whether a line is a comment; a quoted `#` alone is the name of a column."""
    start = line.lstrip()
    return start.startswith(MARKS) and not start.startswith('"#"')


def encoding_of(path: Path) -> str:
    """Recognise UTF-8 with or without byte order mark and UTF-16 with one; else Windows-1252."""
    with path.open("rb") as file:
        head = file.read(1_000_000)
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        head[: len(head) - 4 if len(head) == 1_000_000 else None].decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def blocks(file: TextIO, limits: Limits) -> Iterator[tuple[int, list[str]]]:
    """Yield blocks of lines, each with the number of its first line, until the end of the file."""
    first = 1
    while text := file.read(_BLOCK):
        if not text.endswith("\n"):
            text += file.readline(limits.line_length + 1)
        lines = plain(text).split("\n")
        if lines[-1] == "":
            lines.pop()
        longest = max(map(len, lines), default=0)
        if longest > limits.line_length:
            too_long = (k for k, line in enumerate(lines) if len(line) > limits.line_length)
            raise _too_long(first + next(too_long), limits)
        yield first, lines
        first += len(lines)


def _too_long(line: int, limits: Limits) -> UnreadableData:
    return too_large(
        f"Row {line} is longer than {limits.line_length:,} characters.",
        "Upload large arrays as NPY, NPZ or Parquet.",
    )


def preview_of(file: TextIO, limits: Limits) -> tuple[list[tuple[int, str]], Preamble]:
    """Read the beginning of a file.

    Returns the first lines with their numbers, without blank lines and comments, and the comments
    above the first of them. Raises UnreadableData for a line that is too long.
    """
    preamble = Preamble()
    lines: list[tuple[int, str]] = []
    size = 0
    for number in range(1, 100_000):
        line = file.readline(limits.line_length + 1)
        if not line:
            break
        if len(line) > limits.line_length:
            raise _too_long(number, limits)
        text = plain(line.rstrip("\r\n"))
        preamble.signed |= has_signs(line)
        if not text or text.isspace():
            continue
        if is_comment(text):
            if not lines and len(preamble.comments) < 1000:
                preamble.comments.append(text.strip()[:1000])
            continue
        lines.append((number, text))
        size += len(text)
        if len(lines) >= _PREVIEW_LINES or (size > _PREVIEW_CHARACTERS and len(lines) > 5):
            break
    return lines, preamble
