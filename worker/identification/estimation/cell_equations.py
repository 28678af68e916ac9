"""Equations of one variable by one sampling rule, from sums in cells (docs/method.md §§3–5)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residual_sums import ResidualSums, measure_residuals
from worker.identification.checks.residuals import Residuals
from worker.identification.data.trajectories import Chunk, Integers, Windows, block_edges, chunks
from worker.identification.estimation.fit import Solution
from worker.identification.estimation.joint.regression import NoiseLine, joint_equations
from worker.identification.estimation.least_errors import LeastErrors
from worker.identification.estimation.problem import Problem, Shares
from worker.identification.estimation.rule_errors import Expectations, expectations
from worker.identification.regression import (
    NormalEquations,
    calibrated,
    no_data_under_kernels,
    noise_covariance,
    smooth_ratio,
    whitened_by,
    whitening_of,
    with_covariance_of_scores,
    with_scores,
)
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.supports import support_basis
from worker.identification.sums import measurement_noise
from worker.identification.sums.block_sums import blocks_between
from worker.identification.sums.cell_rules import WindowsPass, diffusion_systems, drift_system
from worker.identification.sums.kernel_statistics import KernelStatistics, WeakSystem, statistics_of
from worker.identification.sums.kernels import Cells, Kernels, kernels_at_nodes
from worker.identification.sums.overlapping_windows import Overlaps, Runs, runs_of
from worker.identification.sums.polynomial_moments import gather_by_powers, is_polynomial
from worker.identification.sums.rules import TRAPEZOID, SamplingRule, ScalarNoise
from worker.identification.sums.window_products import Pair

Floats = NDArray[np.float64]

N_BLOCKS = 48
N_BLOCKS_FOR_ERRORS = 200
"""Number of blocks where errors come from the blocks alone."""

WINDOWS_FOR_WEIGHTS = 100_000
"""Residuals that give the local variance to three percent in each of fifty kernels."""

WINDOWS_PER_KERNEL = 100
"""Windows per kernel below which a local variance follows the chance of its own residuals.

Weights then prefer small squares: from 300 increments under fifty kernels a was 7 % low."""

LONG_RECORD = 1_000_000
"""Number of increments beyond which a part is enough.

Half of them, or all of every fourth block, show the effect of the step's length to a percent."""

WINDOWS_THAT_OVERLAP = 20_000
"""Windows that give the covariance of overlapping ones to a percent."""

RATE_OF_WINDOW = 0.5
"""Largest relaxation rate, per step of a window, of which noise in b̃ is counted."""

WINDOWS_FOR_DIAGNOSTICS = 500_000
"""Residuals that show what is material: a correlation of 0.005 is 3.5 of its standard errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Quadrature weights of the variance of the residuals.

    drift       (n_nodes,) Σ ω Δt of the drift's residuals
    diffusion   (n_nodes,) Σ ω Δt² of the diffusion's residuals
    overlaps    residuals of the drift in windows that share increments and noise, where these are
                known; the drift's weights are then those of independent windows
    """

    drift: Floats
    diffusion: Floats
    overlaps: Overlaps | None = None


def walk(
    problem: Problem, rule: SamplingRule, n_blocks: int = N_BLOCKS, at_most: int | None = None
) -> Iterator[Chunk]:
    """Walk the rule's windows; small blocks are joined.

    Parameters
    ----------
    problem : data and scales
    rule : sampling rule
    n_blocks : number of blocks
    at_most : number of windows, in chunks spread over the record; None: all
    """
    every = 1 if at_most is None else max(1, problem.data.n_increments // at_most)
    edges, windows = _edges(problem, rule, n_blocks), _windows(problem, rule)
    return chunks(
        problem.data,
        problem.scales,
        edges,
        windows,
        period=problem.period,
        every=every,
        joined=True,
    )


def _edges(problem: Problem, rule: SamplingRule, n_blocks: int) -> Integers:
    """Return the sample numbers at which blocks begin, and the end; (n_blocks + 1,)."""
    if problem.edges is not None:
        return problem.edges
    # Errors from the blocks alone need an inverse covariance of many blocks: more than, say, ten
    # trajectories.
    return block_edges(problem.data, n_blocks, whole=not rule.overlapping)


def _windows(problem: Problem, rule: SamplingRule) -> Windows:
    """Return the rule's windows of these data."""
    between = (problem.walls.inner_low, problem.walls.inner_high)
    return replace(
        rule.windows, longest_step=problem.longest_step * rule.windows.stride, between=between
    )


def gather_for(
    problem: Problem, rule: SamplingRule, every: int = 1, *, at_nodes: bool = False
) -> KernelStatistics:
    """Take the sums that a rule needs; Euler's are the first of the trapezoid's.

    In a long record increments over several steps do not overlap: they hold the same drift.

    Parameters
    ----------
    problem : data, library and kernels
    rule : sampling rule
    every : take each k-th block only
    at_nodes : sums without kernels, from which `KernelStatistics.under` makes those of any kernels
    """
    kernels = None if at_nodes else problem.kernels
    wanted = TRAPEZOID.at_stride(rule.stride) if rule.is_explicit else rule
    # Neighbouring blocks share one window; in blocks of thirty strides that is little.
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
            blocks_between(_edges(problem, wanted, n_blocks), every),
            problem.scales,
            _windows(problem, wanted),
            problem.period,
            problem.library,
            problem.cells,
            wanted,
        )
    )
    assert found is not None, "windows fit any data"
    derived = measurement_noise.derived_columns(problem.library) if wanted.lead else ()
    return statistics_of(found, problem.library, kernels, problem.cells, derived)


