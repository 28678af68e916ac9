"""Lines that programs write between and below the rows of a table: segments, atoms, closing words.

A line that is no row becomes a comment, so that the numbers of the lines stay those of the file.
"""

from collections.abc import Callable, Iterator, Sequence

from service.readers.formats.text import is_comment

_NO_ROW = "#"
END_OF_HEADER = "***End_of_Header***"
"""Line of LabVIEW's measurement files between a header and the data."""
_MOST_BELOW = 200
"""Lines below a table that are looked at."""

Rewriter = Callable[[str], str]
"""Function of each line of a file in turn: the line, a row made from it, or a comment."""


def rewriter_of(lines: Sequence[str]) -> Rewriter | None:
    """Return the function that makes rows of a program's lines; None where lines are rows."""
    if lines and lines[0].startswith("ITEM: TIMESTEP"):
        return _dump()
    if sum(line.startswith(END_OF_HEADER) for line in lines) > 1:
        return _labview()
    return None


def _dump() -> Rewriter:
    """Write the time step before each atom of a LAMMPS dump, and name the columns once."""
    step, expected, named = "", "", False

    def rewritten(line: str) -> str:
        nonlocal step, expected, named
        if line.startswith("ITEM:"):
            expected = line.split()[1]
            if expected == "ATOMS" and not named:
                named = True
                return "timestep " + line.partition("ATOMS")[2].strip()
            return _NO_ROW
        if expected == "TIMESTEP":
            step = line.strip()
        return f"{step} {line}" if expected == "ATOMS" and line.strip() else _NO_ROW

    return rewritten


def _labview() -> Rewriter:
    """Leave out the headers of all segments but the first in a LabVIEW measurement file."""
    n_ends, inside, names = 0, False, False

    def rewritten(line: str) -> str:
        nonlocal n_ends, inside, names
        if names:
            names = False
            return _NO_ROW
        inside = inside or (n_ends > 1 and line.startswith("Channels\t"))
        if line.startswith(END_OF_HEADER):
            n_ends += 1
            names, inside = inside, False
            return _NO_ROW if names else line
        return _NO_ROW if inside else line

    return rewritten


def without_words_below(
    blocks: Iterator[tuple[int, list[str]]],
    is_row: Callable[[str], bool],
    has_words: Callable[[str], bool],
    below: list[str],
) -> Iterator[tuple[int, list[str]]]:
    """Yield blocks of lines without the words below the table, which are added to `below`.

    Lines below the last row are left out where one of them holds words: the sources of a table,
    the closing lines of a log. A last row that was cut off holds none, and stays.
    """
    held: tuple[int, list[str]] | None = None
    for block in blocks:
        if held is not None:
            yield held
        held = block
    if held is None:
        return
    first, lines = held
    end = len(lines)
    while end and len(lines) - end < _MOST_BELOW:
        line = lines[end - 1]
        if line.strip() and not is_comment(line) and is_row(line):
            break
        end -= 1
    rest = [line for line in lines[end:] if line.strip() and not is_comment(line)]
    if end and any(map(has_words, rest)):
        below += [line.strip()[:1000] for line in rest]
        lines = lines[:end]
    yield first, lines
