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
from benchmarks.second_order.systems import (
    SYSTEMS,
    Bounds,
    Coefficient,
    Floats,
    System,
    bounds_of,
    positions_of,
    states_of,
)
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.component_fit import TermFit
from worker.identification.data.trajectories import from_arrays
from worker.identification.errors import IdentificationError
from worker.identification.identified_model import IdentifiedModel
from worker.identification.model_sampling import confidence_interval
from worker.jobs.parameters import settings_of

DEGREE = 3


@dataclass(frozen=True)
class Setting:
    """Samples of a system.

    noise     standard deviation of the measurement noise
    allowed   largest rms error of a coefficient of F in bounds of a fit without selection
    """

    system: str
    dt: float
    n_samples: int
    noise: float = 0.0
    n_trajectories: int = 1
    allowed: float = 1.15

    @property
    def truth(self) -> System:
        """The system."""
        return SYSTEMS[self.system]

    def states(self, seed: int) -> Floats:
        """Sample positions and velocities (n_trajectories, n_samples, 2d)."""
        return states_of(self.system, self.dt, self.n_samples, self.n_trajectories, seed)


SETTINGS = {
    "van-der-pol": Setting("van der Pol", 0.02, 2_000),
    "van-der-pol-noise": Setting("van der Pol", 0.02, 2_000, 0.01, allowed=1.3),
    "double-well": Setting("double well", 0.05, 20_000),
    "double-well-noise": Setting("double well", 0.05, 20_000, 0.02, allowed=1.3),
    "double-well-coarse": Setting("double well", 0.2, 20_000, allowed=1.3),
    "harmonic": Setting("harmonic", 0.02, 2_500, 0.05, 100, allowed=1.3),
    "rotating-trap": Setting("rotating trap", 0.05, 20_000),
    "coupled-oscillators": Setting("coupled oscillators", 0.05, 20_000),
    "anisotropic": Setting("anisotropic", 0.05, 20_000),
    "coloured-noise": Setting("coloured noise", 0.02, 50_000),
}


@dataclass(frozen=True)
class Found:
    """What one job found.

    values    true coefficients, zero where the term was not found
    errors    their standard errors, where found
    held      whether their 95 % intervals hold the truth, where found
    bounds    Cramér–Rao bounds given the true terms, and with all candidates
    wrong     terms that are too many (+) or missing (−), by component
    codes     codes of the warnings
    seconds   CPU time
    """

    values: dict[Coefficient, float]
    errors: dict[Coefficient, float]
    held: dict[Coefficient, bool]
    bounds: Bounds
    bounds_without_selection: Bounds
    wrong: tuple[str, ...]
    codes: tuple[str, ...]
    seconds: float


def parameters_of(dynamics: str = "second-order") -> IdentificationParameters:
    """Return the parameters of the benchmark's jobs: all but two at their defaults."""
    return IdentificationParameters.model_validate(
        {"dynamics": dynamics, "library": {"polynomial_degree": DEGREE}}
    )


def identified(positions: Floats, dt: float, dynamics: str = "second-order") -> IdentifiedModel:
    """Identify as a job does."""
    data = from_arrays(list(positions), dt)
    return pipeline.identify(data, settings_of(parameters_of(dynamics)), lambda *_: None)


def measured(seed: int, name: str) -> Found:
    """Identify one record of a setting."""
    setting = SETTINGS[name]
    states, system = setting.states(seed), setting.truth
    positions = positions_of(states, setting.noise, seed)
    truth = {(c, t): v for c, terms in system.components().items() for t, v in terms.items()}
    bounds = bounds_of(system, states, setting.dt)
    without = bounds_of(system, states, setting.dt, DEGREE)
    with threadpool_limits(1):
        begun = time.process_time()
        try:
            model = identified(positions, setting.dt)
        except IdentificationError as error:
            seconds = time.process_time() - begun
            nothing = dict.fromkeys(truth, 0.0)
            refused = (f"refused: {error.code}",)
            return Found(nothing, {}, {}, bounds, without, refused, (), seconds)
        seconds = time.process_time() - begun
    terms = {
        (c, t.name): t
        for c, fit in {**model.drift, **model.diffusion}.items()
        for t in fit.terms
        if t.active and c in system.components()
    }
    both = terms.keys() & truth.keys()
    return Found(
        {c: terms[c].value if c in terms else 0.0 for c in truth},
        {c: terms[c].std_error or np.nan for c in both},
        {c: _holds(terms[c], truth[c]) for c in both},
        bounds,
        without,
        tuple(f"+{c}: {t}" for c, t in terms if (c, t) not in truth)
        + tuple(f"−{c}: {t}" for c, t in truth if (c, t) not in terms),
        tuple(finding.code for finding in model.findings),
        seconds,
    )


