"""Paths of systems of several variables, and a fit with default settings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.simulation import simulate_system
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.data.windows import measure_space
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem
from worker.identification.selection.support_selection import Criterion
from worker.identification.sums.instruments import make_instruments

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class System:
    """A process and its coefficients, by variable and by pair."""

    drift: Callable[[Floats], Floats]
    noise: Callable[[Floats], Floats]
    terms: dict[str, dict[str, float]]
    dt: float = 0.01


def constant(root: Floats) -> Callable[[Floats], Floats]:
    """σ, the same everywhere."""
    return lambda x: np.broadcast_to(root, (len(x), *root.shape))


def _sigma_of_multiplicative(x: Floats) -> Floats:
    sigma = np.zeros((len(x), 2, 2))
    sigma[:, 0, 0] = np.sqrt(0.5 * (1 + x[:, 0] ** 2))
    sigma[:, 1, 0] = 0.2 / sigma[:, 0, 0]
    sigma[:, 1, 1] = np.sqrt(0.4 * (1 + 0.5 * x[:, 1] ** 2) - sigma[:, 1, 0] ** 2)
    return sigma


SYSTEMS = {
    "rotating": System(
        lambda x: x @ np.array([[-1.0, 2.0], [-2.0, -1.0]]).T,
        constant(np.linalg.cholesky(np.array([[1.0, 0.6], [0.6, 0.5]]))),
        {
            "x": {"x": -1, "y": 2},
            "y": {"x": -2, "y": -1},
            "x,x": {"1": 1.0},
            "x,y": {"1": 0.6},
            "y,y": {"1": 0.5},
        },
    ),
    "double well": System(
        lambda x: np.stack(
            [-x[:, 0] - x[:, 0] ** 3 + 2 * x[:, 1], 2 * x[:, 0] - 2 * x[:, 1]], axis=1
        ),
        constant(np.sqrt(0.5) * np.eye(2)),
        {
            "x": {"x": -1, "y": 2, "x^3": -1},
            "y": {"x": 2, "y": -2},
            "x,x": {"1": 0.5},
            "x,y": {},
            "y,y": {"1": 0.5},
        },
    ),
    "multiplicative": System(
        lambda x: np.stack([-x[:, 0] + x[:, 1], -x[:, 0] - x[:, 1]], axis=1),
        _sigma_of_multiplicative,
        {
            "x": {"x": -1, "y": 1},
            "y": {"x": -1, "y": -1},
            "x,x": {"1": 0.5, "x^2": 0.5},
            "x,y": {"1": 0.2},
            "y,y": {"1": 0.4, "y^2": 0.2},
        },
    ),
    "inertial": System(
        lambda x: np.stack([x[:, 1], x[:, 0] - x[:, 0] ** 3 - x[:, 1]], axis=1),
        constant(np.array([[0.0], [np.sqrt(0.6)]])),
        {"x": {"y": 1}, "y": {"x": 1, "y": -1, "x^3": -1}, "x,x": {}, "x,y": {}, "y,y": {"1": 0.6}},
    ),
}

Paths = Callable[..., Floats]
Fitted = tuple[Fit, Problem]


@pytest.fixture(scope="session")
def system_paths() -> Paths:
    """Sampled paths of a system, remembered; (n, n_steps + 1, 2)."""
    made: dict[tuple[object, ...], Floats] = {}

    def make(
        name: str, n: int = 20, n_steps: int = 4_000, substeps: int = 10, seed: int = 0
    ) -> Floats:
        key = (name, n, n_steps, substeps, seed)
        if key not in made:
            system = SYSTEMS[name]
            start = np.random.default_rng(seed).normal(0, 0.6, (n, 2))
            made[key] = simulate_system(
                system.drift,
                system.noise,
                start,
                dt=system.dt,
                n_steps=n_steps,
                substeps=substeps,
                burn_in=300,
                seed=seed + 1,
            )
        return made[key]

    return make


@pytest.fixture(scope="session")
def fit_jointly(remembered: Callable[..., Any]) -> Callable[..., Fitted]:
    """Identify with default settings, or others."""

    def run(
        data: Trajectories, *, rule: str = "auto", noise: str = "auto",
        periods: tuple[float | None, ...] | None = None, structure: str = "full",
        selection: str = "bic", count: int = 50, **library: object,
    ) -> Fitted:  # fmt: skip
        periods = periods or (None,) * data.dimension
        space = measure_space(data, periods)
        terms = make_library(space.scales, periods=periods, **library)  # type: ignore[arg-type]
        instruments = make_instruments(
            space.internal(np.array(data.states)), terms, periods, count=count
        )
        problem = Problem(data, space, terms, instruments, Criterion(selection), structure)  # type: ignore[arg-type]
        return identify(problem, rule, noise), problem  # type: ignore[arg-type]

    return remembered(run)


@pytest.fixture(scope="session")
def as_data() -> Callable[[Floats, float], Trajectories]:
    """Rows of an array as trajectories."""
    return lambda paths, dt=0.01: from_arrays(list(paths), dt)


Named = dict[str, dict[str, tuple[float, float]]]


def named(fitted: Fitted) -> Named:
    """Value and standard error of active terms in the data's units, by variable and by pair."""
    fit, problem = fitted
    library, units, time = problem.library, problem.space.units, problem.space.time
    components = [
        (v, s, units[p] / time)
        for p, (v, s) in enumerate(zip(library.variables, fit.drift, strict=True))
    ]
    components += [
        (f"{library.variables[p]},{library.variables[q]}", s, units[p] * units[q] / time)
        for (p, q), s in fit.diffusion.items()
    ]
    return {
        key: {
            library.names[k]: (float(v * factor), float(e * factor))
            for k, v, e in zip(
                s.estimate.support, s.estimate.raw, s.estimate.std_error, strict=True
            )
        }
        for key, s, factor in components
    }


@pytest.fixture(scope="session")
def coefficients() -> Callable[[Fitted], Named]:
    """See `named`."""
    return named


@pytest.fixture(scope="session")
def systems() -> dict[str, System]:
    """The systems by name."""
    return SYSTEMS
