"""Quadrature rules: what windows of a sampled path say about drift and diffusion (docs/method.md §3).

E[X(t+Δ) − X(t) | X(t)] = ∫ E[b(X_s) | X(t)] ds, with the integral taken by a rule whose later points are data. The instrument K_j
stays at a sample before all noise of the window, so the system is linear and its noise has mean zero.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.statistics import KernelStatistics
from worker.identification.trajectories import Chunk, Windows

Floats = NDArray[np.float64]
RuleName = Literal["euler", "trapezoid", "simpson"]


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


class SamplingRule(Protocol):
    """How a window of samples becomes an equation for the drift and one for the diffusion.

    The residuals of windows that share increments are correlated; `overlapping` says so, and then errors come from blocks.
    """

    @property
    def name(self) -> str: ...

    @property
    def windows(self) -> Windows: ...

    @property
    def overlapping(self) -> bool: ...

    @property
    def order(self) -> int:
        """The error of the rule goes with this power of the step."""
        ...

    @property
    def noise_variance(self) -> float:
        """Variance of the measurement noise that is corrected for, internal units."""
        ...

    def with_stride(self, stride: int) -> "SamplingRule":
        """The same rule on every stride-th sample."""
        ...

    def weights(self, chunk: Chunk, library: Library) -> Floats:
        """Per-window weights whose kernel sums the systems need; (n, n_weights)."""
        ...

    def drift_system(self, statistics: KernelStatistics, library: Library) -> WeakSystem: ...

    def diffusion_system(self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats) -> WeakSystem:
        """With the drift's part removed; drift (n_functions,) internal coefficients."""
        ...

    def residuals(self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats) -> tuple[Floats, Floats]:
        """Residuals of both equations for single windows, each (n,)."""
        ...

    def design(self, chunk: Chunk, library: Library) -> Floats:
        """What multiplies the drift's coefficients in a single window; (n, n_functions)."""
        ...

    def residual_variance(self, chunk: Chunk, diffusion: Floats) -> Floats:
        """Variance of the drift's residual in a single window where the diffusion is this; (n,)."""
        ...


@dataclass(frozen=True, slots=True)
class _OfCleanSamples:
    """What the rules for samples without measurement noise share."""

    stride: int = 1
    noise_variance = 0.0

    def with_stride(self, stride: int) -> Self:
        return replace(self, stride=stride)

    def residual_variance(self, chunk: Chunk, diffusion: Floats) -> Floats:
        return np.asarray(diffusion * chunk.steps.sum(axis=0))


@dataclass(frozen=True, slots=True)
class _WithLaterPoints(_OfCleanSamples):
    """Rules whose weights are: response, its square, the later points' design, the drift's part of the square.

    share_of_first_point   its weight in the quadrature, in steps
    """

    share_of_first_point: ClassVar[float]

    def drift_system(self, statistics: KernelStatistics, library: Library) -> WeakSystem:
        return WeakSystem(self._pooled_design(statistics, library), statistics.sums[..., 0])

    def diffusion_system(self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats) -> WeakSystem:
        cross = statistics.sums[..., 2 + library.internal_size :]
        return WeakSystem(self._pooled_design(statistics, library), statistics.sums[..., 1] - cross @ drift)

    def _pooled_design(self, statistics: KernelStatistics, library: Library) -> Floats:
        later = statistics.sums[..., 2 : 2 + library.internal_size]
        return self.share_of_first_point * statistics.at_instrument + later


@dataclass(frozen=True, slots=True)
class Euler(_OfCleanSamples):
    """ΔX ≈ b(X_n) Δt, equation (M4), and ΔX² − b̂(X_n)² Δt² ≈ a(X_n) Δt, equation (M6)."""

    name = "euler"
    overlapping = False
    order = 1

    @property
    def windows(self) -> Windows:
        return Windows(2, self.stride)

    def weights(self, chunk: Chunk, library: Library) -> Floats:
        """Δy, Δy²."""
        difference = chunk.right - chunk.left
        return np.stack([difference, difference**2], axis=1)

    def drift_system(self, statistics: KernelStatistics, library: Library) -> WeakSystem:
        return WeakSystem(statistics.at_instrument, statistics.sums[..., 0])

    def diffusion_system(self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats) -> WeakSystem:
        squared = (library.internal(statistics.nodes) @ drift) ** 2
        correction = (statistics.time_squared * squared) @ kernels.at(statistics.nodes).T
        return WeakSystem(statistics.at_instrument, statistics.sums[..., 1] - correction)

    def residuals(self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats) -> tuple[Floats, Floats]:
        at_left, difference = library.internal(chunk.left), chunk.right - chunk.left
        expected = at_left @ drift * chunk.step
        return difference - expected, difference**2 - expected**2 - at_left @ diffusion * chunk.step

    def design(self, chunk: Chunk, library: Library) -> Floats:
        return library.internal(chunk.left) * chunk.step[:, None]


