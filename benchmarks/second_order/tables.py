"""Records of the benchmark, what a job finds in them, and the rows of its tables."""

import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.recovery import rms
from benchmarks.second_order.derived import Quantity, derived_of, exact
from benchmarks.second_order.systems import (
    COLOURED,
    SYSTEMS,
    Bounds,
    Coefficient,
    Floats,
    System,
    bounds_of,
    bounds_of_coloured,
    positions_of,
    states_of,
)
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import from_arrays
from worker.identification.errors import IdentificationError
from worker.identification.identified_model import IdentifiedModel
from worker.identification.model_sampling import confidence_interval
from worker.jobs.parameters import settings_of

DEGREE = 3


@dataclass(frozen=True)
class Setting:
    """Samples of a system.

    noise      standard deviation of the measurement noise
    allowed    largest rms error of a coefficient of F in bounds of a fit without selection
    dynamics   value of the parameter
    derived    derived quantities whose intervals are looked at
    """

    system: str
    dt: float
    n_samples: int
    noise: float = 0.0
    n_trajectories: int = 1
    allowed: float = 1.15
    dynamics: str = "second-order"
    derived: tuple[str, ...] = ()

    @property
    def process(self) -> System:
        """The system."""
        return SYSTEMS[self.system]

    @property
    def truth(self) -> dict[Coefficient, float]:
        """Coefficients that the job is to find."""
        if self.dynamics == "coloured-noise":
            return COLOURED
        components = self.process.components()
        return {
            (c, term): value for c, terms in components.items() for term, value in terms.items()
        }

    def bounds(self, states: Floats) -> tuple[Bounds, Bounds]:
        """Return the Cramér–Rao bounds of a record given the true terms, and of all candidates."""
        if self.dynamics == "coloured-noise":
            return bounds_of_coloured(states, self.dt), {}
        true, every = (bounds_of(self.process, states, self.dt, d) for d in (None, DEGREE))
        return true, every

    def states(self, seed: int) -> Floats:
        """Sample positions and velocities (n_trajectories, n_samples, 2d)."""
        return states_of(self.system, self.dt, self.n_samples, self.n_trajectories, seed)


SETTINGS = {
    "van-der-pol": Setting("van der Pol", 0.02, 2_000),
    "van-der-pol-noise": Setting("van der Pol", 0.02, 2_000, 0.01, allowed=1.3),
    "double-well": Setting("double well", 0.05, 20_000, derived=("escape",)),
    "double-well-noise": Setting("double well", 0.05, 20_000, 0.02, allowed=1.3),
    "double-well-coarse": Setting("double well", 0.2, 20_000, allowed=1.3),
    "harmonic": Setting("harmonic", 0.02, 2_500, 0.05, 100, 1.3, derived=("period",)),
    "rotating-trap": Setting("rotating trap", 0.05, 20_000),
    "coupled-oscillators": Setting("coupled oscillators", 0.05, 20_000),
    "anisotropic": Setting("anisotropic", 0.05, 20_000),
    "coloured-as-second": Setting("coloured noise", 0.02, 50_000),
    "coloured-noise": Setting("coloured noise", 0.02, 50_000, dynamics="coloured-noise"),
}


@dataclass(frozen=True)
class Answer:
    """Coefficient, its standard error, and its 95 % interval."""

    value: float
    error: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Found:
    """What one job found.

    answers   coefficients of the terms that were found
    bounds    Cramér–Rao bounds given the true terms
    without   those of all candidates
    derived   derived quantities
    codes     codes of the warnings, or of the refusal
    seconds   CPU time of the identification
    """

    answers: dict[Coefficient, Answer]
    bounds: Bounds
    without: Bounds
    derived: dict[str, Quantity]
    codes: tuple[str, ...]
    seconds: float


def parameters_of(dynamics: str = "second-order") -> IdentificationParameters:
    """Return the parameters of the benchmark's jobs: all but two at their defaults."""
    return IdentificationParameters.model_validate(
        {"dynamics": dynamics, "library": {"polynomial_degree": DEGREE}}
    )


