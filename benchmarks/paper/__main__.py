"""Run every table and figure of the source paper and write docs/paper.md.

    python -m benchmarks.paper [--quick] [--seeds 20] [--jobs 2] [--output docs/paper.md]

With `--quick` it takes a minute: few seeds, few trajectories, and the document is printed unless an
output is named.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.paper import (
    bandwidth,
    coefficients,
    convergence,
    correction,
    density,
    escape,
    local_rate,
    measurement_noise,
    methods,
    noise_scaling,
    penalties,
    recovered,
    relaxation,
    temporal,
)
from benchmarks.paper.document import document
from benchmarks.paper.parts import Part
from benchmarks.paper.runs import NAMES, run_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "paper.md"

ON_RUNS: tuple[ModuleType, ...] = (
    coefficients,
    correction,
    convergence,
    bandwidth,
    recovered,
    penalties,
    density,
    relaxation,
    escape,
    local_rate,
    measurement_noise,
)
"""Items that measure on the shared runs."""
ON_THEIR_OWN: tuple[ModuleType, ...] = (temporal, noise_scaling)
"""Items with paths of their own."""
ORDER: tuple[ModuleType, ...] = (
    coefficients,
    correction,
    convergence,
    temporal,
    bandwidth,
    recovered,
    penalties,
    density,
    relaxation,
    escape,
    local_rate,
    noise_scaling,
    measurement_noise,
    methods,
)


@dataclass(frozen=True, slots=True)
class Size:
    """Size of the reproduction.

    seeds            number of shared runs of each system
    n_trajectories   number of trajectories of a shared run
    duration         of a shared run [time]
    own_seeds        number of seeds of the items with paths of their own
    durations        durations of `temporal` [time]
    steps            sampling intervals of `noise_scaling` [time]
    """

    seeds: int = 20
    n_trajectories: int = 120
    duration: float = 100.0
    own_seeds: int = temporal.SEEDS
    durations: tuple[float, ...] = temporal.DURATIONS
    steps: tuple[float, ...] = noise_scaling.STEPS


QUICK = Size(2, 30, 100.0, 3, (25.0, 50.0, 100.0), (0.02, 0.005))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=Size().seeds)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else Size(options.seeds)
    measured = measure(size, options.jobs)
    how = (
        f"Written by `python -m benchmarks.paper{' --quick' if options.quick else ''}` in "
        f"{measured.seconds:.0f} s of CPU time, on {options.jobs} processes: {size.seeds} seeds of "
        f"{size.n_trajectories} paths for each system, {size.own_seeds} seeds where the paper has "
        "25. Do not edit it: run that."
    )
    text = document(parts_of(measured), how)
    output = options.output or (None if options.quick else DOCUMENT)
    if output is None:
        print(text)
    else:
        output.write_text(text, encoding="utf-8")
        print(f"{output}: {measured.seconds:.0f} s of CPU time")
    return 0


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Measurements of the items.

    on_runs   by system, for each seed the measurements of every item by the name of its module
    own       for each seed, by the name of the module
    seconds   CPU time [s]
    """

    on_runs: dict[str, list[dict[str, Any]]]
    own: dict[str, list[Any]]
    seconds: float


def measure(size: Size, jobs: int) -> Measured:
    """Measure all items on all seeds, in `jobs` processes."""
    runs: list[Callable[[], Any]] = [
        partial(on_run, name, seed, size) for name in NAMES for seed in range(size.seeds)
    ]
    seeds = range(size.own_seeds)
    own: list[Callable[[], Any]] = [
        *(partial(temporal.measure, seed, size.durations) for seed in seeds),
        *(partial(noise_scaling.measure, seed, size.steps) for seed in seeds),
    ]
    calls = [*runs, *own]
    results = list(map(_timed, calls)) if jobs == 1 else _in_processes(calls, jobs)
    found = iter([one for one, _ in results])
    return Measured(
        {name: [next(found) for _ in range(size.seeds)] for name in NAMES},
        {item.__name__: [next(found) for _ in seeds] for item in ON_THEIR_OWN},
        sum(seconds for _, seconds in results),
    )


def parts_of(measured: Measured) -> list[Part]:
    """Return the parts of the document in the paper's order."""
    parts = []
    for item in ORDER:
        if item in ON_RUNS:
            parts.append(
                item.part(
                    {
                        name: [run[item.__name__] for run in measured.on_runs[name]]
                        for name in item.SYSTEMS
                    }
                )
            )
        elif item in ON_THEIR_OWN:
            parts.append(item.part(measured.own[item.__name__]))
        else:
            parts.append(item.part())
    return parts


def on_run(name: str, seed: int, size: Size) -> dict[str, Any]:
    """Measure all items on one run, by the name of their module."""
    run = run_of(name, seed, size.n_trajectories, size.duration)
    return {item.__name__: item.measure(run) for item in ON_RUNS if name in item.SYSTEMS}


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result, and the CPU time it took [s]."""
    begun = time.process_time()
    with threadpool_limits(1):
        found = call()
    return found, time.process_time() - begun


def _in_processes(calls: Sequence[Callable[[], Any]], jobs: int) -> list[tuple[Any, float]]:
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(_timed, calls))


if __name__ == "__main__":
    sys.exit(main())
