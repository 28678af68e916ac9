"""Numbers of equations: each is given once, and code cites those that exist."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = {"M": "method.md", "G": "generator.md"}


def numbered(letter: str) -> Counter[str]:
    """The numbers before or after the equations of a document, each on a line of its own."""
    text = (ROOT / "docs" / DOCUMENTS[letter]).read_text()
    return Counter(
        number
        for line in re.findall(r"(?m)^ {4,}(.*)$", text)
        for number in re.findall(rf"^\(({letter}\d+)\)|\(({letter}\d+)\)$", line)[:1]
        for number in number
        if number
    )


@pytest.mark.parametrize("letter", DOCUMENTS)
def test_every_number_is_given_once_and_what_is_cited_exists(letter: str) -> None:
    given = numbered(letter)
    assert [number for number, times in given.items() if times > 1] == []
    cited: dict[str, list[str]] = {}
    for folder in ("worker", "benchmarks", "grammar", "contract", "service", "client"):
        for path in (ROOT / folder).rglob("*.py"):
            for number in re.findall(rf"\(({letter}\d+)\)", path.read_text()):
                cited.setdefault(number, []).append(path.name)
    assert {number: files for number, files in cited.items() if number not in given} == {}
