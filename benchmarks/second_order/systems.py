"""Systems of second order, their records, and the smallest errors that these allow.

dx = v dt, dv = F(x, v) dt + σ dW with polynomial forces F and constant a = σσᵀ; positions are
recorded with white noise. Linear systems are sampled exactly from their stationary law, the others
by `SUBSTEPS` steps an interval.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, solve_continuous_lyapunov

from worker.identification.data.terms import candidate_terms, evaluate, monomial_exponents, parse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Terms = Mapping[str, float]
Coefficient = tuple[str, str]
"""Component and term."""

Bounds = dict[Coefficient, float]

SUBSTEPS = 40
"""Steps of the stochastic Heun scheme in a sampling interval.

For the systems' linear parts the scheme's transition law is in closed form, too: its matrix errs by
1.4e-5 per unit time, the variance of the unseen kick in x by 2e-4 of itself (as at an eighth of the
smallest standard error of a in the table).
"""

BURN_IN = 20.0
"""Time discarded first where the stationary law is not in closed form."""


@dataclass(frozen=True)
class System:
    """Process of second order in one or two coordinates.

    force   terms of F by velocity
    a       constant a by pair of velocities
    """

    force: Mapping[str, Terms]
    a: Mapping[str, float]

    @cached_property
    def dimension(self) -> int:
        """Number of coordinates, d."""
        return len(self.force)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of the state variables, positions first."""
        return ("x", "v") if self.dimension == 1 else ("x", "y", "vx", "vy")

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Terms of any component of the force."""
        return tuple(dict.fromkeys(term for terms in self.force.values() for term in terms))

    @cached_property
    def exponents(self) -> Integers:
        """Exponents (K, 2d) of the state variables in the terms."""
        return np.array(
            [monomial_exponents(parse(t, self.variables), self.variables) for t in self.terms]
        )

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients (K, d) of the terms."""
        return np.array(
            [[terms.get(term, 0.0) for terms in self.force.values()] for term in self.terms]
        )

    @cached_property
    def tensor(self) -> Floats:
        """The tensor a (d, d)."""
        names = list(self.force)
        out = np.zeros((self.dimension, self.dimension))
        for i, j in product(range(self.dimension), repeat=2):
            out[i, j] = self.a[",".join(names[k] for k in sorted((i, j)))]
        return out

    @property
    def linear(self) -> bool:
        """Whether the force is linear."""
        return bool(np.all(self.exponents.sum(axis=1) == 1))

    def components(self) -> dict[str, Terms]:
        """Return the true terms of drift and diffusion by component."""
        return {
            **self.force,
            **{pair: {"1": value} if value else {} for pair, value in self.a.items()},
        }


SYSTEMS = {
    "van der Pol": System({"v": {"x": -1.0, "v": 3.0, "x^2*v": -3.0}}, {"v,v": 0.1}),
    "double well": System({"v": {"x": 1.0, "v": -0.5, "x^3": -1.0}}, {"v,v": 0.4}),
    "harmonic": System({"v": {"x": -4.0, "v": -1.0}}, {"v,v": 1.0}),
    "rotating trap": System(
        {"vx": {"x": -2.0, "y": -0.8, "vx": -1.0}, "vy": {"x": 0.8, "y": -2.0, "vy": -1.0}},
        {"vx,vx": 1.0, "vx,vy": 0.0, "vy,vy": 1.0},
    ),
    "coupled oscillators": System(
        {"vx": {"x": -3.0, "y": 1.0, "vx": -0.5}, "vy": {"x": 1.0, "y": -2.0, "vy": -0.5}},
        {"vx,vx": 0.5, "vx,vy": 0.0, "vy,vy": 0.5},
    ),
    "anisotropic": System(
        {"vx": {"x": -2.0, "vx": -1.0}, "vy": {"y": -3.0, "vy": -0.5}},
        {"vx,vx": 1.0, "vx,vy": 0.3, "vy,vy": 0.4},
    ),
    # F of dx = (x − x³ + u) dt, du = −u/τ dt + (√0.25/τ) dW with τ = 0.2
    "coloured noise": System(
        {"v": {"x": 5.0, "v": -4.0, "x^3": -5.0, "x^2*v": -3.0}}, {"v,v": 6.25}
    ),
}
"""The systems by name; a record's random numbers depend on its system's place here."""


def states_of(name: str, dt: float, n_samples: int, n_trajectories: int, seed: int) -> Floats:
    """Sample positions and velocities: (n_trajectories, n_samples, 2d)."""
    system, number = SYSTEMS[name], list(SYSTEMS).index(name)
    generator = np.random.default_rng([number, seed])
    if system.linear:
        return _exact(system, dt, n_samples, n_trajectories, generator)
    out = np.empty((n_trajectories, n_samples, 2 * system.dimension))
    root = np.linalg.cholesky(system.tensor)
    for path in out:
        start = generator.normal(0, 0.5, 2 * system.dimension)
        _heun(path, start, generator, system.exponents, system.coefficients, root, dt)
    return out


