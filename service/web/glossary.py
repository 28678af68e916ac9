"""The words of the page, explained in the words of docs/glossary.md."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "docs" / "glossary.md"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the glossary.

    names   words that mean the same, the first one as the row's own name
    """

    names: tuple[str, ...]
    meaning: str

    @property
    def id(self) -> str:
        """Identifier of the row on a page."""
        return "help-" + re.sub(r"\W+", "-", self.names[-1].lower()).strip("-")


@cache
def glossary() -> tuple[Entry, ...]:
    """Read the glossary; it is empty where the documents were not installed."""
    if not SOURCE.exists():
        return ()
    rows = [line.strip("| \n").split(" | ", 1) for line in SOURCE.read_text("utf-8").splitlines()]
    return tuple(
        Entry(tuple(re.split(r", | \(|\)", row[0].rstrip(")"))), row[1])
        for row in rows
        if len(row) == 2 and row[0] != "term"
    )


@cache
def entry_of(label: str) -> Entry | None:
    """Return the entry of the word with which a label begins, the longest one; None if none."""
    found = [
        (len(name), entry)
        for entry in glossary()
        for name in entry.names
        if re.match(rf"{re.escape(name)}(e?s)?\b", label, re.IGNORECASE)
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def explained(labels: Iterable[str]) -> Mapping[str, Entry]:
    """Return the entry of each label that is the first of its entry, by label.

    What a word means need not be offered twice on a page.
    """
    found: dict[Entry, str] = {}
    for label in labels:
        entry = entry_of(label)
        if entry is not None:
            found.setdefault(entry, label)
    return {label: entry for entry, label in found.items()}
