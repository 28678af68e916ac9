"""A worker begins with what its image has compiled."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

from numba.core.dispatcher import Dispatcher

import worker
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


def loops() -> dict[str, Dispatcher]:
    """Every compiled function of the worker's that is not only called by others."""
    found = {}
    for module in pkgutil.walk_packages(worker.__path__, "worker."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == module.name:
                    found[f"{module.name}.{name}"] = value
    return found


CALLED_BY_OTHERS = {
    "worker.generator.bisection._move",
    "worker.generator.bisection._rates_below",
    "worker.identification.powers._add_stretch",
}


def test_every_loop_that_jobs_run_is_compiled() -> None:
    known = loops()
    assert len(known) > 15
    before = {name: len(loop.signatures) for name, loop in known.items()}
    warm.compile_all()
    # Loaded or compiled now, or by a test before in this process.
    idle = {name for name, loop in known.items() if not loop.signatures and not before[name]}
    assert idle <= CALLED_BY_OTHERS, idle
