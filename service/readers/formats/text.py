"""Text files as numbered lines, in blocks of bounded size, and what the comment lines above the data say."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from service.readers.cells import kind_of, plain
from service.readers.errors import too_large
from service.readers.limits import Limits

_BLOCK = 4_000_000
_PREVIEW_LINES = 300
_PREVIEW_CHARACTERS = 4_000_000
MARKS = ("#", "%", "@", "//", "!", "&", '"#')
"""What a comment line starts with."""

_DT = re.compile(
    r"(?:\bdt|\bdelta[ _]?t|\bΔt|\btime[ _]?step|\bsampling[ _](?:interval|period|time)|\bframe[ _]interval)"
    r"\s*(?:\(?\[?(?P<u1>[a-zµ]{1,3})\]?\)?)?\s*[:=]?\s*(?P<value>\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(?P<u2>fs|ps|ns|us|µs|ms|s|min|h)?\b",
    re.IGNORECASE,
)
_XVG_LABEL = re.compile(
    r'^@\s*(?:(?P<axis>[xy])axis\s+label|s(?P<set>\d+)\s+legend)\s+"(?P<text>[^"]*)"'
)
_IDENTIFIER = re.compile(r"[A-Za-zµΔ_][\w.]{0,20}(?:\s?[\[(/][^\])]{0,15}[\])]?)?\Z")


@dataclass(slots=True)
class Preamble:
    """Comment lines above the data, in order."""

    comments: list[str] = field(default_factory=list)
    n_skipped: int = 0
    """Lines above the header that are neither comments nor data."""

    def skipped(self, n_lines: int) -> None:
        """Note lines that were passed over."""
        self.n_skipped = n_lines

    def dt(self) -> tuple[float, str | None, str] | None:
        """Sampling interval, its unit and the comment that names it, where exactly one value is named."""
        found = {}
        for comment in self.comments:
            for match in _DT.finditer(comment):
                if (value := float(match["value"])) > 0:
                    found[value] = (value, match["u2"] or match["u1"], match[0].strip())
        return next(iter(found.values())) if len(found) == 1 else None

    def names(self, width: int, delimiter: str | None) -> list[str] | None:
        """Names of `width` columns from xvg labels, or from a last comment line that reads like a header."""
        labels: dict[str, str] = {}
        for comment in self.comments:
            if match := _XVG_LABEL.match(comment):
                labels[match["axis"] or match["set"]] = match["text"].strip()
        if labels.get("x"):
            rest = [
                labels.get(str(j)) or (labels.get("y") if j == 0 else None) or ""
                for j in range(width - 1)
            ]
            return [labels["x"], *rest]
        if not self.comments:
            return None
        last = re.sub(r"^[#%@!&/\"\s]+", "", self.comments[-1]).strip()
        cells = [
            cell.strip().strip('"')
            for cell in (last.split(delimiter) if delimiter else last.split())
        ]
        if len(cells) != width or len(set(cells)) != width:
            return None
        if not all(_IDENTIFIER.match(cell) and kind_of(cell, ".") == "text" for cell in cells):
            return None
        return cells


def is_comment(line: str) -> bool:
    """Whether a line is a remark rather than data."""
    return line.lstrip().startswith(MARKS)


def encoding_of(path: Path) -> str:
    """UTF-8 with or without a byte order mark, UTF-16 with one, else Windows-1252."""
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
    """(number of the first line, lines) until the end of the file."""
    first = 1
    while text := file.read(_BLOCK):
        if not text.endswith("\n"):
            text += file.readline(limits.line_length + 1)
        lines = plain(text).split("\n")
        if lines[-1] == "":
            lines.pop()
        longest = max(map(len, lines), default=0)
        if longest > limits.line_length:
            line = first + next(
                k for k, found in enumerate(lines) if len(found) > limits.line_length
            )
            raise too_large(
                f"Row {line} is longer than {limits.line_length:,} characters.",
                "Upload large arrays as NPY, NPZ or Parquet.",
            )
        yield first, lines
        first += len(lines)


def preview_of(file: TextIO, limits: Limits) -> tuple[list[tuple[int, str]], Preamble]:
    """The first lines with their numbers, without blank lines and comments, and the comments above them."""
    preamble = Preamble()
    lines: list[tuple[int, str]] = []
    size = 0
    for number in range(1, 100_000):
        line = file.readline(limits.line_length + 1)
        if not line:
            break
        if len(line) > limits.line_length:
            raise too_large(
                f"Row {number} is longer than {limits.line_length:,} characters.",
                "Upload large arrays as NPY, NPZ or Parquet.",
            )
        text = plain(line.rstrip("\r\n"))
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