def positions_of(states: Floats, noise: float, seed: int) -> Floats:
    """Return the positions with white noise of this standard deviation."""
    x = np.ascontiguousarray(states[..., : states.shape[-1] // 2])
    if not noise:
        return x
    return x + noise * np.random.default_rng([seed, x.size, 3]).standard_normal(x.shape)


def _exact(
    system: System, dt: float, n_samples: int, n: int, generator: np.random.Generator
) -> Floats:
    """Sample a linear system by its transition law, from its stationary law."""
    d = system.dimension
    matrix, a = np.zeros((2 * d, 2 * d)), np.zeros((2 * d, 2 * d))
    matrix[:d, d:] = np.eye(d)
    matrix[d:] = system.coefficients.T @ system.exponents
    a[d:, d:] = system.tensor
    law, step = solve_continuous_lyapunov(matrix, -a), expm(matrix * dt)
    # Van Loan's integral keeps the digits that law − step·law·stepᵀ loses at small steps.
    block = expm(np.block([[-matrix, a], [np.zeros_like(a), matrix.T]]) * dt)
    root = np.linalg.cholesky(step @ block[: 2 * d, 2 * d :])
    out = np.empty((n_samples, n, 2 * d))
    out[0] = generator.standard_normal((n, 2 * d)) @ np.linalg.cholesky(law).T
    for before, here in pairwise(out):
        here[:] = before @ step.T + generator.standard_normal((n, 2 * d)) @ root.T
    return np.ascontiguousarray(out.transpose(1, 0, 2))


@nb.njit(cache=True)
def _force(z: Floats, exponents: Integers, coefficients: Floats, out: Floats) -> None:
    out[:] = 0.0
    for k in range(len(exponents)):
        value = 1.0
        for i in range(len(z)):
            for _ in range(exponents[k, i]):
                value *= z[i]
        for i in range(len(out)):
            out[i] += coefficients[k, i] * value


@nb.njit(cache=True)
def _heun(
    path: Floats,
    start: Floats,
    generator: np.random.Generator,
    exponents: Integers,
    coefficients: Floats,
    root: Floats,
    dt: float,
) -> None:
    """Write samples of one path: half a drift, a kick by Heun's rule, half a drift."""
    d = len(root)
    z, first, second, kick = start.copy(), np.empty(d), np.empty(d), np.empty(d)
    ahead, h = np.empty(2 * d), dt / SUBSTEPS
    for n in range(-round(BURN_IN / dt), len(path)):
        if n >= 0:
            path[n] = z
        for _ in range(SUBSTEPS):
            kick[:] = 0.0
            for j in range(d):
                normal = np.sqrt(h) * generator.standard_normal()
                for i in range(j, d):
                    kick[i] += root[i, j] * normal
            ahead[:d] = z[:d] + 0.5 * h * z[d:]
            ahead[d:] = z[d:]
            _force(ahead, exponents, coefficients, first)
            ahead[d:] += h * first + kick
            _force(ahead, exponents, coefficients, second)
            z[d:] += 0.5 * h * (first + second) + kick
            z[:d] = ahead[:d] + 0.5 * h * z[d:]


def bounds_of(system: System, states: Floats, dt: float, degree: int | None = None) -> Bounds:
    """Return the Cramér–Rao bounds of the true coefficients, with velocities observed.

    The information of F is Σ f_k f_l (a⁻¹)_ij Δt; that of a constant a_ij is the number of
    increments over a_ii a_jj + a_ij². Unknown are the true terms of F alone, or all monomials up to
    the degree in each component, whose bound is that of a fit without selection.
    """
    z = states[:, :-1].reshape(-1, states.shape[-1])
    values = dict(zip(system.variables, z.T, strict=True))
    functions = lambda terms: np.stack(  # noqa: E731
        [evaluate(parse(t, system.variables), values) for t in terms]
    )
    bounds: Bounds = {}
    if degree is None:
        names = [(i, v, t) for i, (v, terms) in enumerate(system.force.items()) for t in terms]
        f, which = functions([t for _, _, t in names]), [i for i, _, _ in names]
        weights = np.linalg.inv(system.tensor)[np.ix_(which, which)]
        covariance = np.linalg.inv((f @ f.T) * weights * dt)
        for k, (_, velocity, term) in enumerate(names):
            bounds[velocity, term] = float(np.sqrt(covariance[k, k]))
    else:
        candidates = candidate_terms(system.variables, (False,) * len(values), degree, 0)
        f = functions(candidates)
        # With the same terms in each component the information is a Kronecker product.
        variances = dict(zip(candidates, np.diag(np.linalg.inv(f @ f.T * dt)), strict=True))
        for i, (velocity, terms) in enumerate(system.force.items()):
            for term in terms:
                bounds[velocity, term] = float(np.sqrt(system.tensor[i, i] * variances[term]))
    velocities = list(system.force)
    for pair, value in system.a.items():
        i, j = (velocities.index(v) for v in pair.split(","))
        size = system.tensor[i, i] * system.tensor[j, j] + value**2
        bounds[pair, "1"] = float(np.sqrt(size / len(z)))
    return bounds


COLOURED: dict[Coefficient, float] = {
    ("f", "x"): 1.0,
    ("f", "x^3"): -1.0,
    ("τ", ""): 0.2,
    ("a", ""): 0.25,
}
"""Coefficients of the coloured noise: of f, its correlation time, and its strength."""


def bounds_of_coloured(states: Floats, dt: float) -> Bounds:
    """Return the Cramér–Rao bounds of coloured noise, with velocities observed.

    F = (f − v)/τ + f′v has the slope x^k/τ + k x^(k−1) v in a coefficient of f, and (v − f)/τ² in
    τ; the strength is τ² times the diffusion of the velocity.
    """
    x, v = states[:, :-1].reshape(-1, 2).T
    tau, strength = COLOURED["τ", ""], COLOURED["a", ""]
    diffusion = strength / tau**2
    slopes = np.stack([x / tau + v, x**3 / tau + 3 * x**2 * v, (v - x + x**3) / tau**2])
    errors = np.sqrt(np.diag(np.linalg.inv(slopes @ slopes.T * dt / diffusion)))
    of_strength = strength * np.sqrt(2 / len(x) + (2 * errors[2] / tau) ** 2)
    return dict(zip(COLOURED, map(float, (*errors, of_strength)), strict=True))
