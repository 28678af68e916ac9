"""Symbolic model of several variables as a diffusion process: b, a and ∂b as functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, product
from math import prod

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from grammar.terms import Tree
from worker.identification.data.candidate_terms import Exponents
from worker.identification.data.library import Library
from worker.identification.data.polynomials import polynomials
from worker.identification.data.terms import (
    derivative,
    evaluate,
    monomial_exponents,
    parse,
)
from worker.identification.errors import InvalidLibrary

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Frame:
    """Coordinates y_i = (x_i − origin_i) / unit_i of polynomials, and the phases of angles.

    phases   factor from state to what the text of a term calls x: 2π/period of an angle, else 1
    """

    variables: tuple[str, ...]
    origins: tuple[float, ...]
    units: tuple[float, ...]
    phases: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Function Σ p_e y^e + Σ w_m tree_m(arguments) of states, (n, d) → (n,).

    powers   coefficient by exponents of the monomials of y
    trees    pairs of weight and tree
    """

    frame: Frame
    powers: Mapping[Exponents, float]
    trees: tuple[tuple[float, Tree], ...] = ()

    def __call__(self, x: Floats) -> Floats:
        """Evaluate at states (n, d); (n,)."""
        return Fields((self,))(x)[:, 0]

    def derivative(self, variable: int) -> "Field":
        """Differentiate with respect to a variable."""
        frame = self.frame
        powers: dict[Exponents, float] = {}
        for e, coefficient in self.powers.items():
            if e[variable]:
                lower = (*e[:variable], e[variable] - 1, *e[variable + 1 :])
                powers[lower] = coefficient * e[variable] / frame.units[variable]
        phase, name = frame.phases[variable], frame.variables[variable]
        return Field(
            frame,
            powers,
            tuple((weight * phase, derivative(tree, name)) for weight, tree in self.trees),
        )


@dataclass(frozen=True, eq=False)
class Fields:
    """Several fields of one frame, evaluated together: states (n, d) → (n, number of fields)."""

    fields: tuple[Field, ...]

    def __call__(self, x: Floats) -> Floats:
        """Evaluate at states (n, d); (n, number of fields)."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        frame = self.fields[0].frame
        total = np.asarray(polynomials(x, *self._sums))
        for values, field in zip(total, self.fields, strict=True):
            if field.trees:
                arguments = {
                    name: x[:, i] * frame.phases[i] for i, name in enumerate(frame.variables)
                }
                for weight, tree in field.trees:
                    values += weight * evaluate(tree, arguments)
        return total.T

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Origins, units, exponents and coefficients, as `polynomials` takes them."""
        frame = self.fields[0].frame
        exponents = sorted({e for field in self.fields for e in field.powers})
        return (
            np.array(frame.origins, dtype=float),
            np.array(frame.units, dtype=float),
            np.array(exponents, dtype=np.int64).reshape(len(exponents), len(frame.origins)),
            np.array(
                [[field.powers.get(e, 0.0) for e in exponents] for field in self.fields],
                dtype=float,
            ),
        )


@dataclass(frozen=True)
class SymbolicSystem:
    """Process dX = b(X) dt + σ(X) dW in d coordinates; a `DiffusionProcess` (worker/generator).

    b         d fields [state/time]
    a         d rows of d fields, symmetric [state²/time]
    domain    lower and upper end of each coordinate [state]
    periods   period of each coordinate, or None
    """

    b: tuple[Field, ...]
    a: tuple[tuple[Field, ...], ...]
    domain: tuple[tuple[float, float], ...]
    periods: tuple[float | None, ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates, d."""
        return len(self.b)

    def drift(self, x: Floats) -> Floats:
        """Evaluate b at states (n, d); (n, d)."""
        return self._drift(x)

    def diffusion(self, x: Floats) -> Floats:
        """Evaluate a at states (n, d); (n, d, d)."""
        d = self.dimension
        upper, out = self._upper(x), np.empty((len(x), d, d))
        for k, (p, q) in enumerate(combinations_with_replacement(range(d), 2)):
            out[:, p, q] = out[:, q, p] = upper[:, k]
        return out

    def drift_jacobian(self, x: Floats) -> Floats:
        """Evaluate ∂b_i/∂x_j at states (n, d); (n, d, d)."""
        return self._slopes(x).reshape(len(x), self.dimension, self.dimension)

    @cached_property
    def _drift(self) -> Fields:
        return Fields(self.b)

    @cached_property
    def _upper(self) -> Fields:
        return Fields(
            tuple(self.a[p][q] for p, q in combinations_with_replacement(range(self.dimension), 2))
        )

    @cached_property
    def _slopes(self) -> Fields:
        return Fields(tuple(b.derivative(i) for b in self.b for i in range(self.dimension)))


def frame_of(library: Library) -> Frame:
    """Return the coordinates of a library."""
    phases = tuple(1.0 if p is None else 2 * np.pi / p for p in library.periods)
    return Frame(library.variables, library.origins, library.units, phases)


def field_from_internal(library: Library, coefficients: Floats, factor: float) -> Field:
    """Make the function factor · Σ_j coefficients_j g_j in units of the data.

    Parameters
    ----------
    library : library of the internal functions g_j
    coefficients : (n_functions,) internal coefficients
    factor : factor to units of the data
    """
    exponents = library.internal_exponents
    n = len(exponents)
    powers = _chebyshev_to_powers(library) @ coefficients[:n] * factor
    trees = tuple(
        (float(w) * factor, library.trees[k])
        for w, k in zip(coefficients[n:], library.other, strict=True)
        if w
    )
    return Field(
        frame_of(library), {e: float(c) for e, c in zip(exponents, powers, strict=True) if c}, trees
    )


@lru_cache(maxsize=64)
def _chebyshev_to_powers(library: Library) -> Floats:
    """Expand the Chebyshev products in the monomials of y; (n, n) for n internal exponents."""
    exponents = library.internal_exponents
    place = {e: j for j, e in enumerate(exponents)}
    out = np.zeros((len(exponents), len(exponents)))
    for column, degrees in enumerate(exponents):
        factors = [chebyshev.cheb2poly([0.0] * k + [1.0]) for k in degrees]
        for e in product(*(range(k + 1) for k in degrees)):
            out[place[e], column] = prod(
                float(factor[k]) for factor, k in zip(factors, e, strict=True)
            )
    return out


def field_from_terms(
    terms: Mapping[str, float], variables: tuple[str, ...], periods: tuple[float | None, ...]
) -> Field:
    """Make the function of a model given by its terms.

    Parameters
    ----------
    terms : coefficient by text of the term
    variables : names of the d variables
    periods : period of each variable, or None

    Raises
    ------
    UnknownTerm, InvalidLibrary : a term cannot be parsed or used
    """
    powers: dict[Exponents, float] = {}
    trees: list[tuple[float, Tree]] = []
    for text, coefficient in terms.items():
        tree = parse(text, variables)
        exponents = monomial_exponents(tree, variables)
        if exponents is None:
            trees.append((float(coefficient), tree))
            continue
        for variable, power, period in zip(variables, exponents, periods, strict=True):
            if power and period is not None:
                raise InvalidLibrary(
                    f"The term {text} is not a function on a circle; {variable} is periodic. "
                    "Use sin and cos terms."
                )
        powers[exponents] = powers.get(exponents, 0.0) + float(coefficient)
    d = len(variables)
    phases = tuple(1.0 if p is None else 2 * np.pi / p for p in periods)
    return Field(Frame(variables, (0.0,) * d, (1.0,) * d, phases), powers, tuple(trees))
