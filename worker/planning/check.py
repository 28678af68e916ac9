"""A plan simulated: records of the model, identified as measured ones are, and their errors."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import DiffusionProcess
from worker.generator.simulation.paths import PART, fastest_rate, stepper_of
from worker.identification.data.trajectories import from_arrays
from worker.identification.errors import IdentificationError
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.setup import (
    ComponentTerms,
    Settings,
    problem_of,
    with_boundaries,
)
from worker.planning.information import Chain, Terms
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


@dataclass(frozen=True, slots=True)
class Recording:
    """A way to record a model.

    dt           sampling interval [time]
    samples      samples of each trajectory
    paths        number of trajectories
    noise        standard deviation of the measurement noise [state]
    start        where each begins [state]; None: as the stationary distribution has it
    """

    dt: float
    samples: int
    paths: int
    noise: float
    start: float | None


def check_of(
    process: DiffusionProcess,
    terms: Terms,
    names: Sequence[str],
    target: Target,
    *,
    dt: float,
    duration: float,
    noise: float,
    trajectory_duration: float | None,
    start: float | None,
    chain: Chain,
    covariance: Floats,
    seed: int,
) -> Check:
    """Simulate records of a plan and identify them with the model's terms.

    Parameters
    ----------
    process, terms, names : the model
    target : quantity of the plan
    dt, duration : sampling interval and total duration of the plan [time]
    noise : standard deviation of the measurement noise [state]
    trajectory_duration : duration of each trajectory [time]; None: of one for all
    start : where each begins [state]; None: as the stationary distribution has it
    chain : model on cells
    covariance : (k, k) predicted covariance of the coefficients times duration
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
    predicted = float(np.sqrt(target.gradient @ covariance @ target.gradient / length))
    claimed, errors = [], []
    random = np.random.default_rng(seed)
    try:
        for _ in range(NOISY_RECORDS if noise else RECORDS):
            record = simulated(process, recording, chain, random)
            found, errors_of = estimated(record, dt, terms, names, noise > 0)
            claimed.append(float(target.gradient @ errors_of @ target.gradient))
            errors.append(target.of(found) / target.value - 1)
    except IdentificationError as error:
        return Check(0, length, predicted, reason=error.message)
    known = np.array(errors)[np.isfinite(errors)]
    realised = float(np.sqrt(np.mean(known**2))) if known.size else None
    return Check(len(errors), length, predicted, float(np.sqrt(np.mean(claimed))), realised)


def simulated(
    process: DiffusionProcess, recording: Recording, chain: Chain, random: np.random.Generator
) -> list[Floats]:
    """Simulate trajectories with measurement noise, each (samples, 1)."""
    if recording.start is None:
        places = np.searchsorted(np.cumsum(chain.density), random.random(recording.paths))
        x = chain.x[np.minimum(places, len(chain.x) - 1)] + chain.width * (
            random.random(recording.paths) - 0.5
        )
    else:
        x = np.full(recording.paths, recording.start)
    states = x[:, None]
    seen = random.choice(chain.x, 400, p=chain.density)[:, None]
    stepper = stepper_of(process, seen)
    rate = fastest_rate(stepper, seen, seen.std(axis=0))
    substeps = max(2, int(np.ceil(recording.dt * rate / PART)))
    length = recording.dt / substeps
    out = np.empty((recording.samples, recording.paths))
    for n in range(recording.samples):
        out[n] = states[:, 0]
        for kick in np.sqrt(length) * random.standard_normal((substeps, *states.shape)):
            states = stepper.step(states, kick, length)
    out += recording.noise * random.standard_normal(out.shape)
    return [column[:, None] for column in out.T.copy()]


def estimated(
    record: list[Floats], dt: float, terms: Terms, names: Sequence[str], noisy: bool
) -> tuple[Floats, Floats]:
    """Estimate the coefficients (k,) of given terms, and their covariance (k, k) [data's units].

    Raises IdentificationError.

    Parameters
    ----------
    record : trajectories, each (samples, 1) [state]
    dt : sampling interval [time]
    terms, names : the model's terms
    noisy : whether measurement noise is corrected for
    """
    k = len(terms.drift)
    only = (tuple(names[:k]), tuple(names[k:]))
    settings = Settings(
        dynamics="first-order",
        polynomial_degree=max(1, *(_degree(name) for name in names)),
        constraints={
            key: ComponentTerms(required=required, only=True)
            for key, required in zip(("x", "x,x"), only, strict=True)
        },
    )
    problem = problem_of(from_arrays(record, dt), settings, lambda *_: None)
    problem = with_boundaries(problem, settings.bounds_in(1))
    fit = identify(problem, "auto", "corrected" if noisy else "none")
    unit, time = float(problem.space.units[0]), problem.space.time
    covariance = np.zeros((len(names), len(names)))
    coefficients = np.zeros(len(names))
    parts = (fit.drift[0], unit / time, 0), (fit.diffusion[0, 0], unit**2 / time, k)
    for selected, factor, first in parts:
        estimate = selected.estimate
        found = [problem.library.names[i] for i in estimate.support]
        places = [first + list(only[first > 0]).index(name) for name in found]
        coefficients[places] = estimate.raw * factor
        covariance[np.ix_(places, places)] = estimate.covariance * factor**2
    return coefficients, covariance


def _degree(name: str) -> int:
    """Return the power of a monomial of one variable; 0 for other terms."""
    power = re.fullmatch(r"x(?:\^(\d+))?", name)
    return 0 if power is None else int(power[1] or 1)
