"""Quadrature rules: what the increments of a sampled path say about drift and diffusion (docs/method.md §3).

E[X(t+Δ) − X(t) | X(t)] = ∫ E[b(X_s) | X(t)] ds, with the integral taken by a rule whose later point is data. The instrument K_j
stays at the left end, so the system is linear and its noise has mean zero.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.statistics import KernelStatistics

Floats = NDArray[np.float64]
Rule = Literal["euler", "trapezoid"]


@dataclass(frozen=True, slots=True, eq=False)
class WeakSystem:
    """The weak equations of one component, block by block: response ≈ design · coefficients.

    design     (n_blocks, n_kernels, n_functions)
    response   (n_blocks, n_kernels)
    """

    design: Floats
    response: Floats

    def pooled(self) -> tuple[Floats, Floats]:
        """Sums over blocks."""
        return self.design.sum(axis=0), self.response.sum(axis=0)


def drift_system(statistics: KernelStatistics, rule: Rule) -> WeakSystem:
    """B ≈ A c: equation (M4) for `euler`, (M5) for `trapezoid`."""
    if rule == "euler":
        return WeakSystem(statistics.left_design, statistics.drift_response)
    return WeakSystem((statistics.left_design + statistics.right_design) / 2, statistics.drift_response)


def diffusion_system(statistics: KernelStatistics, rule: Rule, drift: Floats, library: Library, kernels: Kernels) -> WeakSystem:
    """Q ≈ A d with the drift's part removed from Q.

    euler      Q_j − Σ K_j(y_n) b̂(y_n)² Δt²            equation (M6), the paper's (bias_corr)
    trapezoid  Q_j − Σ K_j(y_n) Δy_n b̂(y_{n+1}) Δt     equation (M7)

    drift   (n_functions,) internal coefficients
    """
    if rule == "euler":
        squared = (library.internal(statistics.nodes) @ drift) ** 2
        correction = (statistics.time_squared * squared) @ kernels.at(statistics.nodes).T
        return WeakSystem(statistics.left_design, statistics.quadratic_variation - correction)
    design = (statistics.left_design + statistics.right_design) / 2
    return WeakSystem(design, statistics.quadratic_variation - statistics.cross_design @ drift)


def increment_residuals(
    rule: Rule, left: Floats, right: Floats, step: Floats, library: Library, drift: Floats, diffusion: Floats
) -> tuple[Floats, Floats, Floats]:
    """Residuals of both equations for single increments, and â at the left end; each (n,)."""
    at_left, at_right = library.internal(left), library.internal(right)
    difference = right - left
    a_left = at_left @ diffusion
    if rule == "euler":
        b = at_left @ drift
        return difference - b * step, difference**2 - (b * step) ** 2 - a_left * step, a_left
    b_right = at_right @ drift
    drift_residual = difference - (at_left @ drift + b_right) * step / 2
    diffusion_residual = difference**2 - step * difference * b_right - (a_left + at_right @ diffusion) * step / 2
    return drift_residual, diffusion_residual, a_left
