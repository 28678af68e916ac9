"""The tools of `tests/node/package.json`, installed once for a session."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "node"


def run(*command: str | Path, folder: Path, ends_with: int = 0) -> str:
    """Run a command in a folder; what it said is in the failure's message."""
    environment = os.environ | {"PYTHONPATH": str(folder), "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == ends_with, done.stdout + done.stderr
    return done.stdout


def installed(folder: Path) -> Path:
    """Install the tools into a folder."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm, whose packages check what other programs make of our documents")
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    return folder