def first_weights(statistics: KernelStatistics, kernels: Kernels) -> Weights:
    """Return weights before anything is known, from the raw second moment of the increments.

    ω = a for the drift, 2a² for the diffusion. Raises NoDataUnderKernels.
    """
    at_nodes = statistics.at_nodes(kernels)
    quadratic, time = statistics.sums[..., 1].sum(axis=0).clip(min=0), at_nodes @ statistics.time
    prior = 1e-6 * float(time.max())
    if not time.sum() > 0:
        raise no_data_under_kernels()
    mean = float(quadratic.sum() / time.sum())
    a = at_nodes.T @ (quadratic + prior * mean) / (at_nodes.T @ (time + prior))
    a = a.clip(min=1e-12 * mean)
    return Weights(a * statistics.time, 2 * a**2 * statistics.time_squared.sum(axis=0))


def _widened(kernels: Kernels, n_windows: int) -> Kernels:
    """Widen kernels over which fewer than `WINDOWS_PER_KERNEL` windows each would be averaged."""
    factor = len(kernels.centres) * WINDOWS_PER_KERNEL / n_windows
    return replace(kernels, bandwidth=kernels.bandwidth * factor) if factor > 1 else kernels


def weights_of(
    residuals: ResidualSums, first: Solution, statistics: KernelStatistics, problem: Problem
) -> Weights:
    """Return weights from the residuals of a first fit.

    ω is the fitted diffusion times a local average of residual over expectation. An average of the
    residuals alone would pull their variance, and with it the errors, towards where most data are.

    Parameters
    ----------
    residuals : sums over the residuals of the first fit
    first : first fit
    statistics : sums over all windows
    problem : library and kernels
    """
    at_nodes = statistics.at_nodes(_widened(problem.kernels, statistics.n_windows))
    rough = smooth_ratio(at_nodes, residuals.drift_squared, residuals.time)
    a = np.maximum(problem.library.internal(statistics.nodes) @ first.tensor[0, 0], 0.2 * rough)
    of_drift = a * smooth_ratio(at_nodes, residuals.drift_squared, a * residuals.time)
    of_diffusion = a**2 * smooth_ratio(
        at_nodes, residuals.diffusion_squared, a**2 * residuals.time_squared
    )
    return Weights(of_drift * statistics.time, of_diffusion * statistics.time_squared.sum(axis=0))


def weights_through_noise(
    problem: Problem,
    statistics: KernelStatistics,
    fit: Solution,
    noise: ScalarNoise,
    runs: Runs,
) -> Weights:
    """Return the weights of a fit with measurement noise; the diffusion's are up to a factor.

    Parameters
    ----------
    problem : library
    statistics : sums over all windows
    fit : drift and diffusion
    noise : measurement noise
    runs : some of the windows
    """
    functions, stride = problem.library.internal(statistics.nodes), fit.rule.windows.stride
    a, time = functions @ fit.tensor[0, 0], float(statistics.time.sum())
    mean = float(statistics.time @ a) / time

    def trusted(a: Floats) -> Floats:
        # A fit far below its average cannot be trusted, nor can a negative average.
        return np.maximum(a, 0.2 * mean) if mean > 0 else np.ones_like(a)

    motion = 2 * (trusted(a) + noise.variance / stride)
    overlaps = None
    if mean > 0:
        at = problem.library.internal(runs.instrument)
        b = functions @ fit.drift[0].estimate.internal
        rate = 2 * float(statistics.time @ b**2) / time / mean
        shape = np.ones(len(at)) if noise.shape is None else at @ noise.shape
        overlaps = Overlaps(
            runs,
            stride,
            trusted(at @ fit.tensor[0, 0]),
            noise.variance * shape,
            min(rate, RATE_OF_WINDOW / float(runs.step.mean())),
        )
    return Weights(
        trusted(a) * statistics.time, motion**2 * statistics.time_squared.sum(axis=0), overlaps
    )


