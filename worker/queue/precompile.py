"""`python -m worker.queue.precompile`: compiles the core's loops, by doing what jobs do, so that no job waits for it.

What was compiled is kept where numba keeps it (`NUMBA_CACHE_DIR`). Numba compiles anew on another kind of processor and where a
file has changed, but does not see a change in a file that only a called function is from: this is for an image, where nothing
changes. An image keeps its own copy in `ITOSCOPE_COMPILED_DIR`, which may be read-only; a worker begins with what is there.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

COMPILED_DIR = "ITOSCOPE_COMPILED_DIR"
CACHE_DIR = "NUMBA_CACHE_DIR"


def copy_compiled_cache(environment: Mapping[str, str] = os.environ) -> None:
    """Copy what the image has compiled to where numba looks and writes. Where that fails, the first job compiles."""
    source, target = environment.get(COMPILED_DIR), environment.get(CACHE_DIR)
    if source and target and Path(source).is_dir():
        with suppress(OSError, shutil.Error):
            # With their times: numba compares those of sources, and whoever reads the cache those of its files.
            shutil.copytree(source, target, dirs_exist_ok=True)


def compile_all() -> None:
    """Identify small records, of one variable and of two, clean, noisy and averaged by an instrument, and analyse them."""
    # Here, because the worker's main process uses `copy_compiled_cache` and never loads the numerical libraries.
    import numpy as np
    from numpy.typing import NDArray

    from worker import pipeline
    from worker.analysis import AnalysisSettings
    from worker.identification.data.trajectories import Trajectories
    from worker.identification.estimation.setup import Settings

    def say_nothing(fraction: float, stage: str, message: str) -> None:
        pass

    def do(
        states: NDArray[np.float64],
        dt: float,
        passages: tuple[tuple[float, float], ...] | None = None,
    ) -> None:
        n = len(states)
        arrays = {
            "states": states,
            "times": np.arange(n) * dt,
            "segments": np.array([[0, n, 0]], dtype=np.int64),
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, array in arrays.items():
                np.save(Path(folder) / f"{name}.npy", array)
            # As jobs have them: numba compiles for arrays that are read-only, or in memory, each anew.
            data = Trajectories(
                *(np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in arrays)
            )
            answer = pipeline.identify(data, Settings(), say_nothing)
            if passages is None:
                return
            analysed = pipeline.analyse(
                answer, data, AnalysisSettings(passages=passages), say_nothing
            )
            pipeline.compare(answer, data, analysed, say_nothing)

    random, n, dt = np.random.default_rng(0), 2000, 0.25
    across = ((-0.5, 0.5),)
    for dimension, passages in ((1, across), (2, ())):
        states = np.zeros((n, dimension))
        for i in range(1, n):
            states[i] = states[i - 1] * np.exp(-dt) + np.sqrt(
                -np.expm1(-2 * dt)
            ) * random.standard_normal(dimension)
        do(states, dt, passages)
        do(states + 0.1 * random.standard_normal(states.shape), dt)
        # An instrument that averages makes the increments persistent.
        do(0.3 * states[:-1] + 0.7 * states[1:], dt, ())
    # Far from the origin terms are told apart in loops of their own.
    do(1000 + states[:, :1], dt)


if __name__ == "__main__":
    compile_all()
