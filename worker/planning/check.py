"""A plan simulated: records of the model, identified as measured ones are, and their errors."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import DiffusionProcess
from worker.identification.errors import IdentificationError
from worker.identification.estimation.estimator import identify
from worker.planning.information import Chain
from worker.planning.records import Names, Recording, problem_of_terms, simulated
from worker.planning.target import Target

Floats = NDArray[np.float64]

SAMPLES = 20_000
"""Samples of a simulated record; the errors of longer ones follow from it by 1/√T."""
RECORDS, NOISY_RECORDS = 4, 1
"""Number of records without and with measurement noise, of 0.1 and 0.7 s each."""
PATHS = 20
"""Number of paths that a long record is simulated as, side by side, from the stationary
distribution."""


@dataclass(frozen=True, slots=True)
class Check:
    """Simulated records of a plan.

    records     number of records that were identified
    duration    duration of each [time]
    predicted   standard error over the value that the plan predicts for this duration
    claimed     the one that the identification reports, in the mean over the records
    realised    root of the mean squared error over the value
    reason      why there is none; None if there is one
    """

    records: int
    duration: float
    predicted: float
    claimed: float | None = None
    realised: float | None = None
    reason: str | None = None


def check_of(
    process: DiffusionProcess,
    names: Names,
    target: Target,
    *,
    dt: float,
    duration: float,
    noise: float,
    trajectory_duration: float | None,
    start: float | None,
    chain: Chain,
    error_after: Callable[[float], float],
    seed: int,
) -> Check:
    """Simulate records of a plan and identify them with the model's terms.

    Parameters
    ----------
    process, names : the model and its terms
    target : quantity of the plan
    dt, duration : sampling interval and total duration of the plan [time]
    noise : standard deviation of the measurement noise [state]
    trajectory_duration : duration of each trajectory [time]; None: of one for all
    start : where each begins [state]; None: as the stationary distribution has it
    chain : model on cells
    error_after : predicted standard error over the value after a duration
    seed : seed of the random numbers
    """
    total = int(min(SAMPLES, max(duration / dt, 1)))
    if trajectory_duration is None:
        paths = PATHS if total >= 50 * PATHS else 1
        recording = Recording(dt, total // paths + 1, paths, noise, None)
    else:
        each = int(min(trajectory_duration / dt, SAMPLES)) + 1
        recording = Recording(dt, each, max(1, round(total / each)), noise, start)
    length = recording.paths * (recording.samples - 1) * dt
    predicted = error_after(length)
    claimed, errors = [], []
    random = np.random.default_rng(seed)
    try:
        for _ in range(NOISY_RECORDS if noise else RECORDS):
            record = simulated(process, recording, chain, random)
            found, errors_of = estimated(record, dt, names, noise > 0)
            claimed.append(float(target.gradient @ errors_of @ target.gradient))
            errors.append(target.of(found) / target.value - 1)
    except IdentificationError as error:
        return Check(0, length, predicted, reason=error.message)
    known = np.array(errors)[np.isfinite(errors)]
    realised = float(np.sqrt(np.mean(known**2))) if known.size else None
    return Check(len(errors), length, predicted, float(np.sqrt(np.mean(claimed))), realised)


def estimated(record: list[Floats], dt: float, names: Names, noisy: bool) -> tuple[Floats, Floats]:
    """Estimate the coefficients (k,) of given terms, and their covariance (k, k) [data's units].

    Raises IdentificationError.

    Parameters
    ----------
    record : trajectories, each (samples, 1) [state]
    dt : sampling interval [time]
    names : the model's terms in drift and diffusion
    noisy : whether measurement noise is corrected for
    """
    problem = problem_of_terms(record, dt, names)
    fit = identify(problem, "auto", "corrected" if noisy else "none")
    unit, time, k = float(problem.space.units[0]), problem.space.time, sum(map(len, names))
    covariance, coefficients = np.zeros((k, k)), np.zeros(k)
    parts = (fit.drift[0], unit / time, 0), (fit.diffusion[0, 0], unit**2 / time, len(names[0]))
    for (selected, factor, first), own in zip(parts, names, strict=True):
        estimate = selected.estimate
        found = [problem.library.names[i] for i in estimate.support]
        places = [first + own.index(name) for name in found]
        coefficients[places] = estimate.raw * factor
        covariance[np.ix_(places, places)] = estimate.covariance * factor**2
    return coefficients, covariance
