"""`python -m worker.queue.precompile` compiles the core's loops, so that no job waits for it.

Numba keeps the compiled code in `NUMBA_CACHE_DIR`. It compiles anew on another kind of processor
and where a file has changed, but does not notice a change in the file of a called function:
therefore precompile only in an image, where nothing changes. An image keeps its own copy in
`ITOSCOPE_COMPILED_DIR`, which may be read-only; a worker begins with what is there.
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
    """Copy the image's compiled code to numba's cache. Where that fails, the first job compiles."""
    source, target = environment.get(COMPILED_DIR), environment.get(CACHE_DIR)
    if source and target and Path(source).is_dir():
        with suppress(OSError, shutil.Error):
            # Modification times are copied too: numba compares those of the sources.
            shutil.copytree(source, target, dirs_exist_ok=True)


def compile_all() -> None:
    """Identify and analyse small records: one and two variables, clean, noisy and averaged."""
    # These are imported here because the worker's main process uses `copy_compiled_cache` and never
    # loads the numerical libraries.
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
            # Jobs have read-only arrays; numba compiles for them and for writable ones separately.
            data = Trajectories(
                *(np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in arrays)
            )
            answer = pipeline.identify(data, Settings(), say_nothing)
            if passages is None:
                return
            seen = pipeline.states_of(answer, data)
            pipeline.analyse_and_validate(
                answer, seen, AnalysisSettings(passages=passages), say_nothing
            )

    random = np.random.default_rng(0)
    n, dt = 2000, 0.25
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
    # Positions with inertia: the likelihoods of one coordinate and of two, beside the closed form.
    x, v, h, positions = np.zeros(2), np.zeros(2), dt / 20, np.zeros((n, 2))
    for i in range(20 * n):
        v = v - (2 * x + v) * h + np.sqrt(h) * random.standard_normal(2)
        x = x + v * h
        positions[i // 20] = x
    do(positions[:, :1], dt, across)
    do(positions, dt)
    # Far from the origin terms are distinguished in loops of their own.
    do(1000 + states[:, :1], dt)


if __name__ == "__main__":
    compile_all()
