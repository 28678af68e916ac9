"""One fit by one sampling rule: pooled sums, weights, supports, coefficients (docs/method.md §§3–5)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.reflecting_boundaries import NO_WALLS, Walls
from worker.identification.checks.scalar_residuals import ResidualSums, measure_residuals
from worker.identification.data.library import Library
from worker.identification.data.trajectories import (
    Chunk,
    Integers,
    Scales,
    Trajectories,
    Windows,
    block_edges,
    chunks,
)
from worker.identification.equations.joint_equations import NoiseLine, joint_equations
from worker.identification.equations.regression import (
    NormalEquations,
    calibrated,
    no_data_under_kernels,
    noise_covariance,
    smooth_ratio,
    whitened_by,
    whitening_of,
)
from worker.identification.equations.scalar_rules import (
    Euler,
    SamplingRule,
    Trapezoid,
    WeakSystem,
)
from worker.identification.estimation.kernel_grid import KernelGrid
from worker.identification.selection.best_subset import Estimate, estimate_on
from worker.identification.selection.criteria import BIC, Criterion
from worker.identification.selection.diffusion_terms import choose_up_to
from worker.identification.selection.support_selection import Selected, choose
from worker.identification.sums.block_sums import Summing, blocks_between, sums_here
from worker.identification.sums.kernel_statistics import (
    KernelStatistics,
    WindowsPass,
    statistics_of,
)
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.moment_cells import Cells, kernels_at_nodes, make_cells
from worker.identification.sums.polynomial_moments import gather_by_powers, is_polynomial

Floats = NDArray[np.float64]

N_BLOCKS = 48
N_BLOCKS_FOR_ERRORS = 200
"""Where errors come from the blocks alone, more of them."""

WINDOWS_FOR_WEIGHTS = 100_000
"""A local variance from so many residuals is known to three percent in each of fifty kernels."""

LONG_RECORD = 1_000_000
"""Increments of which a part shows what the step's length does to a percent: half of them, or all of every fourth block."""

