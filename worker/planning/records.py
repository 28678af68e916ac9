"""Simulated records of a model, and problems whose terms are the model's."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import DiffusionProcess
from worker.generator.simulation.paths import PART, fastest_rate, stepper_of
from worker.identification.data.trajectories import from_arrays
from worker.identification.estimation.problem import Problem
from worker.identification.estimation.setup import (
    ComponentTerms,
    Settings,
    problem_of,
    with_boundaries,
)
from worker.planning.information import Chain

Floats = NDArray[np.float64]
Names = tuple[tuple[str, ...], tuple[str, ...]]
"""Terms of a drift and of a diffusion."""


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


def problem_of_terms(record: list[Floats], dt: float, names: Names) -> Problem:
    """Make the problem of a record whose terms are known. Raises IdentificationError.

    Parameters
    ----------
    record : trajectories, each (samples, 1) [state]
    dt : sampling interval [time]
    names : terms of drift and diffusion
    """
    settings = Settings(
        dynamics="first-order",
        polynomial_degree=max(1, *(_degree(name) for own in names for name in own)),
        constraints={
            key: ComponentTerms(required=own, only=True)
            for key, own in zip(("x", "x,x"), names, strict=True)
        },
    )
    problem = problem_of(from_arrays(record, dt), settings, lambda *_: None)
    return with_boundaries(problem, settings.bounds_in(1))


def _degree(name: str) -> int:
    """Return the power of a monomial of one variable; 0 for other terms."""
    power = re.fullmatch(r"x(?:\^(\d+))?", name)
    return 0 if power is None else int(power[1] or 1)
