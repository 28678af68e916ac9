"""`python -m standalone demo`, what `sh scripts/demo` runs once it has set up: how it fails.
`test_readme.py` sees it succeed."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.served import ROOT, descendants, gone_within


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the demonstration makes its folder."""
    folder = tmp_path / "temporary files"
    folder.mkdir()
    return folder


def demo(temporary: Path, arguments: Sequence[str] = ()) -> subprocess.Popen[str]:
    # Settings meant for `serve` must not touch it.
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(temporary),
        "ITOSCOPE_PORT": "1",
        "ITOSCOPE_DATA_DIR": "/dev/null",
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "standalone", "demo", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_file_that_cannot_be_read_fails_with_the_reason_and_leaves_nothing_behind(
    temporary: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty.csv").touch()
    with demo(temporary, [str(tmp_path / "empty.csv")]) as process:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "identify: " in err
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_everything_and_is_no_success(
    temporary: Path, number: signal.Signals
) -> None:
    with demo(temporary) as process:
        assert process.stdout is not None
        assert "running at" in process.stdout.readline()
        family = descendants(process.pid)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert gone_within(1, family)
    assert list(temporary.iterdir()) == []
