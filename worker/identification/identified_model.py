"""The identified model in the data's own units, with its errors and everything needed to judge it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks import markov_tests
from worker.identification.checks.diagnostics import (
    Finding,
    check_smoothness,
    findings,
    step_errors,
)
from worker.identification.checks.kernel_findings import kernel_findings
from worker.identification.checks.scalar_residuals import ResidualSums
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Scales, longest_duration
from worker.identification.equations.scalar_rules import RuleName
from worker.identification.estimation import scalar_estimator
from worker.identification.estimation.scalar_fit import Problem, walk
from worker.identification.model_sampling import draw_models
from worker.identification.selection.best_subset import Candidate, Curve
from worker.identification.selection.cross_validation import KernelChoice
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.kernels import Kernels
from worker.identification.symbolic_process import (
    SymbolicFamily,
    SymbolicProcess,
    all_from_internal,
    from_internal,
)

Floats = NDArray[np.float64]

WINDOWS_FOR_SCORES = 400_000
"""What the drift leaves out and is worth a word shows in so many windows."""


@dataclass(frozen=True, slots=True)
class TermFit:
    """A candidate term; errors are None where the estimator gives none.

    rule_shift   how far the other sampling rule moves the value, where both describe the data; else 0
    """

    name: str
    value: float
    active: bool
    std_error: float | None = None
    robust_std_error: float | None = None
    rule_shift: float = 0.0


@dataclass(frozen=True, slots=True)
class PathEntry:
    """A support that was considered, its coefficients, and other supports of its size that fit equally well."""

    support: tuple[str, ...]
    score: float
    coefficients: Mapping[str, float]
    equivalent: tuple[tuple[str, ...], ...] = ()
    penalty: float | None = None


@dataclass(frozen=True, slots=True)
class ComponentFit:
    """Drift or diffusion in the data's units."""

    terms: tuple[TermFit, ...]
    method: str
    path: tuple[PathEntry, ...]
    step_errors: Mapping[str, float] = field(default_factory=dict)
    curve: Curve | None = None

    def active(self) -> dict[str, float]:
        """Coefficients of the active terms."""
        return {t.name: t.value for t in self.terms if t.active}


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """What the kernels saw.

    weights          (n_kernels,) Σ K_j(x_n), in increments
    first, last      centres at the ends [state]
    bandwidth        [state]
    """

    weights: Floats
    first: float
    last: float
    bandwidth: float


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of the samples in equal bins over their bulk; edges has one more entry [state]."""

    counts: Floats
    edges: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A model of one coordinate.

    process       b and a as functions
    draws         processes drawn from the coefficients' covariance; empty where the estimator gives none
    noise_variance   of the instrument, 0 where none is significant [state²]
    rule          name of the sampling rule that was used
    kernel_choice   by cross-validation, where asked for [state]
    """

    drift: ComponentFit
    diffusion: ComponentFit
    process: SymbolicProcess
    draws: Sequence[SymbolicProcess]
    findings: tuple[Finding, ...]
    residuals: ResidualSums
    noise_variance: float | None
    condition: float | None
    coverage: Coverage
    histogram: Histogram
    scales: Scales
    rule: str
    kernel_choice: KernelChoice | None = None


