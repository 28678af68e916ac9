"""The default estimator: pooled sums, generalised least squares, every support judged (docs/method.md §§2–5).

Read `identify` first.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.cells import Cells, make_cells
from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.regression import NormalEquations, noise_covariance, smooth_ratio, whitened
from worker.identification.residuals import ResidualSums, measure_residuals
from worker.identification.sampling import Rule, diffusion_system, drift_system
from worker.identification.selection import Candidate, Estimate, Support, best_of, estimate_on, selection_path
from worker.identification.statistics import KernelStatistics, gather
from worker.identification.trajectories import Scales, Trajectories, block_edges, chunks

Floats = NDArray[np.float64]
Method = Literal["bic", "none"]

N_BLOCKS = 48

FINE_SAMPLING = 0.03
"""Relative disagreement of two sampling rules up to which both describe the data."""


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """What the estimator needs to know besides the data."""

    library: Library
    kernels: Kernels
    rule: Rule = "trapezoid"
    selection: Method = "bic"
    period: float | None = None
    longest_step: float = np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Drift or diffusion as identified.

    estimate      on the chosen support
    path          best support of every size
    doubted       terms the criterion wants under this sampling rule only; they are left out
    at_double_step   raw coefficients on the same support from every second sample, (k,), or None where these do not suffice
    """

    estimate: Estimate
    path: tuple[Candidate, ...]
    doubted: Support
    at_double_step: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class Identified:
    """The model of one coordinate, in internal units, with what is needed to judge it.

    condition        of the column-normalised whitened drift design
    kernel_weights   (n_kernels,) Σ K_j(y_n), in increments
    longest_step     increments over longer steps were left out [time]
    """

    drift: Component
    diffusion: Component
    residuals: ResidualSums
    statistics: KernelStatistics
    condition: float
    kernel_weights: Floats
    longest_step: float = np.inf


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
    limit = _longest_useful_step(first, statistics, settings, scales)
    if limit < settings.longest_step:
        return replace(identify(data, scales, replace(settings, longest_step=limit)), longest_step=limit)
    residuals = _residuals(data, scales, settings, cells, first)
    weights = _weights_of(residuals, statistics, settings)
    drift, diffusion, equations = _fit(statistics, settings, weights)
    residuals = _residuals(data, scales, settings, cells, (drift, diffusion, equations))
    double = _on_double_step(data, scales, settings, cells, weights, drift, diffusion)
    return Identified(
        drift=Component(drift.estimate, drift.path, drift.doubted, double[0]),
        diffusion=Component(diffusion.estimate, diffusion.path, diffusion.doubted, double[1]),
        residuals=residuals,
        statistics=statistics,
        condition=equations.condition,
        kernel_weights=settings.kernels.at(statistics.nodes) @ residuals.count_at_nodes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Selected:
    estimate: Estimate
    path: tuple[Candidate, ...]
    doubted: Support


_Fit = tuple[_Selected, _Selected, NormalEquations]


def _statistics(data: Trajectories, scales: Scales, settings: Settings, cells: Cells, lag: int) -> KernelStatistics:
    edges = block_edges(data, N_BLOCKS)
    walk = chunks(data, scales, edges, lag=lag, period=settings.period, longest_step=lag * settings.longest_step)
    return gather(walk, settings.library, settings.kernels, cells)


def _residuals(data: Trajectories, scales: Scales, settings: Settings, cells: Cells, fit: _Fit) -> ResidualSums:
    edges = block_edges(data, N_BLOCKS)
    walk = chunks(data, scales, edges, period=settings.period, longest_step=settings.longest_step)
    drift, diffusion = fit[0].estimate.internal, fit[1].estimate.internal
    return measure_residuals(walk, settings.rule, settings.library, cells, drift, diffusion)


def _longest_useful_step(fit: _Fit, statistics: KernelStatistics, settings: Settings, scales: Scales) -> float:
    """Half a relaxation time, where sampling is uneven and enough steps are shorter; else no limit [time].

    Over a longer step the quadrature rule errs by more than two percent. The choice of steps does not depend on the noise, so
    leaving the long ones out biases nothing. 2 Σ b² Δt / Σ a Δt = −⟨b′⟩ is the relaxation rate by integration by parts.
    """
    at_nodes = settings.library.internal(statistics.nodes)
    b, a = at_nodes @ fit[0].estimate.internal, at_nodes @ fit[1].estimate.internal
    variance = float(statistics.time @ a)
    rate = 2 * float(statistics.time @ b**2) / variance if variance > 0 else 0.0
    if not rate > 0:
        return np.inf
    limit = scales.time / (2 * rate)
    share = float(np.searchsorted(scales.steps, limit)) / len(scales.steps)
    return limit if 0.2 < share < 1 and scales.steps[-1] > 1.5 * scales.steps[0] else np.inf


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
    rules: tuple[Rule, Rule] = (settings.rule, "euler" if settings.rule == "trapezoid" else "trapezoid")

    covariance = noise_covariance(at_nodes, weights.drift)
    equations, other = (whitened(drift_system(statistics, rule), covariance) for rule in rules)
    drift = _selected(equations, other, statistics, settings)

    covariance = noise_covariance(at_nodes, weights.diffusion)
    b = drift.estimate.internal
    of_diffusion, other = (
        whitened(diffusion_system(statistics, rule, b, settings.library, settings.kernels), covariance) for rule in rules
    )
    return drift, _selected(of_diffusion, other, statistics, settings), equations


def _selected(
    equations: NormalEquations, of_other_rule: NormalEquations, statistics: KernelStatistics, settings: Settings
) -> _Selected:
    """The support that the criterion prefers, less the terms that hang on the sampling rule."""
    library = settings.library
    path = selection_path(equations, library, statistics.n_increments)
    if settings.selection == "none":
        return _Selected(_first_estimate(equations, library, [c.support for c in reversed(path)]), path, ())
    best = best_of(path).support
    wanted_by_other = best_of(selection_path(of_other_rule, library, statistics.n_increments)).support
    doubted = _hanging_on_the_rule(equations, of_other_rule, library, best, wanted_by_other)
    kept = tuple(k for k in best if k not in doubted)
    ranked = [kept, *(c.support for c in sorted(path, key=lambda c: -c.score))]
    return _Selected(_first_estimate(equations, library, ranked), path, doubted)


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
