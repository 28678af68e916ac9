"""Symbolic model of one variable as a diffusion process, accurate near the data.

b, a and b′ are functions whose accuracy does not depend on how far the origin is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from grammar.terms import as_factor
from worker.identification.data.library import Library
from worker.identification.data.terms import evaluate
from worker.identification.sums.kernels import Kernels
from worker.identification.symbolic_system import (
    Field,
    coordinates_of,
    field_from_terms,
    polynomial,
)

Floats = NDArray[np.float64]


ROUNDING = 64 * float(np.finfo(float).eps)
"""Value at x = 0 over the terms that sum to it, up to which it is their rounding error."""

FAR = 1e6
"""Internal coordinate beyond which no Gaussian reaches."""

NEAR_ZERO = 1e6
"""Growth |origin/unit|^degree of the terms up to which the value at x = 0 is judged at all."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Field of one variable, evaluated at states (n,) by Horner's rule.

    zeros   number of factors x of the polynomial that are not in the field's powers
    """

    field: Field
    zeros: int = 0

    @cached_property
    def _powers(self) -> Floats:
        """Coefficients of all powers of y, lowest first; (degree + 1,)."""
        powers = np.zeros(max((exponent for (exponent,) in self.field.powers), default=0) + 1)
        for (exponent,), value in self.field.powers.items():
            powers[exponent] = value
        return powers

    def __call__(self, x: Floats) -> Floats:
        """Evaluate at states (n,); (n,)."""
        x = np.asarray(x, dtype=np.float64)
        coordinates = self.field.coordinates
        total = polynomial(x.ravel(), coordinates.origins[0], coordinates.units[0], self._powers)
        total = total.reshape(x.shape)
        for _ in range(self.zeros):
            total = total * x
        for weight, tree in self.field.trees:
            total = total + weight * evaluate(tree, {"x": x * coordinates.phases[0]})
        return total

    def derivative(self) -> "Expansion":
        """Differentiate with respect to x."""
        slope = self.field.derivative(0)
        if not self.zeros:
            return Expansion(slope)
        # (x^m q)′ = x^(m−1) (m q + x q′), and x = origin + unit·y.
        origin, unit = self.field.coordinates.origins[0], self.field.coordinates.units[0]
        powers = {e: self.zeros * value for e, value in self.field.powers.items()}
        for (k,), value in slope.powers.items():
            powers[k,] = powers.get((k,), 0.0) + origin * value
            powers[k + 1,] = powers.get((k + 1,), 0.0) + unit * value
        return Expansion(Field(slope.coordinates, powers, slope.trees), self.zeros - 1)


def _without_zeros(powers: Floats, origin: float, unit: float) -> tuple[Floats, int]:
    """Take out of Σ powers_i y^i, y = (x − origin)/unit, the factors x that it has to rounding.

    A model without a constant vanishes at x = 0 exactly, where noise that ends there decides
    between a density and none; expanded about the data it has a constant of 1e-16 there.

    Returns the quotient's powers, and the number of factors.
    """
    at, count = -origin / unit, 0
    if max(1.0, abs(at)) ** (len(powers) - 1) > NEAR_ZERO:
        return powers, 0
    while len(powers) > 1 and powers.any():
        # Horner's rule at x = 0: quotient by y − at, and remainder.
        sums = list(accumulate(powers[::-1].tolist(), lambda last, power: power + last * at))
        size = float(np.abs(powers) @ np.abs(at) ** np.arange(len(powers)))
        if abs(sums[-1]) > ROUNDING * size:
            break
        powers, count = np.array(sums[-2::-1]) / unit, count + 1
    return powers, count


@dataclass(frozen=True, slots=True, eq=False)
class Excess:
    """Function a(x) Σ_j w_j K_j(y) that a drift has beyond its terms, at states (n,); (n,).

    a             diffusion [state²/time]
    kernels       Gaussians of y = (x − origin)/unit
    weights       (m,) [1/state]
    origin, unit  of y [state]
    """

    a: Expansion
    kernels: Kernels
    weights: Floats
    origin: float
    unit: float

    def __call__(self, x: Floats) -> Floats:
        """Evaluate at states (n,)."""
        return _beyond(self.a(x), self.weights @ self.kernels.at(self._places(x)))

    def derivative(self, x: Floats) -> Floats:
        """Differentiate with respect to x."""
        y = self._places(x)
        value, slope = self.weights @ self.kernels.at(y), self.weights @ self.kernels.at(y, 1)
        return _beyond(self.a.derivative()(x), value) + _beyond(self.a(x), slope / self.unit)

    def _places(self, x: Floats) -> Floats:
        # Farther out Gaussians are zero, and their squared distances overflow.
        return np.clip((x - self.origin) / self.unit, -FAR, FAR)


def _beyond(a: Floats, factor: Floats) -> Floats:
    # Far from the data Gaussians are zero, and the diffusion may overflow.
    return np.asarray(np.multiply(a, factor, out=np.zeros_like(factor), where=factor != 0))


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicProcess:
    """Process dX = b(X) dt + σ(X) dW in one coordinate; a `DiffusionProcess` (worker/generator).

    b, a     the terms of drift and diffusion a = σ² of states (n,) [state/time], [state²/time]
    bounds   ends of the state space [state]
    period   period of the state [state]; None on the line
    excess   what the drift has beyond its terms, in some of the models drawn around an estimate
    """

    b: Expansion
    a: Expansion
    bounds: tuple[float, float] = (-np.inf, np.inf)
    period: float | None = None
    excess: Excess | None = None

    @property
    def dimension(self) -> int:
        """Number of coordinates, 1."""
        return 1

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper end of the coordinate [state]."""
        return (self.bounds,)

    @property
    def periods(self) -> tuple[float | None, ...]:
        """Period of the coordinate, or None."""
        return (self.period,)

    def drift(self, x: Floats) -> Floats:
        """Evaluate b at states (n, 1); (n, 1)."""
        b = self.b(x[:, 0])
        return (b if self.excess is None else b + self.excess(x[:, 0]))[:, None]

    def diffusion(self, x: Floats) -> Floats:
        """Evaluate a at states (n, 1); (n, 1, 1)."""
        return self.a(x[:, 0])[:, None, None]

    def drift_jacobian(self, x: Floats) -> Floats:
        """Evaluate b′ at states (n, 1); (n, 1, 1)."""
        slope = self.b.derivative()(x[:, 0])
        if self.excess is not None:
            slope = slope + self.excess.derivative(x[:, 0])
        return slope[:, None, None]