def measured(seed: int, name: str, derive: bool) -> Found:
    """Identify one record of a setting as a job does, and derive what its intervals need."""
    setting = SETTINGS[name]
    states = setting.states(seed)
    data = from_arrays(list(positions_of(states, setting.noise, seed)), setting.dt)
    settings = settings_of(parameters_of(setting.dynamics))
    answers: dict[Coefficient, Answer] = {}
    derived: dict[str, Quantity] = {}
    with threadpool_limits(1):
        begun = time.process_time()
        try:
            model = pipeline.identify(data, settings, lambda *_: None)
        except IdentificationError as error:
            seconds, codes = time.process_time() - begun, [f"refused as {error.code}"]
        else:
            seconds = time.process_time() - begun
            answers = answers_of(model, setting)
            codes = [finding.code for finding in model.findings]
            if derive and setting.derived:
                derived = derived_of(model, data, setting.derived)
    return Found(answers, *setting.bounds(states), derived, tuple(codes), seconds)


def answers_of(model: IdentifiedModel, setting: Setting) -> dict[Coefficient, Answer]:
    """Return the active terms of what a setting is about."""
    noise = model.coloured_noise
    fits = {c: f for c, f in {**model.drift, **model.diffusion}.items() if "v" in c}
    if setting.dynamics == "coloured-noise":
        fits = {} if noise is None else {"f": noise.drift}
    answers = {
        (component, t.name): Answer(
            t.value, t.std_error or np.nan, confidence_interval(t.estimates, 0.95, t.value)
        )
        for component, fit in fits.items()
        for t in fit.terms
        if t.active
    }
    if setting.dynamics == "coloured-noise" and noise is not None:
        for name, (value, error) in {"τ": noise.correlation_time, "a": noise.diffusion}.items():
            spread = np.exp(1.96 * error / value)
            answers[name, ""] = Answer(value, error, (value / spread, value * spread))
    return answers


HEAD = (
    f"{'record':20}{'term':12}{'mean':>9}{'in s.e.':>8}{'rms':>9}{'bound':>9}{'ratio':>7}"
    f"{'of true':>9}{'ratio':>7}{'z':>6}{'held':>7}"
)
"""Columns, with `rows_of`."""


def rows_of(name: str, found: list[Found], misses: list[str], coverage: bool) -> Iterator[str]:
    """Yield the rows of a setting, and collect the missed bars."""
    setting = SETTINGS[name]
    for key, value in setting.truth.items():
        label = ": ".join(filter(None, key))
        answers = [f.answers.get(key) for f in found]
        errors = np.array([a.value / value - 1 if a else -1.0 for a in answers])
        z = [(a.value - value) / a.error for a in answers if a]
        held = [float(a.interval[0] < value < a.interval[1]) for a in answers if a]
        share = 100 * float(np.mean(held or [np.nan]))
        bound, without = (
            rms([getattr(f, which).get(key, np.nan) / value for f in found])
            for which in ("bounds", "without")
        )
        size, bias = rms(list(errors)), float(np.mean(errors))
        in_errors = bias / (float(np.std(errors)) / np.sqrt(max(len(errors) - 1, 1)))
        yield (
            f"{name:20}{label:12}{100 * bias:+8.2f}%{in_errors:+8.1f}"
            f"{100 * size:8.2f}%{100 * without:8.2f}%{size / without:7.2f}{100 * bound:8.2f}%"
            f"{size / bound:7.2f}{rms(z) if z else np.nan:6.2f}{share:6.1f}%"
        )
        if key[0] in setting.process.force and size > setting.allowed * without:
            misses.append(f"{name}, {label}: rms is {size / without:.2f} bounds")
        if coverage and not 92 <= share <= 97.5:
            misses.append(f"{name}, {label}: {share:.1f} % of the intervals hold the truth")
    for quantity in setting.derived if coverage else ():
        yield from _derived_rows(name, quantity, found, misses)
    wrong = Counter(
        sign + ": ".join(filter(None, key))
        for f in found
        for sign, keys in (
            ("+", f.answers.keys() - setting.truth.keys()),
            ("−", setting.truth.keys() - f.answers.keys()),
        )
        for key in keys
    )
    exact = sum(f.answers.keys() == setting.truth.keys() for f in found)
    seconds = [f.seconds for f in found]
    yield (
        f"{name:20}{exact}/{len(found)} exact supports; wrong: "
        f"{', '.join(f'{w} ({n})' for w, n in wrong.most_common(6)) or 'none'}; CPU "
        f"{np.median(seconds):.2f} s, slowest {max(seconds):.2f} s"
    )
    codes = Counter(c for f in found for c in f.codes)
    if codes:
        yield f"{name:20}warnings: {', '.join(f'{c} ({n})' for c, n in codes.most_common())}"
    if exact < 0.95 * len(found):
        misses.append(f"{name}: {exact} of {len(found)} supports are exact")


