"""Windows seen through measurement noise: y_n = X_n + η_n (docs/method.md §10).

K_j(y_n) shares η_n with y_{n+1} − y_n, a bias of order σ_η²/Δt. Instruments one sample earlier, polynomials corrected so that
E[b̃(x + η)] = b(x), and the noise's variance as one more unknown keep the equations linear and unbiased.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import factorial

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from grammar.terms import Binary, Call, Number, Variable
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Chunk, Windows
from worker.identification.equations.scalar_rules import WeakSystem
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.kernels import Kernels

Floats = NDArray[np.float64]


OVER_TWO = (1 / 3, 4 / 3, 1 / 3)
OVER_ONE = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
OVER_THREE = (3 / 8, 9 / 8, 9 / 8, 3 / 8)
"""Weights of ∫₀^{2h}, ∫₀^h and ∫₀^{3h} on the samples from y₀ on."""


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """Samples z, y₀, y₁, y₂, y₃ with equal steps h; instrument z. Equations (M17) and (M32).

    variance   σ_η², in internal units; −aE/6 on average for samples averaged over an exposure E, equation (M25)
    shape      (n_functions,) coefficients of the function of the state, one on average, that the noise's variance is in
               proportion to; None: the same everywhere
    """

    variance: float
    stride: int = 1
    shape: Floats | None = None
    name = "simpson, corrected for measurement noise"
    overlapping = True
    order = 4

    @property
    def noise_variance(self) -> float:
        return self.variance

    def with_stride(self, stride: int) -> "Noisy":
        return replace(self, stride=stride)

    def residual_variance(self, chunk: Chunk, diffusion: Floats) -> Floats:
        of_motion = diffusion * chunk.steps[1:3].sum(axis=0)
        # Motion blur takes away at most a sixth, on average.
        return np.asarray(np.maximum(of_motion + 2 * self.variance, of_motion / 2))

    @property
    def windows(self) -> Windows:
        return Windows(5, self.stride, even=True)

    def weights(self, chunk: Chunk, library: Library) -> Floats:
        """1, D₂, D₁², D₃², then h times g(y₀), Σ w g(y_j) of the drift and of both diffusion equations, and Σ 2 w D_j g(y_j) of
        these two; they do not depend on the variance."""
        y = chunk.states[1:]
        distance = y - y[0]
        at = [library.internal(state) * chunk.step[:, None] for state in y]
        scalars = np.stack(
            [np.ones(chunk.size), distance[2], distance[1] ** 2, distance[3] ** 2], axis=1
        )
        moved = [2 * d[:, None] * g for d, g in zip(distance[1:], at[1:], strict=True)]
        groups = [at[0], *(_combined(w, at) for w in (OVER_TWO, OVER_ONE, OVER_THREE))]
        return np.concatenate(
            [scalars, *groups, *(_combined(w[1:], moved) for w in (OVER_ONE, OVER_THREE))], axis=1
        )

    def drift_system(self, statistics: KernelStatistics, library: Library) -> WeakSystem:
        """y₂ − y₀ ≈ (h/3)(b̃₀ + 4 b̃₁ + b̃₂)."""
        return WeakSystem(self._corrected(statistics.sums, library)[1], statistics.sums[..., 1])

    def diffusion_systems(
        self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats
    ) -> tuple[WeakSystem, ...]:
        """(y_l − y₀)² over one step and over three, against ∫ 2(X_s − X₀) b + a and twice the noise's variance."""
        return tuple(
            WeakSystem(*equation)
            for equation in self._diffusion_equations(statistics.sums, library, drift)
        )

    def residuals(
        self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats
    ) -> tuple[Floats, Floats]:
        """Of the drift's equation, and of the diffusion's over three steps."""
        y = chunk.states[1:]
        shape = np.zeros_like(drift) if self.shape is None else self.shape
        slope = _derivative_matrix(library).T @ drift
        functions = noise_correction(library, self.variance).T @ np.stack(
            [drift, diffusion, slope, shape], axis=1
        )
        b, a, b_slope, noise = np.stack(
            [(library.internal(state) @ functions).T * chunk.step for state in y], axis=1
        )
        distance = y - y[0]
        known = a + 2 * distance * b
        # What y₀ shares with the other samples is its noise alone: nothing of that is in b(y₀).
        known[1:] -= 2 * self.variance * b_slope[1:]
        squares = distance[3] ** 2 - 2 * self.variance * (1.0 if self.shape is None else noise[0])
        return distance[2] - _combined(OVER_TWO, b), squares - _combined(OVER_THREE, known)

    def design(self, chunk: Chunk, library: Library) -> Floats:
        later = _combined(OVER_TWO, [library.internal(y) for y in chunk.states[1:4]])
        return np.asarray(later @ noise_correction(library, self.variance).T * chunk.step[:, None])

    def _diffusion_equations(
        self, sums: Floats, library: Library, drift: Floats
    ) -> list[tuple[Floats, Floats, Floats]]:
        """Design, response, and what multiplies the noise's variance, over one step and over three."""
        at_zero, _, one, three, cross_one, cross_three = self._corrected(sums, library)
        noise = 2 * (sums[..., 0] if self.shape is None else at_zero @ self.shape)
        slope = 2 * (_derivative_matrix(library).T @ drift)
        # E[(y_j − y₀) b̃(y_j)] has the noise's variance times b′ in it for j > 0; both rules weigh y₀ alike.
        return [
            (design, square - cross @ drift, noise - (design - weights[0] * at_zero) @ slope)
            for design, square, cross, weights in (
                (one, sums[..., 2], cross_one, OVER_ONE),
                (three, sums[..., 3], cross_three, OVER_THREE),
            )
        ]

    def _corrected(self, sums: Floats, library: Library) -> list[Floats]:
        """The six groups of function sums, with every g replaced by its corrected g̃; each (…, n_functions)."""
        correction = noise_correction(library, self.variance).T
        size = library.internal_size
        return [sums[..., 4 + k * size : 4 + (k + 1) * size] @ correction for k in range(6)]