@dataclass(frozen=True, slots=True)
class Trapezoid(_WithLaterPoints):
    """ΔX ≈ ½Δt (b_n + b_{n+1}), equation (M5), and ΔX² − Δt ΔX b̂_{n+1} ≈ ½Δt (a_n + a_{n+1}), equation (M7)."""

    name = "trapezoid"
    share_of_first_point = 1 / 2
    overlapping = False
    order = 2

    @property
    def windows(self) -> Windows:
        return Windows(2, self.stride)

    def weights(self, chunk: Chunk, library: Library) -> Floats:
        """Δy, Δy², ½Δt g(y_{n+1}), Δt Δy g(y_{n+1}). The first two are Euler's."""
        difference = chunk.right - chunk.left
        at_right = library.internal(chunk.right) * chunk.step[:, None]
        columns = difference[:, None], (difference**2)[:, None], at_right / 2, at_right * difference[:, None]
        return np.concatenate(columns, axis=1)

    def residuals(self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats) -> tuple[Floats, Floats]:
        both = np.stack([drift, diffusion], axis=1)
        (b_left, a_left), (b_right, a_right) = ((library.internal(y) @ both).T for y in chunk.states)
        difference, half = chunk.right - chunk.left, chunk.step / 2
        r = difference - (b_left + b_right) * half
        return r, difference**2 - chunk.step * difference * b_right - (a_left + a_right) * half

    def design(self, chunk: Chunk, library: Library) -> Floats:
        return (library.internal(chunk.left) + library.internal(chunk.right)) * (chunk.step[:, None] / 2)


@dataclass(frozen=True, slots=True)
class Simpson(_WithLaterPoints):
    """Two equal steps h, equations (M15) and (M16):

    X_{n+2} − X_n ≈ (h/3)(b_n + 4 b_{n+1} + b_{n+2})
    (X_{n+2} − X_n)² − (h/3)(8 (X_{n+1} − X_n) b̂_{n+1} + 2 (X_{n+2} − X_n) b̂_{n+2}) ≈ (h/3)(a_n + 4 a_{n+1} + a_{n+2})
    """

    name = "simpson"
    share_of_first_point = 1 / 3
    overlapping = True
    order = 4

    @property
    def windows(self) -> Windows:
        return Windows(3, self.stride, even=True)

    def weights(self, chunk: Chunk, library: Library) -> Floats:
        """D, D², (h/3)(4 g_{n+1} + g_{n+2}), (h/3)(8 D₁ g_{n+1} + 2 D g_{n+2}) with D₁ = y_{n+1} − y_n, D = y_{n+2} − y_n."""
        first, both = chunk.states[1] - chunk.states[0], chunk.states[2] - chunk.states[0]
        third = chunk.step[:, None] / 3
        one, two = library.internal(chunk.states[1]) * third, library.internal(chunk.states[2]) * third
        cross = 8 * first[:, None] * one + 2 * both[:, None] * two
        return np.concatenate([both[:, None], (both**2)[:, None], 4 * one + two, cross], axis=1)

    def residuals(self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats) -> tuple[Floats, Floats]:
        zero, one, two = (library.internal(y) for y in chunk.states)
        first, both, third = chunk.states[1] - chunk.states[0], chunk.states[2] - chunk.states[0], chunk.step / 3
        design = zero + 4 * one + two
        r = both - third * (design @ drift)
        cross = 8 * first * (one @ drift) + 2 * both * (two @ drift)
        return r, both**2 - third * (cross + design @ diffusion)

    def design(self, chunk: Chunk, library: Library) -> Floats:
        zero, one, two = (library.internal(y) for y in chunk.states)
        return (zero + 4 * one + two) * (chunk.step[:, None] / 3)
