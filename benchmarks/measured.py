"""Results of the core on simulated paths of the paper's systems, term by term beside the truth."""

import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.recovery import SYSTEMS
from benchmarks.simulation import SYSTEMS as COEFFICIENTS
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import from_arrays
from worker.jobs.parameters import settings_of

Floats = NDArray[np.float64]
Coefficient = tuple[str, str]
"""Component and term."""

T = TypeVar("T")
R = TypeVar("R")

FINE = 0.002
CACHE = Path(tempfile.gettempdir()) / "itoscope-paths"


@dataclass(frozen=True)
class Measured:
    """Result of one identification.

    errors     relative error of every true coefficient; −1 where its term was not found
    standard   claimed standard error, relative to the true value; NaN where there is none
    false      terms found that are not in the model
    missed     terms of the model that were not found
    noise      variance of the measurement noise [state²]
    rule       sampling rule
    seconds    CPU time [s]
    """

    errors: dict[Coefficient, float]
    standard: dict[Coefficient, float]
    false: tuple[Coefficient, ...]
    missed: tuple[Coefficient, ...]
    noise: float
    rule: str
    seconds: float


def truth_of(name: str) -> dict[Coefficient, float]:
    """Return the true coefficients of a system."""
    system = SYSTEMS[name]
    return {(c, term): v for c in ("drift", "diffusion") for term, v in getattr(system, c).items()}


def stationary_paths(
    name: str, n_trajectories: int, duration: float, dt: float, seed: int
) -> Floats:
    """Simulate (n_trajectories, n_samples) [state] with steps of 0.002.

    Every dt-th sample is kept. The paths start five time units after a normal start, and are stored
    in the temporary directory.
    """
    file = CACHE / f"{name}-{n_trajectories}-{duration:g}-{dt:g}-{seed}.npy"
    if file.exists():
        return np.asarray(np.load(file))
    generator = np.random.default_rng([list(SYSTEMS).index(name), seed])
    x = generator.normal(0, 0.7, n_trajectories)
    every, burn_in = round(dt / FINE), round(5 / dt)
    sampled = np.empty((round(duration / dt) + 1, n_trajectories))
    for n in range(-burn_in, len(sampled)):
        if n >= 0:
            sampled[n] = x
        for kick in generator.standard_normal((every, n_trajectories)):
            x = second_order_step(name, x, kick)
    CACHE.mkdir(exist_ok=True)
    np.save(file, sampled.T)
    return np.ascontiguousarray(sampled.T)


def second_order_step(name: str, x: Floats, kick: Floats) -> Floats:
    """Take Platen's step of order two: a million samples show Euler's error, a (1 − 0.002 b′)."""
    drift, diffusion = COEFFICIENTS[name]
    root = np.sqrt(FINE)
    b, sigma, dw = drift(x), np.sqrt(diffusion(x)), root * kick
    ahead = x + b * FINE
    up, down = (np.sqrt(diffusion(ahead + sign * sigma * root)) for sign in (1, -1))
    noise = (up + down + 2 * sigma) * dw / 4 + (up - down) * (dw**2 - FINE) / (4 * root)
    return np.asarray(x + (drift(ahead + sigma * dw) + b) * FINE / 2 + noise)


def with_noise(paths: Floats, deviation: float, seed: int) -> Floats:
    """Add independent Gaussian measurement noise to every sample."""
    return paths + deviation * np.random.default_rng([seed, paths.size, 3]).standard_normal(
        paths.shape
    )


def identify(
    name: str, paths: Floats, dt: float, parameters: IdentificationParameters | None = None
) -> Measured:
    """Identify as a job does before the generator's analysis, with rows as trajectories."""
    data = from_arrays(list(paths), dt)
    with threadpool_limits(1):
        begun = time.process_time()
        answer = pipeline.identify(
            data, settings_of(parameters or IdentificationParameters()), lambda *_: None
        )
        seconds = time.process_time() - begun
    truth = truth_of(name)
    terms = {
        (component, t.name): t
        for component, fitted in (
            ("drift", answer.drift["x"]),
            ("diffusion", answer.diffusion["x,x"]),
        )
        for t in fitted.terms
        if t.active
    }
    errors, standard = {}, {}
    for coefficient, value in truth.items():
        found = terms.get(coefficient)
        errors[coefficient] = (found.value if found else 0.0) / value - 1
        error = np.nan if found is None or found.std_error is None else found.std_error
        standard[coefficient] = error / abs(value)
    return Measured(
        errors,
        standard,
        tuple(c for c in terms if c not in truth),
        tuple(c for c in truth if c not in terms),
        (answer.noise_variances or {}).get("x", 0.0),
        answer.rule,
        seconds,
    )


def each(call: Callable[[T], R], over: Sequence[T], jobs: int) -> list[R]:
    """Call the function for each item, in `jobs` processes."""
    if jobs == 1:
        return [call(one) for one in over]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(call, over))


def mean_size(values: list[float]) -> float:
    """Return the mean absolute value."""
    return float(np.mean(np.abs(values)))
