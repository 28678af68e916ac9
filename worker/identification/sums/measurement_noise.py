"""Sums and equations of samples seen through measurement noise, y_n = X_n + η_n.

K_j(y_n) shares η_n with y_{n+1} − y_n, a bias of order σ_η²/Δt (docs/method.md §§10, 11). Of
one variable it is known by Stein's lemma, of several the instruments are one sample earlier.
Functions corrected so that E[g̃(X + η)] = g(X), and the noise's variance as one more unknown keep
the equations linear and unbiased.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import factorial

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from grammar.terms import Binary, Call, Number, Variable
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Chunk
from worker.identification.sums.kernel_statistics import KernelStatistics, WeakSystem
from worker.identification.sums.rules import SamplingRule, ScalarNoise

Floats = NDArray[np.float64]

OVER_TWO = (1 / 3, 4 / 3, 1 / 3)
OVER_ONE = (9 / 24, 19 / 24, -5 / 24, 1 / 24)
OVER_THREE = (3 / 8, 9 / 8, 9 / 8, 3 / 8)
"""Weights of ∫₀^{2h}, ∫₀^h and ∫₀^{3h} on the samples from y₀ on.

A window of one variable is z, y₀, y₁, y₂, y₃, with instrument z, of which y₀ is a part.
"""

SCALARS = 6
"""Weights of a window that are no sums over functions."""


def window_weights(chunk: Chunk, library: Library) -> Floats:
    """Compute the per-window weights whose kernel sums the systems need; (n, n_weights).

    They are 1, D₁, D₂, D₃, D₁², D₃², then h times g(y₀), Σ w g(y_j) of both diffusion equations
    and of the drift, and Σ 2 w D_j g(y_j) of the former, whatever the noise's variance.
    """
    y = chunk.states[1:]
    distance = y - y[0]
    at = [library.internal(state) * chunk.step[:, None] for state in y]
    scalars = np.stack(
        [np.ones(chunk.size), *distance[1:], distance[1] ** 2, distance[3] ** 2], axis=1
    )
    moved = [2 * d[:, None] * g for d, g in zip(distance[1:], at[1:], strict=True)]
    groups = [at[0], *(_combined(w, at) for w in (OVER_ONE, OVER_THREE, OVER_TWO))]
    return np.concatenate(
        [scalars, *groups, *(_combined(w[1:], moved) for w in (OVER_ONE, OVER_THREE))], axis=1
    )


def derived_columns(library: Library) -> tuple[int, ...]:
    """Return how many of the first weights need sums with K′, K″ and K‴.

    With kernels of twice the root of what they share, the next term of (M49) is below one percent.
    """
    size = library.internal_size
    return SCALARS + 3 * size, SCALARS + size, SCALARS + size


def drift_system(rule: SamplingRule, statistics: KernelStatistics, library: Library) -> WeakSystem:
    """Set up (M17): y₂ − y₀ ≈ (h/3)(b̃₀ + 4 b̃₁ + b̃₂), less the noise that z and y₀ share (M49).

    Parameters
    ----------
    rule, library : rule with the noise, library of the internal functions
    statistics : sums of `window_weights`
    """
    noise = _noise(rule)
    two = _corrected(statistics.sums, library, noise.variance)[3]
    design = two + OVER_TWO[0] * _shared_at_zero(rule, statistics, library)
    slope = _slope(rule, statistics)
    return WeakSystem(design, statistics.sums[..., 2] + noise.variance * slope)


def drift_slope(rule: SamplingRule, statistics: KernelStatistics) -> Floats:
    """Return the slope of the response of (M17) in the noise's variance; (n_kernels,)."""
    return np.asarray(_slope(rule, statistics).sum(axis=0))


def _slope(rule: SamplingRule, statistics: KernelStatistics) -> Floats:
    return rule.own * statistics.derived[0][..., 0]


