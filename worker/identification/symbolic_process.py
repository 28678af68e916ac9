"""Symbolic model of one variable as a diffusion process, accurate near the data.

b, a and b′ are functions whose accuracy does not depend on how far the origin is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.terms import evaluate
from worker.identification.symbolic_system import Field, field_from_terms, frame_of, polynomial

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Expansion:
    """Field of one variable, evaluated at states (n,) by Horner's rule."""

    field: Field

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
        frame = self.field.frame
        total = polynomial(x.ravel(), frame.origins[0], frame.units[0], self._powers)
        total = total.reshape(x.shape)
        for weight, tree in self.field.trees:
            total = total + weight * evaluate(tree, {"x": x * frame.phases[0]})
        return total

    def derivative(self) -> "Expansion":
        """Differentiate with respect to x."""
        return Expansion(self.field.derivative(0))


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicProcess:
    """Process dX = b(X) dt + σ(X) dW in one coordinate; a `DiffusionProcess` (worker/generator).

    b, a     drift and diffusion a = σ² of states (n,) [state/time], [state²/time]
    bounds   ends of the state space [state]
    """

    b: Expansion
    a: Expansion
    bounds: tuple[float, float] = (-np.inf, np.inf)
    period: float | None = None

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
        return self.b(x[:, 0])[:, None]

    def diffusion(self, x: Floats) -> Floats:
        """Evaluate a at states (n, 1); (n, 1, 1)."""
        return self.a(x[:, 0])[:, None, None]

    def drift_jacobian(self, x: Floats) -> Floats:
        """Evaluate b′ at states (n, 1); (n, 1, 1)."""
        return self.b.derivative()(x[:, 0])[:, None, None]


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
    return Expansion(
        Field(frame_of(library), {(k,): v for k, v in enumerate(powers.tolist())}, trees)
    )


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
        body = magnitude if term == "1" else f"{magnitude}*{term}"
        sign = "-" if value < 0 else "+"
        parts.append(f"{sign} {body}" if parts else (f"-{body}" if value < 0 else body))
    return " ".join(parts) if parts else "0"
