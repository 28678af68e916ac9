"""Copies of the product's source with something added, and the files that this takes."""

import filecmp
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tree(root: Path) -> dict[str, Path]:
    """Every source file of the product, by its path."""
    packages = [path.parent for path in root.glob("*/__init__.py")] + [root / "client"]
    files = (
        path
        for package in packages
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(root).as_posix(): path for path in files}


def copied_with(copy: Path, rows: Mapping[str, Sequence[tuple[str, str]]]) -> Path:
    """The product's source with rows in its files: what is put in, and before what."""
    for path, source in tree(ROOT).items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy / path)
    for path, added in rows.items():
        text = (copy / path).read_text("utf-8")
        for row, place in added:
            text, found = re.subn(
                place, lambda match, row=row: row + match[0], text, count=1, flags=re.MULTILINE
            )
            assert found, f"{path} has no place for {row!r}"
        (copy / path).write_text(text, "utf-8")
    return copy


def edited(copy: Path) -> set[str]:
    """The files that are new in a copy, or not the same."""
    ours, theirs = tree(ROOT), tree(copy)
    return {
        path
        for path in theirs
        if path not in ours or not filecmp.cmp(ours[path], theirs[path], shallow=False)
    }


def named_in_contributing(heading: str) -> list[str]:
    """The files that CONTRIBUTING.md's section with this heading numbers."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert section is not None
    return re.findall(r"^\d\. `([^`]+)`", section[1], re.MULTILINE)


def run_in(copy: Path, *arguments: str | Path) -> None:
    """Run a script in an interpreter of its own that imports the copy."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'client'}",
        "NUMBA_DISABLE_JIT": "1",
    }
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=copy, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