def diffusion_systems(
    rule: SamplingRule, statistics: KernelStatistics, library: Library, drift: Floats
) -> tuple[WeakSystem, ...]:
    """Set up (M32): (y_l − y₀)² over one step and over three, the noise's variance an unknown.

    Parameters
    ----------
    rule, library : rule with the noise, library of the internal functions
    statistics : sums of `window_weights`
    drift : (n_functions,) internal coefficients of the drift
    """
    sums, (first, second, *_), noise = statistics.sums, statistics.derived, _noise(rule)
    at_zero, one, three, _, cross_one, cross_three = _corrected(sums, library, noise.variance)
    first_at_zero, *by_first = _corrected(first, library, noise.variance)
    twice = 2 * (sums[..., 0] if noise.shape is None else at_zero @ noise.shape)
    derivative = derivative_matrix(library, 0).T
    more = _shared_at_zero(rule, statistics, library)

    def system(
        steps: int, design: Floats, cross: Floats, of_first: Floats, weight: float, shared: float
    ) -> WeakSystem:
        # E[(y_j − y₀) b̃(y_j)] has the noise's variance times b′ in it for j > 0.
        slope = 2 * (design - weight * at_zero) @ derivative
        # z holds a part of the noise in y₀.
        later = 2 * rule.own * (of_first - weight * first_at_zero)
        moved = 2 * rule.own * first[..., steps]
        spread = rule.own**2 * noise.variance * second[..., 0]
        response = sums[..., 4 if steps == 1 else 5] - cross @ drift
        factor = (1 - shared) * twice - moved - spread + (later - slope) @ drift
        of_drift = (noise.variance * (slope - later) - cross).sum(axis=0)
        whole = design + weight * more
        if noise.diffusion is not None:
            # Of the noise, −a E/6 is proportional to the unknowns, and the rest is known.
            of_blur = 2 * (1 - shared) * noise.blur * at_zero
            rest = noise.variance * factor + of_blur @ noise.diffusion
            return WeakSystem(whole - of_blur, response - rest, drift=of_drift)
        if noise.known:
            return WeakSystem(whole, response - noise.variance * factor, drift=of_drift)
        return WeakSystem(whole, response, factor, of_drift)

    return (
        system(1, one, cross_one, by_first[0], OVER_ONE[0], noise.shared[0]),
        system(3, three, cross_three, by_first[1], OVER_THREE[0], noise.shared[1]),
    )


def _shared_at_zero(rule: SamplingRule, statistics: KernelStatistics, library: Library) -> Floats:
    """Compute Σ_m (−κ)^m/m! Σ K^(m)(z) ∂^m g̃(y₀) h, m > 0 (M49); (n_blocks, n_kernels, …).

    With κ the covariance of the noise in z and in y₀, this and Σ K(z) g̃(y₀) h have the mean of
    Σ K(z) g(X₀) h.
    """
    variance = _noise(rule).variance
    derivative = derivative_matrix(library, 0).T
    power = noise_correction(library, variance).T
    at_zero = slice(SCALARS, SCALARS + library.internal_size)
    out = np.zeros(())
    for m, sums in enumerate(statistics.derived, start=1):
        power = power @ derivative * (-rule.own * variance / m)
        out = out + sums[..., at_zero] @ power
    return np.asarray(out)


def window_residuals(
    rule: SamplingRule,
    chunk: Chunk,
    library: Library,
    functions: Sequence[Floats],
    drift: Floats,
    diffusion: Floats,
) -> tuple[Floats, Floats]:
    """Compute residuals of the drift's equation, and the diffusion's over three steps; each (n,).

    Parameters
    ----------
    rule, chunk, library : rule with the noise, windows, library of the internal functions
    functions : these functions at the windows' points
    drift, diffusion : (n_functions,) internal coefficients
    """
    y, noise = chunk.states[1:], _noise(rule)
    shape = np.zeros_like(drift) if noise.shape is None else noise.shape
    slope = derivative_matrix(library, 0).T @ drift
    corrected = noise_correction(library, noise.variance).T @ np.stack(
        [drift, diffusion, slope, shape], axis=1
    )
    b, a, b_slope, level = np.stack([(g @ corrected).T * chunk.step for g in functions[1:]], axis=1)
    distance = y - y[0]
    known = a + 2 * distance * b
    # y₀ shares its noise alone with the other samples, and none of that is in b(y₀).
    known[1:] -= 2 * noise.variance * b_slope[1:]
    own = 1 - noise.shared[1] if noise.shape is None else level[0]
    squares = distance[3] ** 2 - 2 * noise.variance * own
    return distance[2] - _combined(OVER_TWO, b), squares - _combined(OVER_THREE, known)


def window_design(
    rule: SamplingRule, chunk: Chunk, library: Library, functions: Sequence[Floats]
) -> Floats:
    """Compute what multiplies the drift's coefficients in each window; (n, n_functions).

    Parameters
    ----------
    rule, chunk, library : rule with the noise, windows, library of the internal functions
    functions : these functions at the windows' points
    """
    later = _combined(OVER_TWO, functions[1:4])
    return np.asarray(
        later @ noise_correction(library, _noise(rule).variance).T * chunk.step[:, None]
    )


