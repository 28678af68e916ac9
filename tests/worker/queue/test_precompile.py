"""A worker begins with what its image has compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.queue import precompile

ROOT = Path(__file__).parents[3]

SUM = """
import sys

sys.path.insert(0, sys.argv[1])
from loops import total

total(3)
print(sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_what_was_compiled_elsewhere_is_used_and_not_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(
        "import numba\n\n\n@numba.njit(cache=True)\ndef total(n):\n    return n + n\n"
    )
    image, mine = tmp_path / "image", tmp_path / "mine"

    def hits_and_misses(cache: Path) -> str:
        command = [sys.executable, "-c", SUM, str(tmp_path)]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert hits_and_misses(image) == "0 1"
    precompile.copy_compiled_cache(
        {precompile.COMPILED_DIR: str(image), precompile.CACHE_DIR: str(mine)}
    )
    assert hits_and_misses(mine) == "1 0"


def test_a_worker_without_anything_compiled_begins_all_the_same(tmp_path: Path) -> None:
    precompile.copy_compiled_cache({})
    precompile.copy_compiled_cache(
        {
            precompile.COMPILED_DIR: str(tmp_path / "nothing"),
            precompile.CACHE_DIR: str(tmp_path / "mine"),
        }
    )
    (tmp_path / "image").mkdir()
    (tmp_path / "file").write_text("")
    precompile.copy_compiled_cache(
        {
            precompile.COMPILED_DIR: str(tmp_path / "image"),
            precompile.CACHE_DIR: str(tmp_path / "file" / "below"),
        }
    )
    assert not (tmp_path / "mine").exists()


IDLE = """
import importlib, json, pkgutil

from numba.core.dispatcher import Dispatcher

import worker
from worker.queue import precompile

found = pkgutil.walk_packages(worker.__path__, "worker.")
modules = [m.name for m in found if not m.name.endswith("__main__")]
loops = {
    f"{name}.{key}": value
    for name in modules
    for key, value in vars(importlib.import_module(name)).items()
    if isinstance(value, Dispatcher) and value.py_func.__module__ == name
}


def idle():
    return [name for name, loop in loops.items() if not loop.signatures]


before = idle()
precompile.compile_all()
print(json.dumps([before, idle()]))
"""

CALLED_BY_OTHERS = {
    *(
        f"worker.identification.second_order.filter._{name}"
        for name in (
            "add_products",
            "along_coefficients",
            "along_start",
            "derivatives",
            "higher_orders",
            "linearise",
            "moments",
            "slopes",
            "update",
        )
    ),
    *(
        f"worker.identification.second_order.linear.filter._{name}"
        for name in ("between", "both_sides", "mixed", "product", "transition")
    ),
    "worker.identification.selection.gauss_jordan._add_digits",
    "worker.identification.selection.gauss_jordan._add_product",
    "worker.identification.selection.gauss_jordan._carry",
    "worker.identification.sums.polynomial_moments._add_stretch",
}


@pytest.mark.slow
def test_every_loop_that_jobs_run_is_compiled() -> None:
    """In a process of its own, where no other test has run any of them."""
    command = [sys.executable, "-c", IDLE]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    before, after = (set(names) for names in json.loads(said))
    # Negative control: before, none of them is.
    assert len(before) > 15
    assert before >= CALLED_BY_OTHERS
    assert after <= CALLED_BY_OTHERS, after
