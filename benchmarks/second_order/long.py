"""Time and memory of long records: `measured` runs this file in a process of its own."""

import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.second_order.systems import positions_of, states_of
from benchmarks.second_order.tables import parameters_of
from worker import pipeline
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.jobs.parameters import settings_of

SIZES = 1_000_000, 10_000_000
N_TRAJECTORIES = 50
FIELDS = ("states", "times", "segments")
DT = 0.02
RECORDS = {"harmonic": ("harmonic", 0.0), "harmonic, noise 0.05": ("harmonic", 0.05)}
ALLOWED = 3.0
"""CPU seconds of the longest record without noise."""


def rows_of(misses: list[str]) -> Iterator[str]:
    """Yield a row for each size, and collect the missed bars."""
    for label, (system, noise) in RECORDS.items():
        peaks = []
        for size in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                states = states_of(system, DT, size // N_TRAJECTORIES, N_TRAJECTORIES, 0)
                data = from_arrays(list(positions_of(states, noise, 0)), DT)
                for field in FIELDS:
                    np.save(Path(folder) / f"{field}.npy", getattr(data, field))
                del states, data
                took, peak = _in_a_process(folder)
            peaks.append(peak)
            yield (
                f"{label:24}{size:10} samples: {took:6.2f} s CPU, peak of allocated memory "
                f"{peak / 1e6:.1f} MB"
            )
        if peaks[-1] > 1.2 * peaks[0]:
            misses.append(f"{label}: memory grows by {peaks[-1] / peaks[0]:.2f}")
        if not noise and took > ALLOWED:
            misses.append(f"{label}: {SIZES[-1]} samples take {took:.2f} s")


def _in_a_process(folder: str) -> tuple[float, int]:
    command = [sys.executable, "-m", "benchmarks.second_order.long", folder]
    took, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(took), int(peak)


def _measured(folder: Path) -> tuple[float, int]:
    """Return CPU seconds, and the peak of allocated bytes in a second run."""
    data = Trajectories(*(np.load(folder / f"{field}.npy", mmap_mode="r") for field in FIELDS))
    last = int(data.segments[0, 1])
    few = Trajectories(data.states[:last], data.times[:last], data.segments[:1])
    settings = settings_of(parameters_of())
    pipeline.identify(few, settings, lambda *_: None)  # compiles for mapped files
    begun = time.process_time()
    pipeline.identify(data, settings, lambda *_: None)
    took = time.process_time() - begun
    tracemalloc.start()
    pipeline.identify(data, settings, lambda *_: None)
    return took, tracemalloc.get_traced_memory()[1]


if __name__ == "__main__":
    with threadpool_limits(1):
        print(*_measured(Path(sys.argv[1])))