WINDOWS_FOR_DIAGNOSTICS = 500_000
"""What would be material shows in so many residuals: a correlation of half a percent is 3.5 of its standard errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything a fit needs besides the rule.

    longest_step   increments over longer steps are left out [time]
    walls          windows that start near them are left out
    grid           kernels to choose from by cross-validation; `kernels` are then those until the choice
    diffusion_degree   highest total degree of the diffusion's terms; None: all terms of the library
    summing        takes the sums over all the data
    edges          sample numbers at which blocks begin, and the end; None: about as many blocks as errors need
    """

    data: Trajectories
    scales: Scales
    library: Library
    kernels: Kernels
    selection: Criterion = BIC
    period: float | None = None
    longest_step: float = np.inf
    grid: KernelGrid | None = None
    walls: Walls = NO_WALLS
    diffusion_degree: int | None = None
    summing: Summing = sums_here
    edges: Integers | None = None

    @property
    def cells(self) -> Cells:
        return (
            make_cells(self.kernels, self.scales)
            if self.grid is None
            else self.grid.cells(self.scales)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Drift and diffusion by one rule, internal units.

    noise_variance   of the measurement noise that goes with them, where the rule has it as an unknown
    """

    rule: SamplingRule
    drift: Selected
    diffusion: Selected
    condition: float
    noise_variance: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Quadrature weights of the residuals' variance: Σ ω Δt of the drift's, Σ ω Δt² of the diffusion's; each (n_nodes,)."""

    drift: Floats
    diffusion: Floats


def walk(
    problem: Problem, rule: SamplingRule, n_blocks: int = N_BLOCKS, at_most: int | None = None
) -> Iterator[Chunk]:
    """The rule's windows of the data: all, or about `at_most` in chunks spread over the record; small blocks are joined."""
    every = 1 if at_most is None else max(1, problem.data.n_increments // at_most)
    edges, windows = edges_for(problem, rule, n_blocks), windows_for(problem, rule)
    return chunks(
        problem.data,
        problem.scales,
        edges,
        windows,
        period=problem.period,
        every=every,
        joined=True,
    )


def edges_for(problem: Problem, rule: SamplingRule, n_blocks: int) -> Integers:
    """Sample numbers at which blocks begin, and the end; (n_blocks + 1,)."""
    if problem.edges is not None:
        return problem.edges
    # Where all that is known of the errors comes from the blocks, ten trajectories do not tell: an inverse covariance needs many.
    return block_edges(problem.data, n_blocks, whole=not rule.overlapping)


def windows_for(problem: Problem, rule: SamplingRule) -> Windows:
    """The rule's, of these data."""
    between = (problem.walls.inner_low, problem.walls.inner_high)
    return replace(
        rule.windows, longest_step=problem.longest_step * rule.windows.stride, between=between
    )


def gather_for(
    problem: Problem, rule: SamplingRule, every: int = 1, *, at_nodes: bool = False
) -> KernelStatistics:
    """The sums a rule needs; Euler's are the first of the trapezoid's. With `every` = k only each k-th block; `at_nodes` those
    of which `KernelStatistics.under` makes any kernels'.

    Of a long record increments over several steps are taken one after the other, not from every sample: they hold the same drift.
    """
    kernels = None if at_nodes else problem.kernels
    wanted = Trapezoid(rule.windows.stride) if isinstance(rule, Euler) else rule
    # Neighbouring blocks share a window's length of samples; thirty strides make that little.
    n_blocks = (
        min(N_BLOCKS_FOR_ERRORS, problem.data.n_increments // (30 * rule.windows.stride))
        if rule.overlapping
        else N_BLOCKS
    )
    all_windows = np.isinf(problem.longest_step) and not problem.walls
    if isinstance(wanted, Trapezoid) and is_polynomial(problem.library) and all_windows:
        edges = block_edges(problem.data, n_blocks) if problem.edges is None else problem.edges
        hop = wanted.stride if problem.data.n_increments > LONG_RECORD else 1
        fast = gather_by_powers(
            problem.data,
            problem.scales,
            edges,
            problem.library,
            kernels,
            problem.cells,
            wanted.stride,
            hop,
            every,
            problem.summing,
        )
        if fast is not None:
            return fast
    found = problem.summing(
        WindowsPass(
            problem.data,
            blocks_between(edges_for(problem, wanted, n_blocks), every),
            problem.scales,
            windows_for(problem, wanted),
            problem.period,
            problem.library,
            problem.cells,
            wanted,
        )
    )
    assert found is not None, "windows fit any data"
    return statistics_of(found, problem.library, kernels, problem.cells)


def first_weights(statistics: KernelStatistics, kernels: Kernels) -> Weights:
    """From the raw second moment of the increments, before anything is known: ω = a, then 2a². Raises NoDataUnderKernels."""
    at_nodes = statistics.at_nodes(kernels)
    quadratic, time = statistics.sums[..., 1].sum(axis=0).clip(min=0), at_nodes @ statistics.time
    prior = 1e-6 * float(time.max())
    if not time.sum() > 0:
        raise no_data_under_kernels()
    mean = float(quadratic.sum() / time.sum())
    a = at_nodes.T @ (quadratic + prior * mean) / (at_nodes.T @ (time + prior))
    a = a.clip(min=1e-12 * mean)
    return Weights(a * statistics.time, 2 * a**2 * statistics.time_squared.sum(axis=0))


def weights_of(
    residuals: ResidualSums,
    first: Fit,
    statistics: KernelStatistics,
    library: Library,
    kernels: Kernels,
) -> Weights:
    """From a sample's residuals of a first fit: the fitted diffusion, times a local average of residual over expectation.

    Averaging the residuals themselves would pull their variance towards where most data are, and errors with it.
    """
    at_nodes = statistics.at_nodes(kernels)
    rough = smooth_ratio(at_nodes, residuals.drift_squared, residuals.time)
    a = np.maximum(
        library.internal(statistics.nodes) @ first.diffusion.estimate.internal, 0.2 * rough
    )
    of_drift = a * smooth_ratio(at_nodes, residuals.drift_squared, a * residuals.time)
    of_diffusion = a**2 * smooth_ratio(
        at_nodes, residuals.diffusion_squared, a**2 * residuals.time_squared
    )
    return Weights(of_drift * statistics.time, of_diffusion * statistics.time_squared.sum(axis=0))


def weights_through_noise(
    problem: Problem, statistics: KernelStatistics, fit: Fit, variance: float
) -> Weights:
    """As the fitted diffusion and a measurement noise of this variance make them, but for a factor; see `calibrated`."""
    a = problem.library.internal(statistics.nodes) @ fit.diffusion.estimate.internal
    mean = float(statistics.time @ a) / float(statistics.time.sum())
    # Where the fit is far below its average it is not to be trusted; nor is an average that is negative.
    a = np.maximum(a, 0.2 * mean) if mean > 0 else np.ones_like(a)
    motion = 2 * (a + variance / fit.rule.windows.stride)
    return Weights(a * statistics.time, motion**2 * statistics.time_squared.sum(axis=0))


def residuals_of(problem: Problem, fit: Fit, at_most: int) -> ResidualSums:
    """A pass over about so many windows of the data with the fit's model."""
    drift, diffusion = fit.drift.estimate.internal, fit.diffusion.estimate.internal
    windows = walk(problem, fit.rule, at_most=at_most)
    return measure_residuals(windows, fit.rule, problem.library, problem.cells, drift, diffusion)


def fit_with(
    problem: Problem,
    rule: SamplingRule,
    statistics: KernelStatistics,
    weights: Weights,
    *,
    briefly: bool = False,
) -> Fit:
    """Select and estimate the drift, then the diffusion with the drift's part removed.

    briefly   the model alone, for what needs no more: terms need not hold by the other sampling rule too
    """
    library, n_windows, criterion = problem.library, statistics.n_windows, problem.selection
    other = None if briefly else _other_rule(rule)
    of_drift = _drift_equations(problem, rule, statistics, weights)
    by_other = None if other is None else _drift_equations(problem, other, statistics, weights)
    drift = choose(of_drift, by_other, library, n_windows, criterion, briefly=briefly)
    b = drift.estimate.internal
    of_diffusion, noise = _diffusion_equations(problem, rule, statistics, weights, b)
    by_other = (
        None if other is None else _diffusion_equations(problem, other, statistics, weights, b)[0]
    )
    diffusion = choose_up_to(
        problem.diffusion_degree,
        of_diffusion,
        by_other,
        library,
        n_windows,
        criterion,
        briefly=briefly,
    )
    return Fit(
        rule,
        drift,
        diffusion,
        of_drift.condition,
        None if noise is None else noise.at(diffusion.estimate.internal),
    )


def re_estimated(
    problem: Problem, fit: Fit, statistics: KernelStatistics, weights: Weights
) -> tuple[Estimate | None, Estimate | None]:
    """Drift and diffusion on the fit's supports, from other statistics by the fit's rule; None where these do not tell them."""
    if not statistics.n_windows:
        return None, None
    drift = estimate_on(
        _drift_equations(problem, fit.rule, statistics, weights),
        problem.library,
        fit.drift.estimate.support,
    )
    if drift is None:
        return None, None
    equations, _ = _diffusion_equations(problem, fit.rule, statistics, weights, drift.internal)
    return drift, estimate_on(equations, problem.library, fit.diffusion.estimate.support)


def refit(
    problem: Problem, fit: Fit, statistics: KernelStatistics, weights: Weights
) -> tuple[Floats | None, Floats | None]:
    """Raw coefficients of drift and diffusion on the fit's supports, from other statistics by the fit's rule."""
    drift, diffusion = re_estimated(problem, fit, statistics, weights)
    return None if drift is None else drift.raw, None if diffusion is None else diffusion.raw


def _drift_equations(
    problem: Problem, rule: SamplingRule, statistics: KernelStatistics, weights: Weights
) -> NormalEquations:
    whitening = _whitening(problem.kernels, statistics.cells, weights, "drift")
    return _whitened(rule, rule.drift_system(statistics, problem.library), whitening)


def _diffusion_equations(
    problem: Problem,
    rule: SamplingRule,
    statistics: KernelStatistics,
    weights: Weights,
    drift: Floats,
) -> tuple[NormalEquations, NoiseLine | None]:
    systems = rule.diffusion_systems(statistics, problem.library, problem.kernels, drift)
    if systems[0].noise is not None:
        return joint_equations(
            systems, noise_covariance(statistics.at_nodes(problem.kernels), weights.diffusion)
        )
    return _whitened(
        rule, systems[0], _whitening(problem.kernels, statistics.cells, weights, "diffusion")
    ), None


@lru_cache(maxsize=8)
def _whitening(
    kernels: Kernels, cells: Cells, weights: Weights, of: Literal["drift", "diffusion"]
) -> Floats:
    """V^(−1/2), not to be written to. The equations of the other sampling rule, and those at twice the step, have the same."""
    variance = weights.drift if of == "drift" else weights.diffusion
    found = whitening_of(noise_covariance(kernels_at_nodes(kernels, cells), variance))
    found.setflags(write=False)
    return found


def _whitened(rule: SamplingRule, system: WeakSystem, whitening: Floats) -> NormalEquations:
    equations = whitened_by(system, whitening)
    return calibrated(equations) if rule.overlapping else equations


def at_double_step(
    problem: Problem, fit: Fit, statistics: KernelStatistics, weights: Weights
) -> tuple[Floats | None, Floats | None]:
    """Raw coefficients of drift and diffusion on the fit's supports at twice the step.

    Of a long record they are the fit's, moved as far as doubling the step moves those of every fourth block.
    """
    double = replace(fit, rule=fit.rule.with_stride(2 * fit.rule.windows.stride))
    if problem.data.n_increments <= LONG_RECORD or len(statistics.sums) < 8:
        return refit(problem, double, gather_for(problem, double.rule), weights)
    coarse = refit(problem, double, gather_for(problem, double.rule, every=4), weights)
    fine = refit(problem, fit, statistics.of_blocks(4), weights)
    here = fit.drift.estimate.raw, fit.diffusion.estimate.raw
    drift, diffusion = (
        None if c is None or f is None else value + c - f
        for value, c, f in zip(here, coarse, fine, strict=True)
    )
    return drift, diffusion


def _other_rule(rule: SamplingRule) -> SamplingRule | None:
    """The other rule that the same sums serve."""
    match rule:
        case Euler():
            return Trapezoid(rule.stride)
        case Trapezoid():
            return Euler(rule.stride)
    return None
