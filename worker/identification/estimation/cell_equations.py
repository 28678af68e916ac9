"""The equations of one variable by one sampling rule: sums in cells, and their weights (docs/method.md §§3–5)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.scalar_residuals import Residuals, ResidualSums, measure_residuals
from worker.identification.data.trajectories import (
    Chunk,
    Integers,
    Windows,
    block_edges,
    chunks,
)
from worker.identification.estimation.fit import Solution
from worker.identification.estimation.problem import Problem, Shares
from worker.identification.regression import (
    NoiseLine,
    NormalEquations,
    calibrated,
    joint_equations,
    no_data_under_kernels,
    noise_covariance,
    smooth_ratio,
    whitened_by,
    whitening_of,
)
from worker.identification.sums.block_sums import blocks_between
from worker.identification.sums.cell_rules import WindowsPass, diffusion_systems, drift_system
from worker.identification.sums.kernel_statistics import KernelStatistics, WeakSystem, statistics_of
from worker.identification.sums.kernels import Cells, Kernels, kernels_at_nodes
from worker.identification.sums.polynomial_moments import gather_by_powers, is_polynomial
from worker.identification.sums.rules import TRAPEZOID, SamplingRule
from worker.identification.sums.window_products import Pair

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
class Weights:
    """Quadrature weights of the residuals' variance: Σ ω Δt of the drift's, Σ ω Δt² of the diffusion's; each (n_nodes,)."""

    drift: Floats
    diffusion: Floats


def walk(
    problem: Problem, rule: SamplingRule, n_blocks: int = N_BLOCKS, at_most: int | None = None
) -> Iterator[Chunk]:
    """Walk the rule's windows: all, or about `at_most` in chunks spread over the record.

    Small blocks are joined."""
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
    """Give the rule's windows of these data."""
    between = (problem.walls.inner_low, problem.walls.inner_high)
    return replace(
        rule.windows, longest_step=problem.longest_step * rule.windows.stride, between=between
    )


def gather_for(
    problem: Problem, rule: SamplingRule, every: int = 1, *, at_nodes: bool = False
) -> KernelStatistics:
    """Take the sums that a rule needs; Euler's are the first of the trapezoid's.

    every      only each k-th block
    at_nodes   sums without kernels, of which `KernelStatistics.under` makes any kernels'

    Of a long record increments over several steps are taken one after the other, not from every sample: they hold the same drift.
    """
    kernels = None if at_nodes else problem.kernels
    wanted = TRAPEZOID.at_stride(rule.stride) if rule.is_explicit else rule
    # Neighbouring blocks share a window's length of samples; thirty strides make that little.
    n_blocks = (
        min(N_BLOCKS_FOR_ERRORS, problem.data.n_increments // (30 * rule.windows.stride))
        if rule.overlapping
        else N_BLOCKS
    )
    all_windows = np.isinf(problem.longest_step) and not problem.walls
    if wanted.name == TRAPEZOID.name and is_polynomial(problem.library) and all_windows:
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
    residuals: ResidualSums, first: Solution, statistics: KernelStatistics, problem: Problem
) -> Weights:
    """From a sample's residuals of a first fit: the fitted diffusion, times a local average of residual over expectation.

    Averaging the residuals themselves would pull their variance towards where most data are, and errors with it.
    """
    at_nodes = statistics.at_nodes(problem.kernels)
    rough = smooth_ratio(at_nodes, residuals.drift_squared, residuals.time)
    a = np.maximum(problem.library.internal(statistics.nodes) @ first.tensor[0, 0], 0.2 * rough)
    of_drift = a * smooth_ratio(at_nodes, residuals.drift_squared, a * residuals.time)
    of_diffusion = a**2 * smooth_ratio(
        at_nodes, residuals.diffusion_squared, a**2 * residuals.time_squared
    )
    return Weights(of_drift * statistics.time, of_diffusion * statistics.time_squared.sum(axis=0))


