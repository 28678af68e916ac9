"""Text files as numbered lines, in blocks of bounded size; CR, LF and CRLF all end a line."""

from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from service.readers.errors import too_large
from service.readers.grouping import plain
from service.readers.limits import Limits
from service.readers.preamble import MARKS, Preamble

_BLOCK = 4_000_000
_PREVIEW_LINES = 300
_PREVIEW_CHARACTERS = 4_000_000


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
            line = first + next(k for k, found in enumerate(lines) if len(found) > limits.line_length)
            raise too_large(
                f"Row {line} is longer than {limits.line_length:,} characters.", "Upload large arrays as NPY, NPZ or Parquet."
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
                f"Row {number} is longer than {limits.line_length:,} characters.", "Upload large arrays as NPY, NPZ or Parquet."
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
