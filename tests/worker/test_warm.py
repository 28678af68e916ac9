"""A worker begins with what its image has compiled."""

import os
import subprocess
import sys
from pathlib import Path

from worker import warm

SUM = """
import sys

sys.path.insert(0, sys.argv[1])
from loops import total

total(3)
print(sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""


def test_what_was_compiled_elsewhere_is_used_and_not_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text("import numba\n\n\n@numba.njit(cache=True)\ndef total(n):\n    return n + n\n")
    image, mine = tmp_path / "image", tmp_path / "mine"

    def hits_and_misses(cache: Path) -> str:
        command = [sys.executable, "-c", SUM, str(tmp_path)]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert hits_and_misses(image) == "0 1"
    warm.bring({warm.COMPILED_DIR: str(image), warm.CACHE_DIR: str(mine)})
    assert hits_and_misses(mine) == "1 0"


def test_a_worker_without_anything_compiled_begins_all_the_same(tmp_path: Path) -> None:
    warm.bring({})
    warm.bring({warm.COMPILED_DIR: str(tmp_path / "nothing"), warm.CACHE_DIR: str(tmp_path / "mine")})
    (tmp_path / "image").mkdir()
    (tmp_path / "file").write_text("")
    warm.bring({warm.COMPILED_DIR: str(tmp_path / "image"), warm.CACHE_DIR: str(tmp_path / "file" / "below")})
    assert not (tmp_path / "mine").exists()