def _noise(rule: SamplingRule) -> ScalarNoise:
    assert rule.noise is not None, "the rule corrects for measurement noise of one variable"
    return rule.noise


def _corrected(sums: Floats, library: Library, variance: float) -> list[Floats]:
    """Correct the groups of function sums, g → g̃; each (…, n_functions)."""
    correction = noise_correction(library, variance).T
    size = library.internal_size
    ends = range(SCALARS, sums.shape[-1], size)
    return [sums[..., start : start + size] @ correction for start in ends]


def _combined(weights: Sequence[float], of: Sequence[Floats]) -> Floats:
    return reduce(np.add, (w * g for w, g in zip(weights, of, strict=False)))


def noise_correction(library: Library, variance: float) -> Floats:
    """Compute C = exp(−½ σ² d²/dy²), so that g̃ = C g has E[g̃(y + η)] = g(y) for Gaussian η.

    It is of one variable, and exact for polynomials (Hermite) and harmonics; other terms are left
    as they are.
    """
    degree = library.internal_degree
    slope = derivative_matrix(library, 0)[: degree + 1, : degree + 1]
    second, out, power = slope @ slope, np.eye(library.internal_size), np.eye(degree + 1)
    for m in range(1, degree // 2 + 1):
        power = power @ second
        out[: degree + 1, : degree + 1] += (-variance / 2) ** m / factorial(m) * power
    for j, harmonic in enumerate(_harmonics(library)):
        if harmonic is not None:
            out[degree + 1 + j, degree + 1 + j] = np.exp(0.5 * variance * harmonic[1] ** 2)
    return out


@dataclass(frozen=True, eq=False)
class MeasurementNoise:
    """Gaussian η of covariance S (d, d), internal units, independent from sample to sample.

    The library holds monomials only: for these the correction C = exp(−½ Σ S_pq ∂_p ∂_q) is a
    finite sum.
    """

    covariance: Floats
    library: Library

    @cached_property
    def _derivatives(self) -> tuple[Floats, ...]:
        return tuple(derivative_matrix(self.library, i) for i in range(len(self.covariance)))

    @cached_property
    def correction(self) -> Floats:
        """Matrix C of g̃ = C g; (n_functions, n_functions)."""
        d = len(self.covariance)
        smoothing = np.zeros((self.library.internal_size,) * 2)
        for p in range(d):
            for q in range(d):
                smoothing -= (
                    0.5 * self.covariance[p, q] * self._derivatives[p] @ self._derivatives[q]
                )
        out = power = np.eye(len(smoothing))
        for m in range(1, self.library.internal_degree // 2 + 1):
            power = power @ smoothing / m
            out = out + power
        return out

    def shared(self, p: int) -> Floats:
        """Compute M, Σ_r S_pr ∂_r corrected and transposed: functions @ M is Σ_r S_pr (∂_r g)~."""
        slope = np.einsum("r,rjk->jk", self.covariance[p], np.stack(self._derivatives))
        return np.asarray((slope @ self.correction).T)


def derivative_matrix(library: Library, variable: int) -> Floats:
    """Compute D with ∂g_k/∂y_variable = Σ_j D_kj g_j, harmonics of one variable included."""
    exponents = library.internal_exponents
    place = {e: j for j, e in enumerate(exponents)}
    out = np.zeros((library.internal_size,) * 2)
    for k, e in enumerate(exponents):
        unit = np.zeros(e[variable] + 1)
        unit[-1] = 1.0
        for m, c in enumerate(chebyshev.chebder(unit) if e[variable] else ()):
            if c:
                out[k, place[(*e[:variable], m, *e[variable + 1 :])]] = c
    found = _harmonics(library) if library.dimension == 1 else []
    for j, harmonic in enumerate(found, start=len(exponents)):
        partner = None if harmonic is None else _partner(found, harmonic)
        if harmonic is not None and partner is not None:
            sign = 1.0 if harmonic[0] == "sin" else -1.0
            out[j, len(exponents) + partner] = sign * harmonic[1]
    return out


Harmonic = tuple[str, float]
"""Function, `sin` or `cos`, and its frequency in the internal coordinate."""


def _harmonics(library: Library) -> list[Harmonic | None]:
    """Read the terms that are not monomials as harmonics; None where a term is something else."""
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
