"""Does the validation of a model with its data raise false alarms, and does it detect errors?

    python -m benchmarks.validation [--records 210] [--first 0] [--wrong 5] [--time]

Records of right models (the source paper's three systems, finely integrated; 1 500 to 20 000
samples of one or four trajectories, 0.04 to 0.4 relaxation times apart) through the identification
with its defaults: how often the smallest p-value, over all lags, is below a level, and how often a
warning comes. Then records of wrong models. With --time: CPU seconds at six million increments.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.simulation import SYSTEMS, simulate, simulate_system
from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import IdentificationError
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.validation.validation import Validation, validate

Floats = NDArray[np.float64]

LEVELS = (0.05, 0.01, 0.001)
RELAXATION = {"ornstein-uhlenbeck": 1.0, "double-well": 0.5, "multiplicative": 0.5}


def right(seed: int) -> Trajectories:
    """Simulate a record of a right model with random numbers of samples, paths and interval."""
    draw, name = np.random.default_rng(seed), list(SYSTEMS)[seed % 3]
    n_steps, n_paths = int(draw.choice([1_500, 5_000, 20_000])), int(draw.choice([1, 1, 4]))
    dt = float(draw.choice([0.04, 0.1, 0.2, 0.4])) * RELAXATION[name]
    drift, diffusion = SYSTEMS[name]
    substeps = max(4, round(dt / 0.01))
    x = simulate(
        drift,
        diffusion,
        np.zeros(n_paths),
        dt=dt,
        n_steps=n_steps,
        substeps=substeps,
        burn_in=50,
        seed=seed,
    )
    return from_arrays(list(x), dt)


def wells(dt: float, n_steps: int, seed: int) -> Floats:
    """Simulate four paths of the double well."""
    drift, diffusion = SYSTEMS["double-well"]
    return simulate(
        drift,
        diffusion,
        np.zeros(4),
        dt=dt,
        n_steps=n_steps,
        substeps=round(dt / 0.005),
        burn_in=50,
        seed=seed,
    )


def hidden(size: float, seed: int) -> Trajectories:
    """Simulate x that relaxes in 1 towards a hidden variable that relaxes in 10."""
    noise = np.diag([0.7, size * np.sqrt(0.2)])
    paths = simulate_system(
        lambda x: np.stack([x[:, 1] - x[:, 0], -x[:, 1] / 10], axis=1),
        lambda x: np.broadcast_to(noise, (len(x), 2, 2)),
        np.zeros((4, 2)), dt=0.05, n_steps=10_000, substeps=4, burn_in=1_000, seed=seed,
    )  # fmt: skip
    return from_arrays([path[:, 0] for path in paths], 0.05)


def noisy(seed: int) -> Trajectories:
    """Simulate the double well with measurement noise of standard deviation 0.1."""
    x = wells(0.05, 10_000, seed)
    return from_arrays(list(x + 0.1 * np.random.default_rng(seed).standard_normal(x.shape)), 0.05)


def coloured(seed: int) -> Trajectories:
    """Simulate x under noise correlated over 0.02, four tenths of the sampling interval."""
    paths = simulate_system(
        lambda x: np.stack([x[:, 1] - x[:, 0], -x[:, 1] / 0.02], axis=1),
        lambda x: np.broadcast_to(np.diag([0.0, 35.0]), (len(x), 2, 2)),
        np.zeros((4, 2)), dt=0.05, n_steps=10_000, substeps=25, burn_in=100, seed=seed,
    )  # fmt: skip
    return from_arrays([path[:, 0] for path in paths], 0.05)


WRONG: dict[str, tuple[Callable[[int], Trajectories], dict[str, object]]] = {
    "hidden slow variable, 0.5": (lambda seed: hidden(0.5, seed), {}),
    "hidden slow variable, 0.2": (lambda seed: hidden(0.2, seed), {}),
    "coloured noise": (coloured, {}),
    "measurement noise ignored": (noisy, {"measurement_noise": "none"}),
    "measurement noise corrected (right)": (noisy, {}),
    "coarse samples by Euler's rule": (
        lambda seed: from_arrays(list(wells(0.3, 5_000, seed)), 0.3),
        {"sampling_rule": "euler"},
    ),
}


def validated(
    data: Trajectories, parameters: dict[str, object]
) -> tuple[Validation, list[str], float]:
    """Return the validation, the codes of the identification's warnings, and CPU seconds."""
    answer = pipeline.identify(
        data, settings_of(IdentificationParameters.model_validate(parameters)), lambda *_: None
    )
    analysed = pipeline.analyse(
        replace(answer, draws=()), data, analysis_settings_of(AnalysisParameters()), lambda *_: None
    )
    begun = time.process_time()
    found = validate(data, answer, analysed.generator)
    return found, [finding.code for finding in answer.findings], time.process_time() - begun


def smallest(found: Validation) -> float:
    """Return p over all lags together (Bonferroni); 1 where nothing was tested."""
    tests = found.chapman_kolmogorov
    return min((len(tests) * test.p_value for test in tests), default=1.0)


def false_alarms(first: int, records: int) -> Iterator[str]:
    """Yield the results for right models."""
    lags, memory, alarms, failed = [], [], 0, 0
    for seed in range(first, first + records):
        try:
            found, _, _ = validated(right(seed), {})
        except IdentificationError:
            failed += 1
            continue
        lags.append(smallest(found))
        memory += [a.p_value for a in found.autocorrelation if a.p_value is not None]
        alarms += bool(found.findings)
    yield f"{len(lags)} right records ({failed} refused): {alarms} warnings"
    for name, values in (("Chapman–Kolmogorov", lags), ("autocorrelation", memory)):
        shares = "  ".join(
            f"p < {level}: {np.mean(np.array(values) < level):.3f}" for level in LEVELS
        )
        yield f"  {name}, {len(values)}: {shares}"


def power(repetitions: int) -> Iterator[str]:
    """Yield the results for wrong models."""
    for name, (make, parameters) in WRONG.items():
        said: list[str] = []
        for seed in range(1, repetitions + 1):
            found, codes, _ = validated(make(seed), parameters)
            own = "+".join(f.code for f in found.findings) or (found.reason or "nothing")
            said.append(
                f"{own} (p {smallest(found):.0e}; the fit says {', '.join(codes) or 'nothing'})"
            )
        yield f"{name}:"
        yield from (f"  {line}" for line in said)


def times() -> Iterator[str]:
    """Measure the time at the size of the source paper's data: 120 paths of 50 000 increments."""
    drift, diffusion = SYSTEMS["double-well"]
    x = simulate(
        drift,
        diffusion,
        np.random.default_rng(0).standard_normal(120),
        dt=0.01,
        n_steps=50_000,
        seed=3,
    )
    data = from_arrays(list(x), 0.01)
    validated(data, {})
    found, _, seconds = validated(data, {})
    yield (
        f"six million increments: {seconds:.2f} s of CPU, {100 * found.share:.1f} % of the "
        f"samples, {found.findings}"
    )


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=210)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--wrong", type=int, default=5)
    parser.add_argument("--time", action="store_true")
    wanted = parser.parse_args()
    with threadpool_limits(1):
        for line in (
            times()
            if wanted.time
            else (*false_alarms(wanted.first, wanted.records), *power(wanted.wrong))
        ):
            sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
