"""The default estimator: pooled sums, generalised least squares, every support judged (docs/method.md §§2–4).

Read `identify` first.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.cells import Cells, make_cells
from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.regression import NormalEquations, noise_covariance, smooth_ratio, whitened
from worker.identification.residuals import ResidualSums, measure_residuals
from worker.identification.sampling import Rule, WeakSystem, diffusion_system, drift_system
from worker.identification.selection import Candidate, Estimate, best_of, estimate_on, selection_path
from worker.identification.statistics import KernelStatistics, gather
from worker.identification.trajectories import Scales, Trajectories, block_edges, chunks

Floats = NDArray[np.float64]
Method = Literal["bic", "none"]

N_BLOCKS = 48


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """What the estimator needs to know besides the data."""

    library: Library
    kernels: Kernels
    rule: Rule = "trapezoid"
    selection: Method = "bic"
    period: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Drift or diffusion as identified.

    estimate      on the chosen support
    path          best support of every size
    at_double_step   raw coefficients on the same support from every second sample, (k,), or None where these do not suffice
    """

    estimate: Estimate
    path: tuple[Candidate, ...]
    at_double_step: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class Identified:
    """The model of one coordinate, in internal units, with what is needed to judge it."""

    drift: Component
    diffusion: Component
    residuals: ResidualSums
    statistics: KernelStatistics
    condition: float
    kernel_weights: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Weights:
    """Variance of the residuals at the nodes: quadrature weights Σ ω Δt of the drift's, Σ ω Δt² of the diffusion's."""

    drift: Floats
    diffusion: Floats