def _combined(weights: Sequence[float], of: Sequence[Floats]) -> Floats:
    return reduce(np.add, (w * g for w, g in zip(weights, of, strict=False)))


def noise_correction(library: Library, variance: float) -> Floats:
    """C with g̃ = C g and E[g̃(y + η)] = g(y) for Gaussian η: C = exp(−½ σ² d²/dy²); (n_functions, n_functions).

    Exact for polynomials (Hermite) and harmonics; other terms are left as they are.
    """
    degree = library.internal_degree
    second = _chebyshev_derivative(degree) @ _chebyshev_derivative(degree)
    out = np.eye(library.internal_size)
    power = np.eye(degree + 1)
    for m in range(1, degree // 2 + 1):
        power = power @ second
        out[: degree + 1, : degree + 1] += (-variance / 2) ** m / factorial(m) * power
    for j, harmonic in enumerate(_harmonics(library)):
        if harmonic is not None:
            out[degree + 1 + j, degree + 1 + j] = np.exp(0.5 * variance * harmonic[1] ** 2)
    return out


def is_correctable(library: Library) -> bool:
    """Whether every function of the library has an exact correction: polynomials and pairs of harmonics have."""
    found = _harmonics(library)
    return all(h is not None and _partner(found, h) is not None for h in found)


def _derivative_matrix(library: Library) -> Floats:
    """g_k′ = Σ_j D_kj g_j."""
    degree = library.internal_degree
    out = np.zeros((library.internal_size, library.internal_size))
    out[: degree + 1, : degree + 1] = _chebyshev_derivative(degree)
    found = _harmonics(library)
    for j, harmonic in enumerate(found):
        partner = None if harmonic is None else _partner(found, harmonic)
        if harmonic is not None and partner is not None:
            sign = 1.0 if harmonic[0] == "sin" else -1.0
            out[degree + 1 + j, degree + 1 + partner] = sign * harmonic[1]
    return out


def _chebyshev_derivative(degree: int) -> Floats:
    """T_k′ = Σ_j D_kj T_j."""
    out = np.zeros((degree + 1, degree + 1))
    for k in range(1, degree + 1):
        unit = np.zeros(k + 1)
        unit[k] = 1.0
        out[k, :k] = chebyshev.chebder(unit)
    return out


Harmonic = tuple[str, float]
"""`sin` or `cos`, and its frequency in the internal coordinate."""


def _harmonics(library: Library) -> list[Harmonic | None]:
    """The terms that are not monomials, as harmonics; None where a term is something else."""
    scale = np.pi if library.period is not None else library.unit
    found: list[Harmonic | None] = []
    for k in library.other:
        match library.trees[k]:
            case Call("sin" | "cos" as function, Variable()):
                found.append((function, scale))
            case Call("sin" | "cos" as function, Binary("*", Number(n), Variable())):
                found.append((function, n * scale))
            case _:
                found.append(None)
    return found


def _partner(found: list[Harmonic | None], harmonic: Harmonic) -> int | None:
    wanted = ("cos" if harmonic[0] == "sin" else "sin", harmonic[1])
    return found.index(wanted) if wanted in found else None
