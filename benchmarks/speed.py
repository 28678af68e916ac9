"""How fast is the core beside Algorithm 1 in plain NumPy?

    python -m benchmarks.speed [--trajectories 120] [--repeat 3]

The source paper's double well (T = 100, dt = 0.002), in memory. In one process and one run: the
kernel statistics alone, the identification of a job before the generator's analysis with and
without its diagnostics, the paper's preset, and plain least squares on increments. CPU seconds, the
least of some repetitions, so that a busy machine matters little.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.algorithm1 import algorithm1
from benchmarks.recovery import DT, Floats, paths_of
from contract.identification import PAPER_PRESET, IdentificationParameters
from worker import pipeline
from worker.identification import identified_model
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import Trajectories, from_arrays, measure_scales
from worker.identification.data.windows import Space
from worker.identification.estimation import setup
from worker.identification.estimation.cell_equations import CellEquations, gather_for
from worker.identification.estimation.problem import Problem
from worker.identification.identified_model import IdentifiedModel
from worker.identification.sums.kernels import make_kernels
from worker.identification.sums.rules import TRAPEZOID
from worker.jobs.parameters import settings_of

DEGREE = 4
CENTRES, BANDWIDTH = np.linspace(-2.5, 2.5, 50), 0.22
ESTIMATORS = {"default": IdentificationParameters(), "paper preset": PAPER_PRESET}


def identify(data: Trajectories, estimator: str) -> IdentifiedModel:
    """Identify as a job does before the generator's analysis."""
    answer = pipeline.identify(data, settings_of(ESTIMATORS[estimator]), lambda *_: None)
    return answer


def least_squares(paths: Floats) -> Floats:
    """Regress Σ f_k ΔX on Σ f_k f_l Δt, with all terms of the library."""
    x, difference = paths[:, :-1].ravel(), np.diff(paths).ravel()
    f = np.ones((DEGREE + 1, x.size))
    for k in range(DEGREE):
        np.multiply(f[k], x, out=f[k + 1])
    return np.asarray(np.linalg.solve(f @ f.T * DT, f @ difference))


def plain_statistics(paths: Floats) -> None:
    """Compute A, B, Q and the corrected Q of Algorithm 1: the passes over the data."""
    for X in paths:
        x, dX = X[:-1], np.diff(X)
        theta = np.stack([x**k for k in range(DEGREE + 1)])
        K = np.exp(-((x[None, :] - CENTRES[:, None]) ** 2) / (2 * BANDWIDTH**2))
        K @ theta.T * DT, K @ dX, K @ dX**2
    for X in paths:
        x = X[:-1]
        K = np.exp(-((x[None, :] - CENTRES[:, None]) ** 2) / (2 * BANDWIDTH**2))
        K @ (np.polynomial.polynomial.polyval(x, [0.0, 1.0, 0.0, -1.0, 0.0]) ** 2 * DT**2)


def problem_of(data: Trajectories) -> Problem:
    """Return the problem with the default library and fifty kernels."""
    scales = measure_scales(data)
    return Problem(
        data,
        Space((scales,), (None,)),
        make_library((scales,), polynomial_degree=DEGREE),
        make_kernels(scales),
    )


class Clock:
    """CPU seconds of the diagnostics of a job: passes that check the model."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its time is counted."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = time.process_time()
            value = call(*args, **kwargs)
            self.seconds += time.process_time() - begun
            return value

        return timed

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the diagnostics' time inside the `with` block."""
        watched = [
            (identified_model, "score_sums_of"),
            (CellEquations, "residuals"),
            (setup, "check_unwrapped"),
            (setup, "check_consecutive_samples"),
        ]
        with ExitStack() as stack:
            for module, name in watched:
                stack.enter_context(patch.object(module, name, self.around(getattr(module, name))))
            yield


def seconds(call: Callable[[], object], repeat: int = 1) -> float:
    """Return the CPU time of the fastest repetition."""
    taken = []
    for _ in range(repeat):
        begun = time.process_time()
        call()
        taken.append(time.process_time() - begun)
    return min(taken)


def with_and_without_diagnostics(data: Trajectories, repeat: int) -> tuple[float, float]:
    """Return the CPU time of the identification, and that without diagnostics."""
    taken = []
    for _ in range(repeat):
        clock = Clock()
        with clock.running():
            whole = seconds(partial(identify, data, "default"))
        taken.append((whole, whole - clock.seconds))
    return min(taken)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trajectories", type=int, default=120)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    # One thread each: waiting threads of a linear algebra library burn CPU time.
    with threadpool_limits(1):
        compare(options.trajectories, options.repeat)


def compare(n_trajectories: int, repeat: int) -> None:
    """Measure and print all rows."""
    paths = paths_of("double-well", n_trajectories, seed=0)
    data, few = from_arrays(list(paths), DT), from_arrays(list(paths[:2]), DT)
    for estimator in ESTIMATORS:
        identify(few, estimator)  # compiles, or loads what was compiled before
    plain = seconds(partial(plain_statistics, paths), repeat)
    # The trapezoid's sums hold A, B, Q and all that any correction needs.
    sums = seconds(partial(gather_for, problem_of(data), TRAPEZOID), repeat)
    algorithm = seconds(partial(algorithm1, paths, DT, CENTRES, BANDWIDTH, degree=DEGREE), repeat)
    whole, without = with_and_without_diagnostics(data, repeat)
    rows = [
        ("kernel statistics of Algorithm 1, NumPy", plain, plain),
        ("kernel statistics, this project", sums, plain),
        ("Algorithm 1, NumPy", algorithm, algorithm),
        ("identification, this project", without, algorithm),
        ("the same with all diagnostics", whole, algorithm),
        ("paper preset, this project", seconds(partial(identify, data, "paper preset")), algorithm),
        (
            "least squares on increments, NumPy",
            seconds(partial(least_squares, paths), repeat),
            algorithm,
        ),
    ]
    print(f"{data.n_increments} increments of {n_trajectories} trajectories")
    print(f"{'':42}{'CPU':>9}{'a sample':>12}{'times as fast':>15}")
    for name, took, reference in rows:
        print(
            f"{name:42}{took:7.2f} s{1e9 * took / data.n_increments:9.0f} "
            f"ns{reference / took:15.1f}"
        )


if __name__ == "__main__":
    main()
