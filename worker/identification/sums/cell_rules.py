"""Weak equations of one variable by a sampling rule, from sums over cells (docs/method.md §3).

E[X(t+Δ) − X(t) | X(t)] = ∫ E[b(X_s) | X(t)] ds, with the integral taken by a rule whose later
points are data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import (
    Chunk,
    Integers,
    Scales,
    Trajectories,
    Windows,
    chunks,
)
from worker.identification.sums import measurement_noise
from worker.identification.sums.block_sums import BlockSums
from worker.identification.sums.kernel_statistics import (
    KernelStatistics,
    WeakSystem,
    sums_of_chunks,
)
from worker.identification.sums.kernels import Cells, Kernels
from worker.identification.sums.rules import SamplingRule

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class WindowsPass:
    """Pass for nodal sums of Δt, Δt², a rule's weights and rough terms; (n, n_columns, n_nodes).

    blocks    (n_blocks, 2) first sample of each and one past its last
    windows   windows to walk
    period    period of the state, or None [state]
    """

    data: Trajectories
    blocks: Integers
    scales: Scales
    windows: Windows
    period: float | None
    library: Library
    cells: Cells
    rule: SamplingRule

    def sums(self) -> BlockSums:
        """Take the sums of the blocks."""
        walk = chunks(self.data, self.scales, self.blocks, self.windows, period=self.period)
        return sums_of_chunks(
            walk,
            self.library,
            self.cells,
            lambda chunk: window_weights(self.rule, chunk, self.library),
        )


def window_weights(rule: SamplingRule, chunk: Chunk, library: Library) -> Floats:
    """Compute the per-window weights whose kernel sums the systems need; (n, n_weights).

    They are D_l, D_l², then h Σ_j w_j g(y_j) and 2h Σ_j w_j D_j g(y_j) over the later points. The
    first two are those of Euler's rule.

    Parameters
    ----------
    rule, chunk, library : sampling rule, windows, library of the internal functions g
    """
    if rule.lead:
        return measurement_noise.window_weights(chunk, library)
    y, target = chunk.states, chunk.states[rule.last] - chunk.states[0]
    first = np.stack([target, target**2], axis=1)
    if rule.is_explicit:
        return first
    each = [
        library.internal(y[j]) * (w * chunk.step[:, None]) for j, w in enumerate(rule.drift) if j
    ]
    later = reduce(np.add, each)
    cross = reduce(np.add, (g * (2 * (y[j] - y[0]))[:, None] for j, g in enumerate(each, start=1)))
    return np.concatenate([first, later, cross], axis=1)


def drift_system(rule: SamplingRule, statistics: KernelStatistics, library: Library) -> WeakSystem:
    """Set up (M30): X_{n+l} − X_n = D_l ≈ h Σ_j w_j b_{n+j}; (M4) by Euler, (M5) by trapezoid.

    Parameters
    ----------
    rule, library : sampling rule, library of the internal functions
    statistics : sums of `window_weights`
    """
    if rule.lead:
        return measurement_noise.drift_system(rule, statistics, library)
    return WeakSystem(_pooled_design(rule, statistics, library), statistics.sums[..., 0])


def diffusion_systems(
    rule: SamplingRule,
    statistics: KernelStatistics,
    library: Library,
    kernels: Kernels,
    drift: Floats,
) -> tuple[WeakSystem, ...]:
    """Set up D_l² − 2h Σ_j w_j D_j b̂_{n+j} ≈ h Σ_j w_j a_{n+j}; (M6) by Euler's rule.

    There are several systems where the measurement noise is an unknown.

    Parameters
    ----------
    rule, library : sampling rule, library of the internal functions
    statistics : sums of `window_weights`
    kernels : test functions of the statistics
    drift : (n_functions,) internal coefficients of the drift
    """
    if rule.lead:
        return measurement_noise.diffusion_systems(rule, statistics, library, drift)
    if rule.is_explicit:
        squared = (library.internal(statistics.nodes) @ drift) ** 2
        known = (statistics.time_squared * squared) @ statistics.at_nodes(kernels).T
    else:
        known = statistics.sums[..., 2 + library.internal_size :] @ drift
    return (WeakSystem(_pooled_design(rule, statistics, library), statistics.sums[..., 1] - known),)


def _pooled_design(rule: SamplingRule, statistics: KernelStatistics, library: Library) -> Floats:
    if rule.is_explicit:
        return statistics.at_instrument
    return (
        rule.drift[0] * statistics.at_instrument
        + statistics.sums[..., 2 : 2 + library.internal_size]
    )


def functions_at_points(rule: SamplingRule, chunk: Chunk, library: Library) -> Sequence[Floats]:
    """Evaluate the internal functions at the points of each window; each (n, n_functions)."""
    return [library.internal(y) for y in chunk.states[: 1 if rule.is_explicit else None]]


def window_residuals(
    rule: SamplingRule,
    chunk: Chunk,
    library: Library,
    functions: Sequence[Floats],
    drift: Floats,
    diffusion: Floats,
) -> tuple[Floats, Floats]:
    """Compute the residuals of the drift's and the diffusion's equation for each window; each (n,).

    Parameters
    ----------
    rule, chunk, library : sampling rule, windows, library of the internal functions
    functions : these functions at the windows' points
    drift, diffusion : (n_functions,) internal coefficients
    """
    if rule.lead:
        return measurement_noise.window_residuals(rule, chunk, library, functions, drift, diffusion)
    y, target = chunk.states, chunk.states[rule.last] - chunk.states[0]
    if rule.is_explicit:
        expected = functions[0] @ drift * chunk.step
        return target - expected, target**2 - expected**2 - functions[0] @ diffusion * chunk.step
    both, r, s = np.stack([drift, diffusion], axis=1), target, target**2
    for j, w in enumerate(rule.drift):
        b, a = (functions[j] @ both).T * (w * chunk.step)
        r, s = r - b, s - a - 2 * (y[j] - y[0]) * b
    return r, s


def window_design(
    rule: SamplingRule, chunk: Chunk, library: Library, functions: Sequence[Floats]
) -> Floats:
    """Compute what multiplies the drift's coefficients in each window; (n, n_functions).

    Parameters
    ----------
    rule, chunk, library : sampling rule, windows, library of the internal functions
    functions : these functions at the windows' points
    """
    if rule.lead:
        return measurement_noise.window_design(rule, chunk, library, functions)
    step = chunk.step[:, None]
    # The weights of an explicit rule are 1 and 0.
    return reduce(np.add, (g * (w * step) for g, w in zip(functions, rule.drift, strict=False)))


def residual_variance(rule: SamplingRule, chunk: Chunk, diffusion: Floats) -> Floats:
    """Compute the variance of the drift's residual in each window; (n,).

    Parameters
    ----------
    rule, chunk : sampling rule, windows
    diffusion : (n,) diffusion in each window
    """
    of_motion = np.asarray(diffusion * chunk.steps[rule.lead : rule.lead + rule.last].sum(axis=0))
    if rule.noise is None:
        return of_motion
    # Motion blur takes away at most a sixth, on average.
    return np.asarray(np.maximum(of_motion + 2 * rule.noise.variance, of_motion / 2))