@lru_cache(maxsize=16)
def _powers_of_chebyshev(degree: int) -> Floats:
    """Expand T_k in powers, lowest first, in row k; (degree + 1, degree + 1)."""
    out = np.zeros((degree + 1, degree + 1))
    for k, unit in enumerate(np.eye(degree + 1)):
        out[k, : k + 1] = chebyshev.cheb2poly(unit[: k + 1])
    return out


def from_internal(library: Library, coefficients: Floats, factor: float) -> Expansion:
    """Make the function factor · Σ_j coefficients_j g_j in units of the data.

    Parameters
    ----------
    library : library of the internal functions g_j
    coefficients : (n_functions,) internal coefficients
    factor : factor to units of the data
    """
    p = library.internal_degree
    powers = np.ascontiguousarray(coefficients[: p + 1] @ _powers_of_chebyshev(p) * factor)
    weights = (coefficients[p + 1 :] * factor).tolist()
    trees = tuple((w, library.trees[k]) for w, k in zip(weights, library.other, strict=True))
    powers, zeros = _without_zeros(powers, library.origin, library.unit)
    return Expansion(
        Field(coordinates_of(library), {(k,): v for k, v in enumerate(powers.tolist())}, trees),
        zeros,
    )


def expansion_of(field: Field) -> Expansion:
    """Return a function of one variable with the zeros at x = 0 that it has to rounding."""
    powers = np.zeros(1 + max((k for (k,) in field.powers), default=0))
    for (k,), value in field.powers.items():
        powers[k] = value
    (origin,), (unit,) = field.coordinates.origins, field.coordinates.units
    powers, zeros = _without_zeros(powers, origin, unit)
    found: dict[tuple[int, ...], float] = {(k,): v for k, v in enumerate(powers.tolist())}
    return Expansion(Field(field.coordinates, found, field.trees), zeros)


def from_terms(terms: Mapping[str, float], period: float | None = None) -> Expansion:
    """Make the function of one variable given by its terms. Raise UnknownTerm, InvalidLibrary."""
    return Expansion(field_from_terms(terms, ("x",), (period,)))


def expression(terms: Mapping[str, float], digits: int = 4) -> str:
    """Write terms and coefficients as text: `0.998*x - 0.996*x^3`; `0` where there is no term."""
    parts: list[str] = []
    for term, value in terms.items():
        if not value:
            continue
        magnitude = f"{abs(value):.{digits}g}"
        body = magnitude if term == "1" else f"{magnitude}*{as_factor(term)}"
        sign = "-" if value < 0 else "+"
        parts.append(f"{sign} {body}" if parts else (f"-{body}" if value < 0 else body))
    return " ".join(parts) if parts else "0"