@dataclass(frozen=True, eq=False)
class CellEquations:
    """Equations of one variable by one rule, from sums in cells; see `components.Equations`.

    at_nodes   statistics without kernels, where there are several to choose from
    least      errors that coefficients have at least, where trajectories differ
    expected   model whose mean residuals by the rule are taken from the equations (M47), or None
    doubled    statistics at twice the step, once they are summed
    """

    problem: Problem
    rule: SamplingRule
    statistics: KernelStatistics
    at_nodes: KernelStatistics | None = None
    least: LeastErrors | None = None
    expected: Solution | None = None
    doubled: KernelStatistics | None = None

    @property
    def n_windows(self) -> int:
        """Number of windows."""
        return self.statistics.n_windows

    def first_covariances(self) -> Weights:
        """Return weights from the raw second moment of the increments."""
        return first_weights(self.statistics, self.problem.kernels)

    def covariances(self, model: Solution) -> Weights:
        """Return weights from the residuals of a model."""
        return weights_of(
            self._residuals(model, WINDOWS_FOR_WEIGHTS), model, self.statistics, self.problem
        )

    def of_drift(self, p: int, v: Weights, rule: SamplingRule | None = None) -> NormalEquations:
        """Return the equations of the drift."""
        rule = rule or self.rule
        whitening = _whitening(self.problem.kernels, self.statistics.cells, v, "drift")
        system = drift_system(rule, self.statistics, self.problem.library)
        if v.overlaps is not None and v.overlaps.stride == rule.stride:
            found = self._with_overlaps(rule, system, whitening, v.overlaps)
        elif self.expected is None or rule.is_explicit:
            found = _whitened(rule, system, whitening)
        else:
            found = _whitened(rule, self._less(system, self.expectations.drift), whitening)
            slope = self._scores(found, whitening) @ self.expectations.drift_slope
            found = with_scores(found, slope, found.information)
        return found if self.least is None else self.least.of_drift(p, found)

    def _with_overlaps(
        self, rule: SamplingRule, system: WeakSystem, whitening: Floats, overlaps: Overlaps
    ) -> NormalEquations:
        """Weight the drift's equations with the increments and the noise that windows share.

        The error of the noise's variance is one that all of them share, too.
        """
        found = whitened_by(system, whitening)
        instruments = found.design.T @ whitening
        values = (instruments @ overlaps.runs.kernels).T
        error = rule.noise.error if rule.noise is not None else 0.0
        slope = measurement_noise.drift_slope(rule, self.statistics)
        return with_covariance_of_scores(
            found, overlaps.alone(values), overlaps.covariance(values), error * instruments @ slope
        )

    def of_diffusion(
        self,
        pair: Pair,
        shares: Shares,
        drift: Sequence[Estimate],
        v: Weights,
        rule: SamplingRule | None = None,
    ) -> tuple[NormalEquations, NoiseLine | None]:
        """Return the equations of the diffusion, and the line of an unknown measurement noise."""
        rule, statistics, kernels = rule or self.rule, self.statistics, self.problem.kernels
        b = drift[0]
        systems = diffusion_systems(rule, statistics, self.problem.library, kernels, b.internal)
        line: NoiseLine | None = None
        if rule.noise is not None:
            variance = noise_covariance(statistics.at_nodes(kernels), v.diffusion)
            found, line = joint_equations(systems, variance, b.internal_factor)
        else:
            (system,) = systems
            whitening = _whitening(kernels, statistics.cells, v, "diffusion")
            if self.expected is None or rule.is_explicit:
                found = _whitened(rule, system, whitening)
            else:
                found = _whitened(rule, self._less(system, self.expectations.diffusion), whitening)
                found = self._with_error_of(b, found, whitening, v)
        return found if self.least is None else self.least.of_diffusion(pair, found), line

    def _with_error_of(
        self, b: Estimate, found: NormalEquations, whitening: Floats, v: Weights
    ) -> NormalEquations:
        """Give the equations of the diffusion the errors of an expectation that holds b̂ (M48)."""
        known, problem = self.expectations, self.problem
        of_drift = _whitening(problem.kernels, self.statistics.cells, v, "drift")
        system = drift_system(self.rule, self.statistics, problem.library)
        drift = whitened_by(system, of_drift)
        here, there = self._scores(found, whitening), self._scores(drift, of_drift)
        rows = support_basis(problem.library, b.support).rows
        error = rows.T @ np.linalg.pinv(rows @ there @ known.drift_slope @ rows.T, 1e-12) @ rows
        carried = -here @ known.mixed_slope @ error
        both = known.correlation * np.sqrt(np.abs(v.drift * v.diffusion)) * np.sign(v.drift)
        product = (here * both) @ there.T @ carried.T
        noise = found.information + carried @ drift.information @ carried.T + product + product.T
        return with_scores(found, here @ known.diffusion_slope, noise)

    def _scores(self, equations: NormalEquations, whitening: Floats) -> Floats:
        """Return the factors of windows at the nodes in the scores; (n_functions, n_nodes)."""
        return np.asarray(
            equations.design.T @ whitening @ self.statistics.at_nodes(self.problem.kernels)
        )

    @cached_property
    def runs(self) -> Runs:
        """Some of the windows, one after another."""
        some = walk(self.problem, self.rule, at_most=WINDOWS_THAT_OVERLAP)
        return runs_of(some, self.problem.kernels)

    def residuals(self, model: Solution) -> Residuals:
        """Measure the residuals of a model."""
        return Residuals((self._residuals(model, WINDOWS_FOR_DIAGNOSTICS),))

    def kernel_weights(self, residuals: Residuals) -> Floats:
        """Return Σ K_j(z_n) over all windows; (n_kernels,)."""
        (seen,) = residuals.moments
        assert isinstance(seen, ResidualSums), "they are of one variable"
        share = self.n_windows / seen.n_windows
        return np.asarray(self.statistics.at_nodes(self.problem.kernels) @ seen.count * share)

    def blocks_at_double_step(self) -> int:
        """Return k where each k-th block shows the effect of doubling the step."""
        return (
            4
            if self.problem.data.n_increments > LONG_RECORD and len(self.statistics.sums) >= 8
            else 1
        )

    def at_double_step(self, every: int) -> "CellEquations":
        """Return the equations at twice the step from each k-th block."""
        rule = self.rule.at_stride(2 * self.rule.stride)
        found = self.doubled or gather_for(self.problem, rule, every)
        return CellEquations(self.problem, rule, found, least=self.least, expected=self.expected)

    def with_double_step(self) -> "CellEquations":
        """Return the equations with the sums at twice the step, which later fits need again."""
        if self.doubled is not None:
            return self
        return replace(self, doubled=self.at_double_step(self.blocks_at_double_step()).statistics)

    def of_blocks(self, every: int) -> "CellEquations":
        """Return the equations of each k-th block only."""
        return replace(self, statistics=self.statistics.of_blocks(every))

    @cached_property
    def expectations(self) -> Expectations:
        """What the expected model says of the windows."""
        problem, model, stride = self.problem, self.expected, self.rule.stride
        assert model is not None, "a model is expected"
        every = problem.scales.steps
        steps = every[every <= problem.longest_step] / problem.scales.time
        # Of independent steps, a sum has the mean and the variance so.
        steps = stride * steps.mean() + np.sqrt(stride) * (steps - steps.mean())
        return expectations(
            model.coefficients[0],
            model.tensor[0, 0],
            problem.library.internal,
            self.statistics,
            steps,
            circle=problem.period is not None,
        )

    def _less(self, system: WeakSystem, mean: Floats) -> WeakSystem:
        """Take mean residuals at the nodes (n_blocks, n_nodes) from a system."""
        at_nodes = self.statistics.at_nodes(self.problem.kernels)
        return replace(system, response=system.response - mean @ at_nodes.T)

    def _residuals(self, model: Solution, at_most: int) -> ResidualSums:
        """Measure a model's residuals in about `at_most` windows."""
        problem, rule = self.problem, self.rule.of_residuals
        return measure_residuals(
            walk(problem, rule, at_most=at_most),
            rule,
            problem.library,
            problem.cells,
            model.coefficients[0],
            model.tensor[0, 0],
        )


def cell_equations(problem: Problem, rule: SamplingRule) -> CellEquations:
    """Make the equations of a problem of one variable in one pass over the data."""
    if problem.grid is None:
        return CellEquations(problem, rule, gather_for(problem, rule))
    at_nodes = gather_for(problem, rule, at_nodes=True)
    return CellEquations(problem, rule, at_nodes.under(problem.kernels), at_nodes)


@lru_cache(maxsize=8)
def _whitening(
    kernels: Kernels, cells: Cells, weights: Weights, of: Literal["drift", "diffusion"]
) -> Floats:
    """Return V^(−1/2), read-only; the other rule and twice the step share it, so it is cached."""
    variance = weights.drift if of == "drift" else weights.diffusion
    found = whitening_of(noise_covariance(kernels_at_nodes(kernels, cells), variance))
    found.setflags(write=False)
    return found


def _whitened(rule: SamplingRule, system: WeakSystem, whitening: Floats) -> NormalEquations:
    equations = whitened_by(system, whitening)
    return calibrated(equations) if rule.overlapping else equations