def by_efficient_estimator(
    problem: Problem,
    *,
    rule: RuleName | Literal["auto"] = "auto",
    noise: scalar_estimator.NoiseHandling = "auto",
    bounds: tuple[float, float] = (-np.inf, np.inf),
    n_draws: int = 100,
    seed: int = 0,
) -> Answer:
    """Identify and put into the data's units. Raises SecondOrderDynamics and what `efficient.identify` raises."""
    identified = scalar_estimator.identify(problem, rule, noise)
    check_smoothness(identified.raw)
    library, scales, fit = problem.library, problem.scales, identified.fit
    b, a = fit.drift.estimate, fit.diffusion.estimate
    scores = markov_tests.score_tests(
        walk(problem, fit.rule, 1, at_most=WINDOWS_FOR_SCORES),
        fit.rule,
        library,
        b.internal,
        a.internal,
        longest_duration(problem.data) / scales.time,
    )
    said = (*findings(identified, scores, library, scales), *kernel_findings(identified, library))
    found = tuple(f for f in said if noise != "none" or f.code != "measurement-noise")
    process = process_of(library, b.internal, a.internal, scales, bounds)
    drawn = draw_models((fit.drift, fit.diffusion), n_draws, seed)
    return Answer(
        drift=component_of(
            fit.drift,
            identified.coarse[0],
            library,
            problem.selection.method,
            fit.rule.order,
            scales.unit / scales.time,
        ),
        diffusion=component_of(
            fit.diffusion,
            identified.coarse[1],
            library,
            problem.selection.method,
            fit.rule.order,
            scales.unit**2 / scales.time,
        ),
        process=process,
        draws=processes_of(library, drawn, scales, bounds),
        findings=found,
        residuals=identified.residuals,
        noise_variance=None if noise == "none" else identified.noise_variance * scales.unit**2,
        condition=fit.condition,
        coverage=coverage_of(identified.kernels, identified.kernel_weights, scales),
        histogram=histogram_of(identified.residuals, scales),
        scales=scales,
        rule=fit.rule.name,
        kernel_choice=None
        if identified.choice is None
        else identified.choice.in_units(scales.unit),
    )


def component_of(
    selected: Selected,
    coarse: Floats | None,
    library: Library,
    method: str,
    order: int,
    factor: float,
) -> ComponentFit:
    """A component in the data's units.

    coarse   raw coefficients at twice the step, where there are any      order    of the sampling rule
    factor   from internal units of state and time to the data's
    """
    estimate = selected.estimate
    place = {k: i for i, k in enumerate(estimate.support)}
    terms = []
    for k, name in enumerate(library.names):
        if k not in place:
            terms.append(TermFit(name, 0.0, active=False))
            continue
        i = place[k]
        robust = (
            None
            if estimate.robust_std_error is None
            else float(estimate.robust_std_error[i] * factor)
        )
        shift = 0.0 if selected.shift is None else float(selected.shift.raw[i] * factor)
        error = float(estimate.std_error[i] * factor)
        terms.append(TermFit(name, float(estimate.raw[i] * factor), True, error, robust, shift))
    path = tuple(_entry(c, library, factor) for c in selected.path)
    return ComponentFit(
        tuple(terms), method, path, step_errors(selected, coarse, order, library), selected.curve
    )


def _entry(candidate: Candidate, library: Library, factor: float) -> PathEntry:
    names = _names(library, candidate.support)
    return PathEntry(
        support=names,
        score=candidate.score,
        coefficients={
            name: float(v * factor) for name, v in zip(names, candidate.raw, strict=True)
        },
        equivalent=tuple(_names(library, s) for s in candidate.equivalent),
        penalty=candidate.penalty,
    )


def _names(library: Library, support: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(library.names[k] for k in support)


def processes_of(
    library: Library, drawn: Floats, scales: Scales, bounds: tuple[float, float]
) -> SymbolicFamily:
    """Of many models (n, 2, n_functions): drift and diffusion along the internal functions."""
    drifts = all_from_internal(library, drawn[:, 0], scales.unit / scales.time)
    diffusions = all_from_internal(library, drawn[:, 1], scales.unit**2 / scales.time)
    return SymbolicFamily(drifts, diffusions, bounds, library.period)


def process_of(
    library: Library, b: Floats, a: Floats, scales: Scales, bounds: tuple[float, float]
) -> SymbolicProcess:
    return SymbolicProcess(
        from_internal(library, b, scales.unit / scales.time),
        from_internal(library, a, scales.unit**2 / scales.time),
        bounds,
        library.period,
    )


def _floor(residuals: ResidualSums) -> float:
    """A hundredth of the mean squared residual: keeps weights finite where a fitted â touches zero."""
    return float(0.01 * residuals.squares[0] / residuals.squares[2])


def coverage_of(kernels: Kernels, weights: Floats, scales: Scales) -> Coverage:
    first, last = (
        float(scales.origin + scales.unit * c) for c in (kernels.centres[0], kernels.centres[-1])
    )
    return Coverage(weights, first, last, kernels.bandwidth * scales.unit)


def histogram_of(residuals: ResidualSums, scales: Scales) -> Histogram:
    edges = scales.origin + scales.unit * np.linspace(-1, 1, residuals.histogram.size + 1)
    return Histogram(residuals.histogram, edges)
