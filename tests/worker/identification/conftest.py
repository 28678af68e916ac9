"""Paths of the paper's systems, made once."""

import pickle
from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.simulation import SYSTEMS, simulate
from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import (
    Scales,
    Trajectories,
    from_arrays,
    measure_scales,
)
from worker.identification.data.windows import Space
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem
from worker.identification.selection.support_selection import Criterion
from worker.identification.sums.kernels import make_kernels

Floats = NDArray[np.float64]
Paths = Callable[..., Floats]


@pytest.fixture(scope="session")
def paths() -> Paths:
    """Sampled paths of a system, remembered."""
    made: dict[tuple[object, ...], Floats] = {}

    def make(
        system: str, n: int, dt: float, n_steps: int, substeps: int = 10, seed: int = 0
    ) -> Floats:
        key = (system, n, dt, n_steps, substeps, seed)
        if key not in made:
            drift, diffusion = SYSTEMS[system]
            start = np.random.default_rng(seed).normal(0, 0.6, n)
            made[key] = simulate(
                drift,
                diffusion,
                start,
                dt=dt,
                n_steps=n_steps,
                substeps=substeps,
                burn_in=int(3 / dt),
                seed=seed + 1,
            )
        return made[key]

    return make


@pytest.fixture(scope="session")
def remembered() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of data and settings keep its results: invariance tests ask for them often.

    A test that changes the code in between calls its `__wrapped__`.
    """

    def keeping(answer: Callable[..., Any]) -> Callable[..., Any]:
        kept: dict[bytes, Any] = {}

        @wraps(answer)
        def remembering(data: Trajectories, **settings: object) -> Any:
            key = pickle.dumps(
                (
                    np.array(data.states),
                    np.array(data.times),
                    np.array(data.segments),
                    sorted(settings.items()),
                )
            )
            digest = sha256(key).digest()
            if digest not in kept:
                kept[digest] = answer(data, **settings)
            return kept[digest]

        return remembering

    return keeping


@pytest.fixture(scope="session")
def fit(remembered: Callable[..., Any]) -> Callable[..., tuple[Fit, Library, Scales]]:
    """Identify with default settings."""

    def run(data: Trajectories, **settings: object) -> tuple[Fit, Library, Scales]:
        period = settings.get("period")
        scales = measure_scales(data, period)  # type: ignore[arg-type]
        library = make_library((scales,), periods=(period,), **settings.get("library", {}))  # type: ignore[arg-type, call-overload]
        kernels = make_kernels(scales, period=period)  # type: ignore[arg-type]
        problem = Problem(
            data,
            Space((scales,), (period,)),
            library,
            kernels,
            settings.get("criterion", Criterion()),
        )  # type: ignore[arg-type]
        return (
            identify(problem, settings.get("rule", "auto"), settings.get("noise", "auto")),
            library,
            scales,
        )  # type: ignore[arg-type]

    return remembered(run)


@pytest.fixture(scope="session")
def as_data() -> Callable[[Floats, float], Trajectories]:
    """Rows of an array as trajectories."""
    return lambda paths, dt: from_arrays(list(paths), dt)
