"""Hostile uploads are refused, and each costs one request.

This test sends an eighth of the uploads; `scripts/fuzz` sends all, and generated requests.
"""

import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from standalone.preflight import free_port
from tests.acceptance.served import Served
from tests.hostile.siege import besiege, memory
from tests.hostile.uploads import Upload, hostile_uploads

MOST_MEMORY = 400e6
"""Bytes that the serving process may grow by."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="reads the memory of a process from /proc"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    running = Served(tmp_path_factory.mktemp("hostile") / "data", free_port())
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


def test_hostile_uploads_break_nothing(served: Served) -> None:
    siege = besiege(served, islice(hostile_uploads(), 0, None, 8))
    assert siege.sent >= 50
    assert siege.breaches == []
    assert siege.grown < MOST_MEMORY
    assert siege.canary == "succeeded"


def test_the_siege_sees_what_should_not_have_been(served: Served) -> None:
    """The negative control: an upload that is said to be hostile, and is read."""
    harmless = Upload("wolf", b"t,x\n0,0\n1,1\n2,0\n3,1\n", "text/csv")
    assert besiege(served, [harmless]).breaches == ["wolf: was read"]


def test_memory_that_is_held_is_seen() -> None:
    code = (
        "held = bytearray(500_000_000); held[::4096] = b'x' * len(held[::4096]); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        grown = memory(process.pid)
        process.kill()
    assert grown > MOST_MEMORY
