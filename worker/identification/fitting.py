"""One fit by one sampling rule: pooled sums, weights, supports, coefficients (docs/method.md §§3–5)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.cells import Cells, make_cells
from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.regression import (
    NormalEquations,
    noise_covariance,
    smooth_ratio,
    whitened,
    with_block_errors,
)
from worker.identification.residuals import ResidualSums, measure_residuals
from worker.identification.sampling import Euler, SamplingRule, Trapezoid, WeakSystem
from worker.identification.selection import Candidate, Estimate, Support, best_of, estimate_on, selection_path
from worker.identification.statistics import KernelStatistics, gather
from worker.identification.trajectories import Chunk, Scales, Trajectories, block_edges, chunks

Floats = NDArray[np.float64]
Method = Literal["bic", "none"]

N_BLOCKS = 48
N_BLOCKS_FOR_ERRORS = 200
"""Where errors come from the blocks alone, more of them."""

FINE_SAMPLING = 0.03
"""Relative disagreement of two sampling rules up to which both describe the data."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything a fit needs besides the rule.

    longest_step   increments over longer steps are left out [time]
    """

    data: Trajectories
    scales: Scales
    library: Library
    kernels: Kernels
    selection: Method = "bic"
    period: float | None = None
    longest_step: float = np.inf

    @property
    def cells(self) -> Cells:
        return make_cells(self.kernels, self.scales)


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """A component on its support.

    path      best support of every size
    doubted   terms the criterion wants under this sampling rule only; they are left out
    """

    estimate: Estimate
    path: tuple[Candidate, ...]
    doubted: Support


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Drift and diffusion by one rule, internal units."""

    rule: SamplingRule
    drift: Selected
    diffusion: Selected
    condition: float


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Quadrature weights of the residuals' variance: Σ ω Δt of the drift's, Σ ω Δt² of the diffusion's; each (n_nodes,)."""

    drift: Floats
    diffusion: Floats


def walk(problem: Problem, rule: SamplingRule, n_blocks: int = N_BLOCKS) -> Iterator[Chunk]:
    """The rule's windows of the data."""
    edges = block_edges(problem.data, n_blocks)
    windows = replace(rule.windows, longest_step=problem.longest_step * rule.windows.stride)
    return chunks(problem.data, problem.scales, edges, windows, period=problem.period)


def gather_for(problem: Problem, rule: SamplingRule) -> KernelStatistics:
    """The sums a rule needs; Euler's are the first of the trapezoid's."""
    wanted = Trapezoid(rule.windows.stride) if isinstance(rule, Euler) else rule
    windows = walk(problem, wanted, N_BLOCKS_FOR_ERRORS if rule.overlapping else N_BLOCKS)
    return gather(windows, problem.library, problem.kernels, problem.cells, lambda chunk: wanted.weights(chunk, problem.library))


def first_weights(statistics: KernelStatistics, kernels: Kernels) -> Weights:
    """From the raw second moment of the increments, before anything is known: ω = a, then 2a²."""
    at_nodes = kernels.at(statistics.nodes)
    quadratic, time = statistics.sums[..., 1].sum(axis=0).clip(min=0), at_nodes @ statistics.time
    prior = 1e-6 * float(time.max())
    mean = float(quadratic.sum() / time.sum())
    a = at_nodes.T @ (quadratic + prior * mean) / (at_nodes.T @ (time + prior))
    a = a.clip(min=1e-12 * mean)
    return Weights(a * statistics.time, 2 * a**2 * statistics.time_squared.sum(axis=0))


def weights_of(residuals: ResidualSums, statistics: KernelStatistics, kernels: Kernels) -> Weights:
    """From the residuals of a first fit, smoothed over a kernel's width."""
    at_nodes = kernels.at(statistics.nodes)
    squared = statistics.time_squared.sum(axis=0)
    return Weights(
        smooth_ratio(at_nodes, residuals.drift_squared, statistics.time) * statistics.time,
        smooth_ratio(at_nodes, residuals.diffusion_squared, squared) * squared,
    )


def residuals_of(problem: Problem, fit: Fit) -> ResidualSums:
    """A pass over the data with the fit's model."""
    drift, diffusion = fit.drift.estimate.internal, fit.diffusion.estimate.internal
    return measure_residuals(walk(problem, fit.rule), fit.rule, problem.library, problem.cells, drift, diffusion)