def identify(data: Trajectories, scales: Scales, settings: Settings) -> Identified:
    """Drift and diffusion of one-dimensional trajectories. Raises NoDataUnderKernels."""
    cells = make_cells(settings.kernels, scales)
    statistics = _statistics(data, scales, settings, cells, lag=1)
    first = _fit(statistics, settings, _first_weights(statistics, settings))
    residuals = _residuals(data, scales, settings, cells, first)
    weights = _weights_of(residuals, statistics, settings)
    drift, diffusion, equations = _fit(statistics, settings, weights)
    residuals = _residuals(data, scales, settings, cells, (drift, diffusion, equations))
    double = _on_double_step(data, scales, settings, cells, weights, drift, diffusion)
    return Identified(
        drift=Component(drift.estimate, drift.path, double[0]),
        diffusion=Component(diffusion.estimate, diffusion.path, double[1]),
        residuals=residuals,
        statistics=statistics,
        condition=equations.condition,
        kernel_weights=settings.kernels.at(statistics.nodes) @ residuals.count_at_nodes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Selected:
    estimate: Estimate
    path: tuple[Candidate, ...]


_Fit = tuple[_Selected, _Selected, NormalEquations]


def _statistics(data: Trajectories, scales: Scales, settings: Settings, cells: Cells, lag: int) -> KernelStatistics:
    walk = chunks(data, scales, block_edges(data, N_BLOCKS), lag=lag, period=settings.period)
    return gather(walk, settings.library, settings.kernels, cells)


def _residuals(data: Trajectories, scales: Scales, settings: Settings, cells: Cells, fit: _Fit) -> ResidualSums:
    walk = chunks(data, scales, block_edges(data, N_BLOCKS), period=settings.period)
    drift, diffusion = fit[0].estimate.internal, fit[1].estimate.internal
    return measure_residuals(walk, settings.rule, settings.library, cells, drift, diffusion)


def _first_weights(statistics: KernelStatistics, settings: Settings) -> _Weights:
    """From the raw second moment of the increments, before anything is known: ω = a, then 2a²."""
    at_nodes = settings.kernels.at(statistics.nodes)
    quadratic, time = statistics.quadratic_variation.sum(axis=0), at_nodes @ statistics.time
    prior = 1e-6 * float(time.max())
    mean = float(quadratic.sum() / time.sum())
    a = at_nodes.T @ (quadratic + prior * mean) / (at_nodes.T @ (time + prior))
    a = a.clip(min=1e-12 * mean)
    return _Weights(a * statistics.time, 2 * a**2 * statistics.time_squared.sum(axis=0))


def _weights_of(residuals: ResidualSums, statistics: KernelStatistics, settings: Settings) -> _Weights:
    """From the residuals of a first fit, smoothed over a kernel's width."""
    at_nodes = settings.kernels.at(statistics.nodes)
    squared = statistics.time_squared.sum(axis=0)
    return _Weights(
        smooth_ratio(at_nodes, residuals.drift_squared, statistics.time) * statistics.time,
        smooth_ratio(at_nodes, residuals.diffusion_squared, squared) * squared,
    )


def _fit(statistics: KernelStatistics, settings: Settings, weights: _Weights) -> _Fit:
    """Select and estimate the drift, then the diffusion with the drift's part removed."""
    at_nodes = settings.kernels.at(statistics.nodes)
    other: Rule = "euler" if settings.rule == "trapezoid" else "trapezoid"

    covariance = noise_covariance(at_nodes, weights.drift)
    system = drift_system(statistics, settings.rule)
    equations = whitened(system, covariance)
    preliminary = _selected(equations, equations, statistics, settings).estimate.internal
    doubt = _disagreement(system, drift_system(statistics, other), preliminary)
    drift = _selected(whitened(system, covariance + doubt), equations, statistics, settings)

    covariance = noise_covariance(at_nodes, weights.diffusion)
    b = drift.estimate.internal
    system = diffusion_system(statistics, settings.rule, b, settings.library, settings.kernels)
    of_other = diffusion_system(statistics, other, b, settings.library, settings.kernels)
    diffusion_equations = whitened(system, covariance)
    preliminary = _selected(diffusion_equations, diffusion_equations, statistics, settings).estimate.internal
    doubt = _disagreement(system, of_other, preliminary)
    diffusion = _selected(whitened(system, covariance + doubt), diffusion_equations, statistics, settings)
    return drift, diffusion, equations


def _disagreement(one: WeakSystem, other: WeakSystem, coefficients: Floats) -> Floats:
    """δδᵀ with δ the difference of two rules' residuals: what they disagree on is not evidence for a term.

    Simulated paths may be exact Euler steps and measured ones never are; with six million increments either rule, applied to the
    other's data, would find the difference significant and name it a term.
    """
    (design, response), (other_design, other_response) = one.pooled(), other.pooled()
    delta = (response - design @ coefficients) - (other_response - other_design @ coefficients)
    return np.outer(delta, delta)


def _selected(
    judging: NormalEquations, estimating: NormalEquations, statistics: KernelStatistics, settings: Settings
) -> _Selected:
    library = settings.library
    path = selection_path(judging, library, statistics.n_increments)
    chosen = path[-1] if settings.selection == "none" else best_of(path)
    ranked = [chosen, *sorted((c for c in path if c is not chosen), key=lambda c: -c.score)]
    estimates = (estimate_on(estimating, library, candidate.support) for candidate in ranked)
    return _Selected(next(e for e in estimates if e is not None), path)


def _on_double_step(
    data: Trajectories,
    scales: Scales,
    settings: Settings,
    cells: Cells,
    weights: _Weights,
    drift: _Selected,
    diffusion: _Selected,
) -> tuple[Floats | None, Floats | None]:
    """The same supports from increments over two samples: how much the answer depends on the sampling interval."""
    if (data.segments[:, 1] - data.segments[:, 0] > 2).sum() == 0:
        return None, None
    statistics = _statistics(data, scales, settings, cells, lag=2)
    at_nodes = settings.kernels.at(statistics.nodes)
    equations = whitened(drift_system(statistics, settings.rule), noise_covariance(at_nodes, weights.drift))
    coarse_drift = estimate_on(equations, settings.library, drift.estimate.support)
    if coarse_drift is None:
        return None, None
    system = diffusion_system(statistics, settings.rule, coarse_drift.internal, settings.library, settings.kernels)
    equations = whitened(system, noise_covariance(at_nodes, weights.diffusion))
    coarse_diffusion = estimate_on(equations, settings.library, diffusion.estimate.support)
    return coarse_drift.raw, None if coarse_diffusion is None else coarse_diffusion.raw
