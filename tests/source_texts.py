"""The texts in the source: what may be part of a message."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def texts_of(*places: str) -> Iterator[str]:
    """Every string of modules and folders except docstrings; `x1` stands for what is inserted."""
    for place in places:
        for path in [ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py"):
            every = list(ast.walk(ast.parse(path.read_text("utf-8"))))
            joined = [node for node in every if isinstance(node, ast.JoinedStr)]
            apart = {id(part) for node in joined for part in ast.walk(node) if part is not node}
            apart |= {id(node.value) for node in every if isinstance(node, ast.Expr)}
            for node in every:
                if id(node) in apart:
                    continue
                if isinstance(node, ast.JoinedStr):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "x1"
                        for part in node.values
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