def fit_with(problem: Problem, rule: SamplingRule, statistics: KernelStatistics, weights: Weights) -> Fit:
    """Select and estimate the drift, then the diffusion with the drift's part removed."""
    at_nodes, library, kernels = problem.kernels.at(statistics.nodes), problem.library, problem.kernels
    other = _other_rule(rule)

    def equations(system: WeakSystem, variance: Floats) -> NormalEquations:
        found = whitened(system, noise_covariance(at_nodes, variance))
        return with_block_errors(found) if rule.overlapping else found

    of_drift = equations(rule.drift_system(statistics, library), weights.drift)
    doubting = None if other is None else equations(other.drift_system(statistics, library), weights.drift)
    drift = _selected(of_drift, doubting, statistics, problem)
    b = drift.estimate.internal
    of_diffusion = equations(rule.diffusion_system(statistics, library, kernels, b), weights.diffusion)
    if other is not None:
        doubting = equations(other.diffusion_system(statistics, library, kernels, b), weights.diffusion)
    return Fit(rule, drift, _selected(of_diffusion, doubting, statistics, problem), of_drift.condition)


def refit(problem: Problem, fit: Fit, statistics: KernelStatistics, weights: Weights) -> tuple[Floats | None, Floats | None]:
    """Raw coefficients of drift and diffusion on the fit's supports, from other statistics by the fit's rule."""
    at_nodes, library, kernels = problem.kernels.at(statistics.nodes), problem.library, problem.kernels
    if not statistics.n_windows:
        return None, None
    equations = whitened(fit.rule.drift_system(statistics, library), noise_covariance(at_nodes, weights.drift))
    drift = estimate_on(equations, library, fit.drift.estimate.support)
    if drift is None:
        return None, None
    system = fit.rule.diffusion_system(statistics, library, kernels, drift.internal)
    equations = whitened(system, noise_covariance(at_nodes, weights.diffusion))
    diffusion = estimate_on(equations, library, fit.diffusion.estimate.support)
    return drift.raw, None if diffusion is None else diffusion.raw


def _other_rule(rule: SamplingRule) -> SamplingRule | None:
    """The other rule that the same sums serve."""
    match rule:
        case Euler():
            return Trapezoid(rule.stride)
        case Trapezoid():
            return Euler(rule.stride)
    return None


def _selected(
    equations: NormalEquations, of_other_rule: NormalEquations | None, statistics: KernelStatistics, problem: Problem
) -> Selected:
    """The support that the criterion prefers, less the terms that hang on the sampling rule."""
    library, n = problem.library, statistics.n_windows
    path = selection_path(equations, library, n)
    if problem.selection == "none":
        return Selected(_first_estimate(equations, library, [c.support for c in reversed(path)]), path, ())
    best = best_of(path).support
    doubted: Support = ()
    if of_other_rule is not None:
        wanted_by_other = best_of(selection_path(of_other_rule, library, n)).support
        doubted = _hanging_on_the_rule(equations, of_other_rule, library, best, wanted_by_other)
    kept = tuple(k for k in best if k not in doubted)
    ranked = [kept, *(c.support for c in sorted(path, key=lambda c: -c.score))]
    return Selected(_first_estimate(equations, library, ranked), path, doubted)


def _hanging_on_the_rule(
    equations: NormalEquations, of_other_rule: NormalEquations, library: Library, best: Support, wanted_by_other: Support
) -> Support:
    """Terms that the other sampling rule does not want and finds less than a third as large, where sampling is fine for both.

    Simulated paths may be exact Euler steps and measured ones never are; with six million increments either rule, applied to the
    other's data, finds a difference of a tenth of a percent significant and names it a term. Where the rules differ by more than
    `FINE_SAMPLING`, nobody's path is an Euler step and the chosen rule decides alone.
    """
    extra = [k for k in best if k not in wanted_by_other]
    here, there = estimate_on(equations, library, best), estimate_on(of_other_rule, library, best)
    if not extra or here is None or there is None:
        return ()
    difference = here.internal - there.internal
    information = equations.information
    if difference @ information @ difference > FINE_SAMPLING**2 * (here.internal @ information @ here.internal):
        return ()
    return tuple(k for k in extra if there.raw[best.index(k)] / here.raw[best.index(k)] < 1 / 3)


def _first_estimate(equations: NormalEquations, library: Library, supports: list[Support]) -> Estimate:
    """The estimate on the first support whose terms can be told apart; the empty one always can."""
    estimates = (estimate_on(equations, library, support) for support in [*supports, ()])
    return next(estimate for estimate in estimates if estimate is not None)
