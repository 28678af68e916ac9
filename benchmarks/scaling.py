"""Does time grow with the data and memory not?

    python -m benchmarks.scaling [--largest 100000000]

The source paper's double well as memory-mapped files of 10⁵ to 10⁸ increments; the identification
of a job before the generator's analysis, each size in a process of its own. Time in CPU seconds;
memory is the peak of what is allocated (pages of the mapped files are the operating system's, and
not counted), from a second run.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.recovery import DT, T, paths_of
from benchmarks.speed import ESTIMATORS, identify
from worker.identification.data.trajectories import Trajectories

STEPS = round(T / DT)
FIELDS = ("states", "times", "segments")


def write(folder: Path, n_trajectories: int) -> None:
    """Write the fields of `Trajectories`, a hundred trajectories at a time."""
    n = STEPS + 1
    states = np.lib.format.open_memmap(
        folder / "states.npy", "w+", np.float64, (n_trajectories * n, 1)
    )
    times = np.lib.format.open_memmap(folder / "times.npy", "w+", np.float64, (n_trajectories * n,))
    for first in range(0, n_trajectories, 100):
        some = min(100, n_trajectories - first)
        paths = paths_of("double-well", some, seed=first)
        states[first * n : (first + some) * n, 0] = paths.ravel()
        times[first * n : (first + some) * n] = np.tile(np.arange(n) * DT, some)
    numbers = np.arange(n_trajectories)
    np.save(folder / "segments.npy", np.stack([numbers * n, (numbers + 1) * n, numbers], axis=1))


def measured(folder: Path, estimator: str) -> tuple[float, int]:
    """Return CPU seconds and the peak of allocated bytes."""
    data = Trajectories(*(np.load(folder / f"{field}.npy", mmap_mode="r") for field in FIELDS))
    few = Trajectories(data.states[: 2 * STEPS + 2], data.times[: 2 * STEPS + 2], data.segments[:2])
    identify(few, estimator)  # compiles for mapped files, or loads what was compiled before
    begun = time.process_time()
    identify(data, estimator)
    took = time.process_time() - begun
    tracemalloc.start()
    identify(data, estimator)
    return took, tracemalloc.get_traced_memory()[1]


def in_a_process(folder: str, estimator: str) -> tuple[float, int]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--measure", folder, estimator]
    took, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(took), int(peak)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", type=int, default=100_000_000)
    parser.add_argument("--estimator", choices=ESTIMATORS, default="default")
    parser.add_argument(
        "--measure", nargs=2, metavar=("FOLDER", "ESTIMATOR"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.measure:
        with threadpool_limits(1):
            print(*measured(Path(options.measure[0]), options.measure[1]))
        return
    print(f"{'increments':>12}{'CPU':>10}{'a sample':>12}{'peak of allocated memory':>27}")
    n_trajectories = 2
    while n_trajectories * STEPS <= options.largest:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), n_trajectories)
            took, peak = in_a_process(folder, options.estimator)
        n = n_trajectories * STEPS
        print(f"{n:12}{took:8.2f} s{1e9 * took / n:9.0f} ns{peak / 1e6:24.1f} MB", flush=True)
        n_trajectories *= 10


if __name__ == "__main__":
    main()