def _derived_rows(name: str, quantity: str, found: list[Found], misses: list[str]) -> Iterator[str]:
    setting = SETTINGS[name]
    [value] = exact(setting.system, (quantity,)).values()
    given = [f.derived[quantity] for f in found if quantity in f.derived]
    ranges = [interval for _, interval in given if interval is not None]
    errors = [v / value - 1 for v, _ in given]
    share = 100 * float(np.mean([float(low < value < high) for low, high in ranges] or [np.nan]))
    width = float(np.median([(high - low) / value for low, high in ranges] or [np.nan]))
    bias = float(np.mean(errors))
    yield (
        f"{name:20}{quantity:12}{100 * bias:+8.2f}%{'':8}{100 * rms(errors):8.2f}%"
        f"  of {value:.4g}; {len(ranges)} intervals, {100 * width:.1f} % wide{share:8.1f}%"
    )
    if not 92 <= share <= 97.5:
        misses.append(f"{name}, {quantity}: {share:.1f} % of the intervals hold the truth")


ESTIMATORS = {"linear": False, "parametric": True}
"""Estimators of SFI."""


def peer_rows(names: list[str], python: Path, seeds: int) -> Iterator[str]:
    """Yield the rows of SFI's estimators: errors of all candidates, and supports by PASTIS."""
    for name in names:
        setting = SETTINGS[name]
        states = [setting.states(seed) for seed in range(seeds)]
        positions = [positions_of(s, setting.noise, seed) for seed, s in enumerate(states)]
        limits = [bounds_of(setting.process, s, setting.dt, DEGREE) for s in states]
        for estimator, parametric in ESTIMATORS.items():
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "records.npz"
                np.savez(
                    file, positions=positions, dt=setting.dt, degree=DEGREE, parametric=parametric
                )
                command = [python, Path(__file__).with_name("peer.py"), file]
                ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                yield f"{name:20}SFI {estimator}: {ended.stderr.strip().splitlines()[-1]}"
                continue
            answers = [json.loads(line) for line in ended.stdout.splitlines()]
            for velocity, terms in setting.process.force.items():
                for term, value in terms.items():
                    size = rms([a["force"][velocity][term] / value - 1 for a in answers])
                    bound = rms([limit[velocity, term] / value for limit in limits])
                    yield (
                        f"{name:20}SFI {estimator:12}{velocity + ': ' + term:12}{100 * size:8.2f}%"
                        f"{100 * bound:8.2f}%{size / bound:7.2f}"
                    )
            exact = sum(
                all(
                    set(a["support"][v]) == terms.keys()
                    for v, terms in setting.process.force.items()
                )
                for a in answers
            )
            seconds = float(np.median([a["seconds"] for a in answers]))
            yield (
                f"{name:20}SFI {estimator:12}{exact}/{len(answers)} exact supports of F; CPU "
                f"{seconds:.1f} s"
            )
