"""How fast is the core beside plain NumPy, and does its memory grow with the data?

    python -m benchmarks.speed [--trajectories 40] [--without-memory]

The source paper's double well (T = 100, dt = 0.002). Time: what a job computes, by the default estimator and by the paper's
preset, against Algorithm 1 written in plain NumPy and against plain least squares on increments, in one process and one run; CPU
seconds, so that a busy machine does not matter. Memory: the peak of what each estimator allocates on 1, 4 and 16 million
increments in memory-mapped files, each in a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.algorithm1 import algorithm1
from benchmarks.recovery import DT, Floats, paths_of
from contract.identification import PAPER_PRESET, IdentificationParameters
from worker import pipeline
from worker.identification.answers import Answer
from worker.identification.trajectories import Trajectories, from_arrays

DEGREE = 4
ESTIMATORS = {"default": IdentificationParameters(), "paper preset": PAPER_PRESET}
TRAJECTORIES_IN_MEMORY_TEST = (20, 80, 320)
FIELDS = ("states", "times", "segments")


def identify(data: Trajectories, estimator: str) -> Answer:
    """What a job computes before the generator's analysis."""
    return pipeline.identify(data, ESTIMATORS[estimator], lambda *_: None)


def least_squares(paths: Floats) -> Floats:
    """Σ f_k f_l Δt against Σ f_k ΔX, with all terms of the library."""
    x, difference = paths[:, :-1].ravel(), np.diff(paths).ravel()
    f = np.ones((DEGREE + 1, x.size))
    for k in range(DEGREE):
        np.multiply(f[k], x, out=f[k + 1])
    return np.asarray(np.linalg.solve(f @ f.T * DT, f @ difference))


def seconds(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def compare_times(n_trajectories: int) -> None:
    paths = paths_of("double-well", n_trajectories, seed=0)
    data, few = from_arrays(list(paths), DT), from_arrays(list(paths[:2]), DT)
    for estimator in ESTIMATORS:
        identify(few, estimator)  # compiles, or loads what was compiled before
    times = {
        "least squares on increments, NumPy": seconds(lambda: least_squares(paths)),
        "Algorithm 1, NumPy": seconds(lambda: algorithm1(paths, DT, np.linspace(-2.5, 2.5, 50), 0.22, degree=DEGREE)),
        **{f"this project, {estimator}": seconds(partial(identify, data, estimator)) for estimator in ESTIMATORS},
    }
    plain, algorithm = list(times.values())[:2]
    print(f"{data.n_increments} increments of {n_trajectories} trajectories")
    print(f"{'':36} {'CPU':>9} {'a sample':>10} {'of Algorithm 1':>15} {'of least squares':>17}")
    for name, took in times.items():
        print(f"{name:36} {took:7.2f} s {1e9 * took / data.n_increments:7.0f} ns {took / algorithm:14.2f}× {took / plain:16.1f}×")


def compare_memory() -> None:
    print(f"\n{'peak of allocated memory':24}" + "".join(f"{estimator:>16}" for estimator in ESTIMATORS))
    for n_trajectories in TRAJECTORIES_IN_MEMORY_TEST:
        with tempfile.TemporaryDirectory() as folder:
            paths = paths_of("double-well", n_trajectories, seed=0)
            data = from_arrays(list(paths), DT)
            for field in FIELDS:
                np.save(Path(folder) / f"{field}.npy", getattr(data, field))
            peaks = [_peak_in_a_process(folder, estimator) for estimator in ESTIMATORS]
        print(f"{data.n_increments:12} increments" + "".join(f"{peak / 1e6:13.1f} MB" for peak in peaks), flush=True)


def _peak_in_a_process(folder: str, estimator: str) -> int:
    command = [sys.executable, "-m", "benchmarks.speed", "--peak", folder, estimator]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def peak(folder: Path, estimator: str) -> int:
    """Bytes that arrays and objects took at most. Pages of the mapped files are the operating system's, and not counted."""
    data = Trajectories(*(np.load(folder / f"{field}.npy", mmap_mode="r") for field in FIELDS))
    few = from_arrays([np.array(data.states[:20_000, 0]), np.array(data.states[20_000:40_000, 0])], DT)
    identify(few, estimator)
    tracemalloc.start()
    identify(data, estimator)
    return tracemalloc.get_traced_memory()[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trajectories", type=int, default=40)
    parser.add_argument("--without-memory", action="store_true")
    parser.add_argument("--peak", nargs=2, metavar=("FOLDER", "ESTIMATOR"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(peak(Path(options.peak[0]), options.peak[1]))
        return
    compare_times(options.trajectories)
    if not options.without_memory:
        compare_memory()


if __name__ == "__main__":
    main()