def _holds(term: TermFit, value: float) -> bool:
    low, high = confidence_interval(term.estimates, 0.95, term.value)
    return bool(low < value < high)


HEAD = (
    f"{'record':20}{'term':12}{'mean':>9}{'in s.e.':>8}{'rms':>9}{'bound':>9}{'ratio':>7}"
    f"{'of true':>9}{'ratio':>7}{'z':>6}{'held':>7}"
)
"""Columns, with `rows_of`."""


def rows_of(name: str, found: list[Found], misses: list[str], coverage: bool) -> Iterator[str]:
    """Yield the rows of a setting, and collect the missed bars."""
    setting = SETTINGS[name]
    for component, terms in setting.truth.components().items():
        for term, value in terms.items():
            key = component, term
            errors = np.array([f.values[key] / value - 1 for f in found])
            bound, without = (
                rms([b.get(key, np.nan) / value for b in bounds])
                for bounds in (
                    [f.bounds for f in found],
                    [f.bounds_without_selection for f in found],
                )
            )
            size, bias = rms(list(errors)), float(np.mean(errors))
            in_errors = bias / (float(np.std(errors)) / np.sqrt(max(len(errors) - 1, 1)))
            z = [errors[i] * value / f.errors[key] for i, f in enumerate(found) if key in f.errors]
            held = 100 * float(
                np.mean([float(f.held[key]) for f in found if key in f.held] or [np.nan])
            )
            yield (
                f"{name:20}{component + ': ' + term:12}{100 * bias:+8.2f}%{in_errors:+8.1f}"
                f"{100 * size:8.2f}%{100 * without:8.2f}%{size / without:7.2f}{100 * bound:8.2f}%"
                f"{size / bound:7.2f}{rms(z) if z else np.nan:6.2f}{held:6.1f}%"
            )
            if component in setting.truth.force and size > setting.allowed * without:
                misses.append(f"{name}, {component}: {term}: rms is {size / without:.2f} bounds")
            if coverage and not 92 <= held <= 97.5:
                misses.append(f"{name}, {component}: {term}: {held:.1f} % of intervals hold")
    exact = sum(not f.wrong for f in found)
    wrong = Counter(w for f in found for w in f.wrong)
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


ESTIMATORS = {"linear": False, "parametric": True}
"""Estimators of SFI."""


def peer_rows(names: list[str], python: Path, seeds: int) -> Iterator[str]:
    """Yield the rows of SFI's estimators: errors of all candidates, and supports by PASTIS."""
    for name in names:
        setting = SETTINGS[name]
        states = [setting.states(seed) for seed in range(seeds)]
        positions = [positions_of(s, setting.noise, seed) for seed, s in enumerate(states)]
        limits = [bounds_of(setting.truth, s, setting.dt, DEGREE) for s in states]
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
            for velocity, terms in setting.truth.force.items():
                for term, value in terms.items():
                    size = rms([a["force"][velocity][term] / value - 1 for a in answers])
                    bound = rms([limit[velocity, term] / value for limit in limits])
                    yield (
                        f"{name:20}SFI {estimator:12}{velocity + ': ' + term:12}{100 * size:8.2f}%"
                        f"{100 * bound:8.2f}%{size / bound:7.2f}"
                    )
            exact = sum(
                all(
                    set(a["support"][v]) == terms.keys() for v, terms in setting.truth.force.items()
                )
                for a in answers
            )
            seconds = float(np.median([a["seconds"] for a in answers]))
            yield (
                f"{name:20}SFI {estimator:12}{exact}/{len(answers)} exact supports of F; CPU "
                f"{seconds:.1f} s"
            )
