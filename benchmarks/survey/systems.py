"""Random systems, and records of them as they come to a service: units, noise, gaps and all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid

from benchmarks.kinetics_paths import paths_at, paths_in_space
from contract.generator import AnalysisParameters, ModelTerms
from contract.identification import LibraryParameters
from grammar.terms import variable_name
from worker import pipeline
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import StationaryDistribution
from worker.identification.data.trajectories import Trajectories
from worker.jobs.parameters import analysis_settings_of, process_of

Floats = NDArray[np.float64]
Terms = dict[str, float]
Draw = Callable[[float, float], float]
"""Uniform random number between two ends."""

FIRST_IN_SPACE = 1000
HALVES = {"open": ((0, 360), (1000, 1112)), "held": ((360, 540), (1112, 1168))}
"""Seeds of each half, `first` up to `end`: in one variable, and in several from FIRST_IN_SPACE."""
FEWEST, MOST = 400, (80_000, 30_000, 30_000, 30_000, 10_000, 10_000)
"""Fewest samples of a record, and most by number of variables."""
CONDITIONS = {"clean": 37, "noise": 26, "gaps": 9, "uneven": 9, "quantised": 10, "float32": 9}
"""Shares of the conditions in one variable [%]."""
CONDITIONS_IN_SPACE = {"clean": 60, "noise": 28, "gaps": 6, "uneven": 6}
SHIFTED = ("linear", "double-well", "tilted-well", "cubic", "quadratic-noise")
"""Families whose origin moves; every lower power then is a true term."""
FINE = 0.004
"""Longest step of the integration [relaxation times]."""
TURN = 2 * np.pi


@dataclass(frozen=True)
class System:
    """Process by its terms, in units of its own.

    degree   polynomial degree that the job asks for
    """

    family: str
    drift: dict[str, Terms]
    diffusion: dict[str, Terms]
    domain: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    periodic: dict[str, float] = field(default_factory=dict)
    degree: int = LibraryParameters().polynomial_degree

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(self.drift)

    def terms(self, component: str) -> Terms:
        """Return the terms of `x` (drift) or `x,y` (diffusion)."""
        return (
            self.diffusion.get(component, {}) if "," in component else self.drift.get(component, {})
        )


@dataclass(frozen=True)
class Design:
    """Choice of a record.

    dt, duration   sampling interval and total length [relaxation times]
    level          noise or quantum [standard deviations], or share of samples in gaps
    units, origin  of each variable, in the system's own; origin of the only one
    clock          relaxation time [unit of the record]
    """

    dt: float
    duration: float
    n_paths: int
    condition: str
    level: float
    units: tuple[float, ...]
    origin: float
    clock: float


def _wells(drift: Terms, noise: Terms) -> tuple[Terms, Terms]:
    return {"x": 1.0, "x^3": -1.0, **drift}, noise


SCALAR: dict[str, Callable[[Draw], tuple[Terms, Terms]]] = {
    "linear": lambda u: ({"1": u(-1, 1), "x": -1.0}, {"1": u(0.2, 2)}),
    "double-well": lambda u: _wells({}, {"1": u(0.15, 0.6)}),
    "tilted-well": lambda u: _wells({"1": u(0.05, 0.3)}, {"1": u(0.15, 0.5)}),
    "deep-well": lambda u: _wells({}, {"1": u(0.07, 0.11)}),
    "cubic": lambda u: (
        {"1": u(-0.5, 0.5), "x": u(-1, 1), "x^2": u(-0.8, 0.8), "x^3": -u(0.4, 1)},
        {"1": u(0.3, 1)},
    ),
    "single-cubic": lambda u: ({"x^3": -1.0}, {"1": u(0.3, 1)}),
    "quintic": lambda u: (
        {"x": u(-1, 1.5), "x^3": u(-1, 2), "x^5": -u(0.5, 1)},
        {"1": u(0.2, 0.6)},
    ),
    "square-root": lambda u: ({"1": 1.0, "x": -1.0}, {"x": 2 / u(1.2, 8)}),
    "logistic": lambda u: ({"x": 1.0, "x^2": -1.0}, {"x^2": u(0.1, 0.8)}),
    "quadratic-noise": lambda u: ({"x": -1.0}, {"1": u(0.2, 1), "x^2": u(0.1, 0.8)}),
    "noise-by-state": lambda u: (
        {"x": -1.0, "x^3": -0.5},
        {"1": 0.5, "x": u(0.1, 0.3), "x^2": u(0.2, 0.5)},
    ),
    "quartic-noise": lambda u: ({"x": -1.0, "x^3": -0.5}, {"1": 0.5, "x^4": u(0.05, 0.3)}),
    "noisy-well": lambda u: _wells({}, {"1": u(0.15, 0.3), "x^2": u(0.1, 0.3)}),
    "circle": lambda u: ({"1": u(0.2, 1.2), "cos(x)": u(0.2, 0.9)}, {"1": u(0.1, 0.8)}),
    "two-harmonics": lambda u: (
        {"1": u(-0.5, 0.5), "sin(x)": u(-0.6, 0.6), "sin(2*x)": u(0.2, 0.6)},
        {"1": 0.5, "cos(x)": u(0.1, 0.35)},
    ),
    "tanh": lambda u: ({"tanh(2*x)": -u(1, 2), "x": -0.3}, {"1": u(0.3, 1)}),
    "rational": lambda u: ({"x/(1+x^2)": -u(1.5, 3), "x": -0.2}, {"1": u(0.3, 1.2)}),
    "hill": lambda u: ({"1": 0.1, "x^2/(1+x^2)": 2.0, "x": -1.0}, {"1": u(0.03, 0.12)}),
}
CIRCLES, POSITIVE = ("circle", "two-harmonics"), ("square-root", "logistic")


def _everywhere(d: int, value: float) -> dict[str, Terms]:
    return {f"{v},{v}": {"1": value} for v in (variable_name(i) for i in range(d))}


def _linear(d: int, u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    """Return a chain of neighbours that relax and turn; unit slowest rate or faster."""
    names = [variable_name(i) for i in range(d)]
    drift: dict[str, Terms] = {v: {v: -u(1, 2)} for v in names}
    for first, second in pairwise(names):
        turn = u(0.4, 1.5)
        drift[first][second], drift[second][first] = turn, -turn
    return drift, _everywhere(d, u(0.3, 1))


def _symmetric(u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    both = u(0.2, 0.7)
    noise = {"x,x": {"1": 1.0}, "x,y": {"1": u(-0.5, 0.5)}, "y,y": {"1": u(0.5, 1)}}
    return {"x": {"x": -1.0, "y": both}, "y": {"x": both, "y": -u(1, 2)}}, noise


def _gradient(u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    pull = u(0.2, 0.6)
    drift = {"x": {"x": 1 - pull, "y": pull, "x^3": -1.0}, "y": {"x": pull, "y": -u(1, 2)}}
    return drift, _everywhere(2, u(0.3, 0.8))


def _hopf(u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    grow, turn = u(0.3, 1), u(0.5, 2)
    return {
        "x": {"x": grow, "y": -turn, "x^3": -1.0, "x*y^2": -1.0},
        "y": {"x": turn, "y": grow, "x^2*y": -1.0, "y^3": -1.0},
    }, _everywhere(2, u(0.1, 0.5))


def _excitable(u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    drift = {
        "x": {"1": u(0, 0.4), "x": 1.0, "y": -1.0, "x^3": -1 / 3},
        "y": {"x": 0.5, "1": 0.2, "y": -u(0.3, 0.6)},
    }
    return drift, _everywhere(2, u(0.1, 0.4))


def _tensor(crossed: bool, u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    """Return noise by state; crossed: σ = ((s, 0), (c x, r))."""
    s, c, r = u(0.6, 1), u(0.4, 0.8), u(0.5, 0.9)
    noise = {"x,x": {"1": s * s}, "x,y": {}, "y,y": {"1": r * r, "x^2": c * c}}
    if crossed:
        noise["x,y"] = {"x": s * c}
    return {"x": {"x": -1.0}, "y": {"x": u(-1, 1), "y": -u(1, 2)}}, noise


def _cubic(d: int, u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    drift, noise = _linear(d, u)
    for v, terms in drift.items():
        terms[f"{v}^3"] = -u(0.3, 1)
    return drift, noise


def _lorenz(u: Draw) -> tuple[dict[str, Terms], dict[str, Terms]]:
    drift = {
        "x": {"x": -10.0, "y": 10.0},
        "y": {"x": 28.0, "y": -1.0, "x*z": -1.0},
        "z": {"z": -8 / 3, "x*y": 1.0},
    }
    return drift, _everywhere(3, u(1, 10))


IN_SPACE: dict[str, Callable[[Draw], tuple[dict[str, Terms], dict[str, Terms]]]] = {
    "rotating": lambda u: _linear(2, u),
    "linear-2": _symmetric,
    "gradient": _gradient,
    "hopf": _hopf,
    "fitzhugh-nagumo": _excitable,
    "tensor": lambda u: _tensor(False, u),
    "crossed-tensor": lambda u: _tensor(True, u),
    "linear-3": lambda u: _linear(3, u),
    "linear-4": lambda u: _linear(4, u),
    "linear-6": lambda u: _linear(6, u),
    "cubic-3": lambda u: _cubic(3, u),
    "cubic-5": lambda u: _cubic(5, u),
    "cubic-2": lambda u: _cubic(2, u),
    "lorenz": _lorenz,
}


def seeds_of(half: str) -> list[int]:
    """Return the seeds of a half, `open` or `held`."""
    return [seed for ends in HALVES[half] for seed in range(*ends)]


def drawn(seed: int) -> tuple[System, Design]:
    """Draw system and record of a seed; each half has each family equally often."""
    random = np.random.default_rng([20_260_101, seed])
    if seed < FIRST_IN_SPACE:
        family = list(SCALAR)[seed // 2 % len(SCALAR)]
        b, a = SCALAR[family](random.uniform)
        system = System(
            family,
            {"x": b},
            {"x,x": a},
            {"x": (0.0, None)} if family in POSITIVE else {},
            {"x": TURN} if family in CIRCLES else {},
        )
        system = replace(system, degree=5) if family == "quintic" else system
        return system, _design(system, random, (1e-3, 0.5), (20, 20_000), CONDITIONS)
    family = list(IN_SPACE)[(seed - FIRST_IN_SPACE) // 2 % len(IN_SPACE)]
    system = System(family, *IN_SPACE[family](random.uniform))
    if len(system.drift) > 4:
        # The default, 210 terms of degree 4 in six variables, takes 75 s of CPU a record.
        system = replace(system, degree=3)
    steps = (1e-3, 0.03) if family == "lorenz" else (5e-3, 0.3)
    return system, _design(system, random, steps, (50, 5_000), CONDITIONS_IN_SPACE)


def _design(
    system: System,
    random: np.random.Generator,
    steps: tuple[float, float],
    lengths: tuple[float, float],
    conditions: Mapping[str, int],
) -> Design:
    def between(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    dt = between(*steps)
    n = min(max(between(*lengths) / dt, FEWEST), MOST[len(system.drift) - 1])
    n_paths = 1 if random.random() < 0.6 else int(min(between(2, 300), n / 20))
    shares = np.array(list(conditions.values()))
    condition = str(random.choice(list(conditions), p=shares / shares.sum()))
    ends = {"noise": (0.01, 0.3), "quantised": (0.02, 0.3), "gaps": (0.02, 0.2)}
    moved = system.family in SHIFTED and random.random() < 0.5
    return Design(
        dt,
        dt * n,
        n_paths,
        condition,
        between(*ends[condition]) if condition in ends else 0.0,
        tuple(between(1e-3, 1e3) for _ in system.variables),
        random.uniform(-20, 20) if moved else 0.0,
        between(1e-3, 1e3),
    )


@dataclass(frozen=True)
class Truth:
    """Analysis of the true process in its own units.

    time        relaxation time: of the slowest mode within the wells [time]
    deviation   standard deviation of each variable [state]; empty where the law is not known
    quantiles   (5,) states of the only variable at `LEVELS` [state]
    passage     start, target and mean time of the passage that is asked for [state, time]
    """

    process: DiffusionProcess
    report: GeneratorReport
    time: float
    deviation: Floats
    quantiles: Floats
    passage: tuple[float, float, float | None] | None


LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def truth_of(system: System) -> Truth:
    """Analyse the true process; not one of three variables or more that is not linear."""
    several = len(system.drift) > 1
    process = process_of(
        ModelTerms(
            drift=system.drift,
            diffusion=system.diffusion,
            domain=system.domain,
            periodic=system.periodic,
        )
    )
    asked = AnalysisParameters() if several else AnalysisParameters(density_points=2_000)
    settings = analysis_settings_of(asked)
    if len(system.drift) > 2 and any(
        "*" in t or "^" in t for b in system.drift.values() for t in b
    ):
        unknown = GeneratorReport(False, "not computed", (-np.inf, np.inf), "natural")
        return Truth(process, unknown, 1.0, np.array([]), np.array([]), None)
    report = pipeline.analyse_terms(process, settings, lambda *_: None).generator
    law = report.stationary
    assert law is not None
    if not isinstance(law, StationaryDistribution):
        deviation = np.sqrt(np.diag(np.array(law.covariance, dtype=float)))
        return Truth(process, report, 1.0, deviation, np.array([]), None)
    x, density = law.grid[0], law.density
    below = cumulative_trapezoid(density, x, initial=0)
    quantiles = np.interp(LEVELS, below / below[-1], x)
    mean = np.trapezoid(x * density, x)
    deviation = np.sqrt([np.trapezoid((x - mean) ** 2 * density, x)])
    wells = [p.at[0] for p in report.fixed_points if p.stable]
    two = len(wells) > 1 and not system.periodic
    rates = () if report.spectrum is None else report.spectrum.eigenvalues.real
    inner = len(wells) - 1 if two else 0
    slope = -np.trapezoid(process.drift_jacobian(x[:, None])[:, 0, 0] * density, x)
    rate = float(rates[inner]) if len(rates) > inner else float(slope)
    passage = (wells[0], wells[-1]) if two else (float(quantiles[-1]), float(mean))
    settings = replace(settings, passages=(passage,))
    timed = pipeline.analyse_terms(process, settings, lambda *_: None).generator.passages[0]
    return Truth(process, report, 1 / rate, deviation, quantiles, (*passage, timed.mean_time.value))


@dataclass(frozen=True)
class Record:
    """Data of a system, and states of the system's own along the clean paths.

    states   (n, d) at most 20 000 of them, for averages over the stationary law
    """

    data: Trajectories
    states: Floats


def record_of(system: System, design: Design, truth: Truth, seed: int) -> Record:
    """Simulate a record in its units under its condition."""
    random = np.random.default_rng([20_260_102, seed])
    n = max(int(design.duration / design.dt / design.n_paths), 2) + 1
    steps = np.full(n - 1, design.dt)
    if design.condition == "uneven":
        steps *= random.gamma(4, 0.25, n - 1) + 0.05
    times = np.append(0.0, np.cumsum(steps)) * truth.time
    paths = _paths(system, truth, design.n_paths, times, random)
    sd = truth.deviation if len(truth.deviation) else paths.std(axis=(0, 1))
    seen = paths
    if design.condition == "noise":
        seen = paths + design.level * sd * random.standard_normal(paths.shape)
    elif design.condition == "quantised":
        seen = np.round(paths / (design.level * sd)) * (design.level * sd)
    if system.periodic:
        seen = np.mod(seen + np.pi, TURN) - np.pi
    seen = design.origin * sd * np.array(design.units) + seen * design.units
    if design.condition == "float32":
        seen = seen.astype(np.float32).astype(np.float64)
    owner = np.repeat(np.arange(design.n_paths), n)
    kept = np.ones(owner.size, dtype=bool)
    if design.condition == "gaps":
        length = max(int(design.level * owner.size / 20), 1)
        for first in random.integers(0, owner.size, 20):
            kept[first : first + length] = False
    # A run is where neither a sample is missing nor the trajectory changes.
    run = np.cumsum(np.append(True, ~kept[:-1] | (np.diff(owner) > 0)))[kept]
    _, firsts, counts = np.unique(run, return_index=True, return_counts=True)
    segments = np.stack([firsts, firsts + counts, owner[kept][firsts]], axis=1).astype(np.int64)
    data = Trajectories(
        np.ascontiguousarray(seen.reshape(-1, paths.shape[2])[kept]),
        np.tile(times / truth.time * design.clock, design.n_paths)[kept],
        segments[counts > 1],
    )
    flat = paths.reshape(-1, paths.shape[2])
    return Record(data, flat[:: max(1, len(flat) // 20_000)])


def _paths(
    system: System, truth: Truth, n_paths: int, times: Floats, random: np.random.Generator
) -> Floats:
    """Return stationary paths (n_paths, n, d) of the system."""
    longest, seed = FINE * truth.time, int(random.integers(2**31))
    law, d = truth.report.stationary, len(system.drift)
    if d == 1:
        assert isinstance(law, StationaryDistribution)
        below = cumulative_trapezoid(law.density, law.grid[0], initial=0)
        start = np.interp(random.random(n_paths), below / below[-1], law.grid[0])
        b, a = system.drift["x"], system.diffusion["x,x"]
        return paths_at(b, a, start, times, longest, seed)[:, :, None]
    names = system.variables
    # Cholesky's root needs the lower triangle only.
    a_rows = [[system.terms(f"{w},{v}") for w in names] for v in names]
    longest /= 10 if system.family == "lorenz" else 1
    start = random.normal(0, 0.5, (n_paths, d))
    settled = np.append(0.0, 20 * truth.time + times)
    return paths_in_space(list(system.drift.values()), a_rows, start, settled, longest, seed)[:, 1:]
