"""Windows seen through measurement noise: y_n = X_n + η_n (docs/method.md §10).

K_j(y_n) shares η_n with y_{n+1} − y_n, a bias of order σ_η²/Δt. Instruments one sample earlier, polynomials corrected so that
E[b̃(x + η)] = b(x), and second differences in which the noise cancels keep the equations linear and unbiased.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.sampling import WeakSystem
from worker.identification.statistics import KernelStatistics
from worker.identification.terms import Binary, Call, Number, Variable
from worker.identification.trajectories import Chunk, Windows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noisy:
    """Samples z, y₀, y₁, y₂ with equal steps h; instrument z. Equations (M17)–(M19).

    variance   σ_η², in internal units; −aE/6 for samples averaged over an exposure E, equation (M25)
    """

    variance: float
    stride: int = 1
    name = "simpson, corrected for measurement noise"
    overlapping = True
    order = 3

    @property
    def noise_variance(self) -> float:
        return self.variance

    def with_stride(self, stride: int) -> "Noisy":
        return Noisy(self.variance, stride)

    def residual_variance(self, chunk: Chunk, diffusion: Floats) -> Floats:
        of_motion = diffusion * chunk.steps[1:].sum(axis=0)
        # Motion blur takes away at most a sixth, on average.
        return np.asarray(np.maximum(of_motion + 2 * self.variance, of_motion / 2))

    @property
    def windows(self) -> Windows:
        return Windows(4, self.stride, even=True)

    def weights(self, chunk: Chunk, library: Library) -> Floats:
        """D₂, D₂² − D₁², D₁², then h times g(y₀), g(y₁), g(y₂), D₁ g(y₁), D₂ g(y₂); they do not depend on the variance."""
        first, both = chunk.states[2] - chunk.states[1], chunk.states[3] - chunk.states[1]
        step = chunk.step[:, None]
        zero, one, two = (library.internal(y) * step for y in chunk.states[1:])
        scalars = np.stack([both, both**2 - first**2, first**2], axis=1)
        return np.concatenate([scalars, zero, one, two, first[:, None] * one, both[:, None] * two], axis=1)

    def drift_system(self, statistics: KernelStatistics, library: Library) -> WeakSystem:
        """y₂ − y₀ ≈ (h/3)(b̃₀ + 4 b̃₁ + b̃₂)."""
        zero, one, two, *_ = self._corrected(statistics.sums, library)
        return WeakSystem((zero + 4 * one + two) / 3, statistics.sums[..., 0])

    def diffusion_system(self, statistics: KernelStatistics, library: Library, kernels: Kernels, drift: Floats) -> WeakSystem:
        """(y₂ − y₀)² − (y₁ − y₀)², in which the noise cancels, against ∫ over the second step of 2(X_s − X₀) b + a."""
        zero, one, two, first_one, both_two = self._corrected(statistics.sums, library)
        slope = _derivative_matrix(library).T * self.variance
        at_one, at_two = 2 * (first_one - one @ slope) @ drift, 2 * (both_two - two @ slope) @ drift
        response = statistics.sums[..., 1] - (8 * at_one + 5 * at_two) / 12
        return WeakSystem((-zero + 8 * one + 5 * two) / 12, response)

    def residuals(self, chunk: Chunk, library: Library, drift: Floats, diffusion: Floats) -> tuple[Floats, Floats]:
        sums = self.weights(chunk, library)
        zero, one, two, first_one, both_two = self._corrected(sums, library)
        slope = _derivative_matrix(library).T * self.variance
        r = sums[:, 0] - (zero + 4 * one + two) @ drift / 3
        cross = 8 * 2 * (first_one - one @ slope) @ drift + 5 * 2 * (both_two - two @ slope) @ drift
        return r, sums[:, 1] - cross / 12 - (-zero + 8 * one + 5 * two) @ diffusion / 12

    def design(self, chunk: Chunk, library: Library) -> Floats:
        zero, one, two, *_ = self._corrected(self.weights(chunk, library), library)
        return (zero + 4 * one + two) / 3

    def next_variance(self, totals: Floats, n_windows: int, library: Library, drift: Floats, diffusion: Floats) -> float:
        """½ mean[(y₁ − y₀)² − ∫ over the first step of 2(X_s − X₀) b + a]."""
        zero, one, two, first_one, both_two = self._corrected(totals, library)
        slope = _derivative_matrix(library).T * self.variance
        at_one = 2 * (first_one - one @ slope) @ drift + one @ diffusion
        at_two = 2 * (both_two - two @ slope) @ drift + two @ diffusion
        integral = (5 * (zero @ diffusion) + 8 * at_one - at_two) / 12
        return float((totals[2] - integral) / (2 * n_windows))

    def _corrected(self, sums: Floats, library: Library) -> list[Floats]:
        """The five groups of function sums, with every g replaced by its corrected g̃; each (…, n_functions)."""
        correction = noise_correction(library, self.variance).T
        size = library.internal_size
        return [sums[..., 3 + k * size : 3 + (k + 1) * size] @ correction for k in range(5)]


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
