"""The identified model in the data's own units, with its errors and everything needed to judge it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification import efficient, memory, paper
from worker.identification.cells import make_cells
from worker.identification.diagnostics import Finding, check_smoothness, findings, step_errors
from worker.identification.fitting import Problem, Selected, walk
from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.model import SymbolicProcess, from_internal
from worker.identification.residuals import ResidualSums, measure_residuals
from worker.identification.sampling import Euler, RuleName
from worker.identification.selection import Candidate
from worker.identification.trajectories import Scales, Trajectories, block_edges, chunks

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TermFit:
    """A candidate term; errors are None where the estimator gives none."""

    name: str
    value: float
    active: bool
    std_error: float | None = None
    robust_std_error: float | None = None


@dataclass(frozen=True, slots=True)
class PathEntry:
    """The best support of its size, its coefficients, and other supports of that size that fit equally well."""

    support: tuple[str, ...]
    score: float
    coefficients: Mapping[str, float]
    equivalent: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ComponentFit:
    """Drift or diffusion in the data's units."""

    terms: tuple[TermFit, ...]
    method: str
    path: tuple[PathEntry, ...]
    step_errors: Mapping[str, float] = field(default_factory=dict)

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
    """

    drift: ComponentFit
    diffusion: ComponentFit
    process: SymbolicProcess
    draws: tuple[SymbolicProcess, ...]
    findings: tuple[Finding, ...]
    residuals: ResidualSums
    noise_variance: float | None
    condition: float | None
    coverage: Coverage
    histogram: Histogram
    scales: Scales
    rule: str


def by_efficient_estimator(
    problem: Problem,
    *,
    rule: RuleName | Literal["auto"] = "auto",
    noise: efficient.NoiseHandling = "auto",
    bounds: tuple[float, float] = (-np.inf, np.inf),
    n_draws: int = 100,
    seed: int = 0,
) -> Answer:
    """Identify and put into the data's units. Raises SecondOrderDynamics and what `efficient.identify` raises."""
    identified = efficient.identify(problem, rule, noise)
    check_smoothness(identified.raw)
    library, scales, fit = problem.library, problem.scales, identified.fit
    b, a = fit.drift.estimate, fit.diffusion.estimate
    scores = memory.score_tests(walk(problem, fit.rule), fit.rule, library, b.internal, a.internal)
    found = tuple(f for f in findings(identified, scores, library, scales) if noise != "none" or f.code != "measurement-noise")
    process = _process(library, b.internal, a.internal, scales, bounds)
    normal = np.random.default_rng(seed).standard_normal((n_draws, 2, library.internal_size))
    return Answer(
        drift=_component(fit.drift, identified.coarse[0], problem, fit.rule.order, scales.unit / scales.time),
        diffusion=_component(fit.diffusion, identified.coarse[1], problem, fit.rule.order, scales.unit**2 / scales.time),
        process=process,
        draws=tuple(
            _process(library, b.internal + b.internal_factor @ z[0], a.internal + a.internal_factor @ z[1], scales, bounds)
            for z in normal
        ),
        findings=found,
        residuals=identified.residuals,
        noise_variance=None if noise == "none" else identified.noise_variance * scales.unit**2,
        condition=fit.condition,
        coverage=_coverage(problem.kernels, identified.kernel_weights, scales),
        histogram=_histogram(identified.residuals, scales),
        scales=scales,
        rule=fit.rule.name,
    )


def by_paper(
    data: Trajectories,
    scales: Scales,
    library: Library,
    kernels: Kernels,
    *,
    threshold: float = 0.25,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Answer:
    """Algorithm 1, with the residuals of its model beside it. Raises what `identify_by_paper` raises."""
    model = paper.identify_by_paper(data, scales, library, kernels, threshold=threshold)
    to_internal = np.array([[float(v) for v in row] for row in library.change_of_basis]).T
    b = to_internal @ model.drift.coefficients * scales.time / scales.unit
    a = to_internal @ model.diffusion.coefficients * scales.time / scales.unit**2
    cells = make_cells(kernels, scales)
    residuals = measure_residuals(chunks(data, scales, block_edges(data, 1)), Euler(), library, cells, b, a)
    return Answer(
        drift=_sparse_component(model.drift, library),
        diffusion=_sparse_component(model.diffusion, library),
        process=_process(library, b, a, scales, bounds),
        draws=(),
        findings=(
            Finding(
                "paper-preset",
                "These coefficients come from the source paper's Algorithm 1. Its stacked rows leave a bias of some percent that "
                "more data do not remove, and it gives no errors. The default estimator does better on the same data.",
            ),
        ),
        residuals=residuals,
        noise_variance=None,
        condition=None,
        coverage=_coverage(kernels, kernels.at(cells.nodes()) @ residuals.count_at_nodes, scales),
        histogram=_histogram(residuals, scales),
        scales=scales,
        rule="euler",
    )


def _component(selected: Selected, coarse: Floats | None, problem: Problem, order: int, factor: float) -> ComponentFit:
    estimate, library = selected.estimate, problem.library
    place = {k: i for i, k in enumerate(estimate.support)}
    terms = []
    for k, name in enumerate(library.names):
        if k not in place:
            terms.append(TermFit(name, 0.0, active=False))
            continue
        i = place[k]
        robust = None if estimate.robust_std_error is None else float(estimate.robust_std_error[i] * factor)
        terms.append(TermFit(name, float(estimate.raw[i] * factor), True, float(estimate.std_error[i] * factor), robust))
    path = tuple(_entry(c, library, factor) for c in selected.path)
    return ComponentFit(tuple(terms), problem.selection, path, step_errors(selected, coarse, order, library))


def _entry(candidate: Candidate, library: Library, factor: float) -> PathEntry:
    names = _names(library, candidate.support)
    return PathEntry(
        support=names,
        score=candidate.score,
        coefficients={name: float(v * factor) for name, v in zip(names, candidate.raw, strict=True)},
        equivalent=tuple(_names(library, s) for s in candidate.equivalent),
    )


def _names(library: Library, support: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(library.names[k] for k in support)


def _sparse_component(fit: paper.SparseFit, library: Library) -> ComponentFit:
    terms = tuple(TermFit(name, float(fit.coefficients[k]), k in fit.support) for k, name in enumerate(library.names))
    active = {t.name: t.value for t in terms if t.active}
    return ComponentFit(terms, "lasso_cv+stlsq", (PathEntry(tuple(active), -float(fit.errors.min()), active),))


def _process(library: Library, b: Floats, a: Floats, scales: Scales, bounds: tuple[float, float]) -> SymbolicProcess:
    return SymbolicProcess(
        from_internal(library, b, scales.unit / scales.time),
        from_internal(library, a, scales.unit**2 / scales.time),
        bounds,
        library.period,
    )


def _floor(residuals: ResidualSums) -> float:
    """A hundredth of the mean squared residual: keeps weights finite where a fitted â touches zero."""
    return float(0.01 * residuals.squares[0] / residuals.squares[2])


def _coverage(kernels: Kernels, weights: Floats, scales: Scales) -> Coverage:
    first, last = (float(scales.origin + scales.unit * c) for c in (kernels.centres[0], kernels.centres[-1]))
    return Coverage(weights, first, last, kernels.bandwidth * scales.unit)


def _histogram(residuals: ResidualSums, scales: Scales) -> Histogram:
    edges = scales.origin + scales.unit * np.linspace(-1, 1, residuals.histogram.size + 1)
    return Histogram(residuals.histogram, edges)
