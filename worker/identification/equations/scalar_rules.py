"""Quadrature rules: what windows of a sampled path say about drift and diffusion (docs/method.md §3).

E[X(t+Δ) − X(t) | X(t)] = ∫ E[b(X_s) | X(t)] ds, with the integral taken by a rule whose later points are data. The instrument K_j
stays at a sample before all noise of the window, so the system is linear and its noise has mean zero.
"""

from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Chunk, Windows
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.kernels import Kernels

Floats = NDArray[np.float64]
RuleName = Literal["euler", "trapezoid", "simpson"]


@dataclass(frozen=True, slots=True, eq=False)
class WeakSystem:
    """The weak equations of one component, block by block: response ≈ design · coefficients.

    design     (n_blocks, n_kernels, n_functions)
    response   (n_blocks, n_kernels)
    noise      (n_blocks, n_kernels)   what multiplies the variance of measurement noise, where that is an unknown
    """

    design: Floats
    response: Floats
    noise: Floats | None = None

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

    def diffusion_systems(
        self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats
    ) -> tuple[WeakSystem, ...]:
        """With the drift's part removed; drift (n_functions,) internal coefficients. Several where noise is an unknown."""
        ...

    def residuals(
        self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats
    ) -> tuple[Floats, Floats]:
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
class _Quadrature(_OfCleanSamples):
    """X_{n+l} − X_n = D_l ≈ h Σ_j w_j b_{n+j}, and D_l² − 2h Σ_j w_j D_j b̂_{n+j} ≈ h Σ_j w_j a_{n+j}; equation (M30).

    quadrature   the w_j
    over         l, steps over which the drift is integrated
    """

    quadrature: ClassVar[tuple[float, ...]]
    over: ClassVar[int] = 1

    @property
    def windows(self) -> Windows:
        n_points = len(self.quadrature)
        return Windows(n_points, self.stride, even=n_points > 2)

    def weights(self, chunk: Chunk, library: Library) -> Floats:
        """D_l, D_l², then h Σ_j w_j g(y_j) and 2h Σ_j w_j D_j g(y_j) over the later points. The first two are Euler's."""
        y, target = chunk.states, chunk.states[self.over] - chunk.states[0]
        each = [
            library.internal(y[j]) * (w * chunk.step[:, None])
            for j, w in enumerate(self.quadrature)
            if j
        ]
        later = reduce(np.add, each)
        cross = reduce(
            np.add, (g * (2 * (y[j] - y[0]))[:, None] for j, g in enumerate(each, start=1))
        )
        return np.concatenate([target[:, None], (target**2)[:, None], later, cross], axis=1)

    def drift_system(self, statistics: KernelStatistics, library: Library) -> WeakSystem:
        return WeakSystem(self._pooled_design(statistics, library), statistics.sums[..., 0])

    def diffusion_systems(
        self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats
    ) -> tuple[WeakSystem, ...]:
        cross = statistics.sums[..., 2 + library.internal_size :]
        return (
            WeakSystem(
                self._pooled_design(statistics, library), statistics.sums[..., 1] - cross @ drift
            ),
        )

    def _pooled_design(self, statistics: KernelStatistics, library: Library) -> Floats:
        later = statistics.sums[..., 2 : 2 + library.internal_size]
        return self.quadrature[0] * statistics.at_instrument + later

    def residuals(
        self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats
    ) -> tuple[Floats, Floats]:
        both = np.stack([drift, diffusion], axis=1)
        y, target = chunk.states, chunk.states[self.over] - chunk.states[0]
        r, s = target, target**2
        for j, w in enumerate(self.quadrature):
            b, a = (library.internal(y[j]) @ both).T * (w * chunk.step)
            r, s = r - b, s - a - 2 * (y[j] - y[0]) * b
        return r, s

    def design(self, chunk: Chunk, library: Library) -> Floats:
        each = (library.internal(y) * w for y, w in zip(chunk.states, self.quadrature, strict=True))
        return np.asarray(sum(each) * chunk.step[:, None])

    def residual_variance(self, chunk: Chunk, diffusion: Floats) -> Floats:
        return np.asarray(diffusion * chunk.steps[: self.over].sum(axis=0))


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

    def diffusion_systems(
        self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats
    ) -> tuple[WeakSystem, ...]:
        squared = (library.internal(statistics.nodes) @ drift) ** 2
        correction = (statistics.time_squared * squared) @ statistics.at_nodes(kernels).T
        return (WeakSystem(statistics.at_instrument, statistics.sums[..., 1] - correction),)

    def residuals(
        self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats
    ) -> tuple[Floats, Floats]:
        at_left, difference = library.internal(chunk.left), chunk.right - chunk.left
        expected = at_left @ drift * chunk.step
        return difference - expected, difference**2 - expected**2 - at_left @ diffusion * chunk.step

    def design(self, chunk: Chunk, library: Library) -> Floats:
        return library.internal(chunk.left) * chunk.step[:, None]


@dataclass(frozen=True, slots=True)
class Trapezoid(_Quadrature):
    """ΔX ≈ ½Δt (b_n + b_{n+1}), equation (M5), and ΔX² − Δt ΔX b̂_{n+1} ≈ ½Δt (a_n + a_{n+1}), equation (M7)."""

    name = "trapezoid"
    quadrature = (1 / 2, 1 / 2)
    overlapping = False
    order = 2


@dataclass(frozen=True, slots=True)
class AdamsMoulton(_Quadrature):
    """One step, through four points: ΔX ≈ (Δt/24)(9 b_n + 19 b_{n+1} − 5 b_{n+2} + b_{n+3}), equation (M31)."""

    name = "adams-moulton"
    quadrature = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
    overlapping = True
    order = 4


@dataclass(frozen=True, slots=True)
class Simpson(_Quadrature):
    """Two steps: X_{n+2} − X_n ≈ (Δt/3)(b_n + 4 b_{n+1} + b_{n+2}), equations (M15) and (M16)."""

    name = "simpson"
    quadrature = (1 / 3, 4 / 3, 1 / 3)
    over = 2
    overlapping = True
    order = 4