def weights_through_noise(
    problem: Problem, statistics: KernelStatistics, fit: Solution, variance: float
) -> Weights:
    """As the fitted diffusion and a measurement noise of this variance make them, but for a factor; see `calibrated`."""
    a = problem.library.internal(statistics.nodes) @ fit.tensor[0, 0]
    mean = float(statistics.time @ a) / float(statistics.time.sum())
    # Where the fit is far below its average it is not to be trusted; nor is an average that is negative.
    a = np.maximum(a, 0.2 * mean) if mean > 0 else np.ones_like(a)
    motion = 2 * (a + variance / fit.rule.windows.stride)
    return Weights(a * statistics.time, motion**2 * statistics.time_squared.sum(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class CellEquations:
    """The equations of one variable by one rule, from sums in cells; see `estimation.Equations`.

    at_nodes   the statistics without kernels, where there are several to choose from
    """

    problem: Problem
    rule: SamplingRule
    statistics: KernelStatistics
    at_nodes: KernelStatistics | None = None

    @property
    def n_windows(self) -> int:
        return self.statistics.n_windows

    def first_covariances(self) -> Weights:
        return first_weights(self.statistics, self.problem.kernels)

    def covariances(self, model: Solution) -> Weights:
        return weights_of(
            self._residuals(model, WINDOWS_FOR_WEIGHTS), model, self.statistics, self.problem
        )

    def of_drift(self, p: int, v: Weights, rule: SamplingRule | None = None) -> NormalEquations:
        rule = rule or self.rule
        whitening = _whitening(self.problem.kernels, self.statistics.cells, v, "drift")
        return _whitened(rule, drift_system(rule, self.statistics, self.problem.library), whitening)

    def of_diffusion(
        self,
        pair: Pair,
        shares: Shares,
        drift: Floats,
        v: Weights,
        rule: SamplingRule | None = None,
    ) -> tuple[NormalEquations, NoiseLine | None]:
        rule, statistics, kernels = rule or self.rule, self.statistics, self.problem.kernels
        systems = diffusion_systems(rule, statistics, self.problem.library, kernels, drift[0])
        if systems[0].noise is not None:
            return joint_equations(
                systems, noise_covariance(statistics.at_nodes(kernels), v.diffusion)
            )
        return _whitened(
            rule, systems[0], _whitening(kernels, statistics.cells, v, "diffusion")
        ), None

    def residuals(self, model: Solution) -> Residuals:
        return Residuals((self._residuals(model, WINDOWS_FOR_DIAGNOSTICS),))

    def kernel_weights(self, residuals: Residuals) -> Floats:
        (seen,) = residuals.moments
        assert isinstance(seen, ResidualSums), "they are of one variable"
        share = self.n_windows / seen.n_windows
        return np.asarray(self.statistics.at_nodes(self.problem.kernels) @ seen.count * share)

    def blocks_at_double_step(self) -> int:
        return (
            4
            if self.problem.data.n_increments > LONG_RECORD and len(self.statistics.sums) >= 8
            else 1
        )

    def at_double_step(self, every: int) -> "CellEquations":
        rule = self.rule.at_stride(2 * self.rule.stride)
        return CellEquations(self.problem, rule, gather_for(self.problem, rule, every))

    def of_blocks(self, every: int) -> "CellEquations":
        return replace(self, statistics=self.statistics.of_blocks(every))

    def _residuals(self, model: Solution, at_most: int) -> ResidualSums:
        """Measure a model's residuals in about so many windows."""
        problem, windows = self.problem, walk(self.problem, self.rule, at_most=at_most)
        return measure_residuals(
            windows,
            self.rule,
            problem.library,
            problem.cells,
            model.coefficients[0],
            model.tensor[0, 0],
        )


def cell_equations(problem: Problem, rule: SamplingRule) -> CellEquations:
    """Equations of a problem of one variable, from one pass over the data."""
    if problem.grid is None:
        return CellEquations(problem, rule, gather_for(problem, rule))
    at_nodes = gather_for(problem, rule, at_nodes=True)
    return CellEquations(problem, rule, at_nodes.under(problem.kernels), at_nodes)


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
