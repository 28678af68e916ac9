"""Symbolic model of several variables as a diffusion process: b, a and ∂b as functions.

Polynomials of one and of several variables are evaluated in one compiled loop each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numba as nb
import numpy as np
from numpy.typing import NDArray

from grammar.terms import Binary, Call, Number, Tree, Variable
from worker.identification.data.library import Library
from worker.identification.data.terms import (
    Exponents,
    derivative,
    evaluate,
    monomial_exponents,
    parse,
)
from worker.identification.errors import InvalidLibrary

Floats = NDArray[np.float64]

BATCH = 64
"""Number of states whose monomials are computed together, as vector instructions in the cache."""


@nb.njit(cache=True, nogil=True)
def polynomial(x: Floats, origin: float, unit: float, powers: Floats) -> Floats:
    """Evaluate Σ_i powers_i y^i at y = (x − origin) / unit by Horner's rule, (n,) → (n,).

    Overflow gives inf or nan, silently.

    Parameters
    ----------
    x : (n,) states
    origin, unit : origin and unit of the coordinate y
    powers : (degree + 1,) coefficients, lowest first
    """
    y, result = np.empty(len(x)), np.empty(len(x))
    for s in range(len(x)):
        y[s] = (x[s] - origin) / unit
        # A constant is nan, too, where there is no state.
        result[s] = powers[-1] + y[s] * 0.0
    for k in range(len(powers) - 2, -1, -1):
        for s in range(len(x)):
            result[s] = powers[k] + result[s] * y[s]
    return result


@nb.njit(cache=True, nogil=True)
def polynomials(
    x: Floats, origins: Floats, units: Floats, exponents: NDArray[np.int64], coefficients: Floats
) -> Floats:
    """Evaluate Σ_k coefficients_jk Π_i y_i^exponents_ki at y = (x − origins) / units; (q, n).

    Far out a power overflows to inf and a difference of two such to nan, silently.

    Parameters
    ----------
    x : (n, d) states
    origins, units : (d,) origins and units of the coordinates y
    exponents : (m, d) exponents of the monomials
    coefficients : (q, m) coefficients of the q polynomials
    """
    (n, d), (q, m) = x.shape, coefficients.shape
    result = np.zeros((q, n))
    y, value = np.empty((d, BATCH)), np.empty(BATCH)
    for first in range(0, n, BATCH):
        size = min(BATCH, n - first)
        for i in range(d):
            for s in range(size):
                y[i, s] = (x[first + s, i] - origins[i]) / units[i]
        for k in range(m):
            for s in range(size):
                value[s] = 1.0
            for i in range(d):
                for _ in range(exponents[k, i]):
                    for s in range(size):
                        value[s] *= y[i, s]
            for j in range(q):
                # A monomial that overflows must not spoil a polynomial that does not contain it.
                if coefficients[j, k] != 0.0:
                    for s in range(size):
                        result[j, first + s] += coefficients[j, k] * value[s]
    return result


@dataclass(frozen=True, slots=True)
class Coordinates:
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

    coordinates: Coordinates
    powers: Mapping[Exponents, float]
    trees: tuple[tuple[float, Tree], ...] = ()

    def __call__(self, x: Floats) -> Floats:
        """Evaluate at states (n, d); (n,)."""
        return Fields((self,))(x)[:, 0]

    def in_order(self, variables: Sequence[int]) -> "Field":
        """Return the function of the variables in another order."""
        c = self.coordinates
        coordinates = Coordinates(
            tuple(c.variables[i] for i in variables),
            tuple(c.origins[i] for i in variables),
            tuple(c.units[i] for i in variables),
            tuple(c.phases[i] for i in variables),
        )
        powers = {tuple(e[i] for i in variables): value for e, value in self.powers.items()}
        return Field(coordinates, powers, self.trees)

    def at_inputs(self, values: Sequence[float]) -> "Field":
        """Return the function of the first variables, with the last ones at these values."""
        c, d = self.coordinates, len(self.coordinates.variables) - len(values)
        coordinates = Coordinates(c.variables[:d], c.origins[:d], c.units[:d], c.phases[:d])
        y = [(v - o) / u for v, o, u in zip(values, c.origins[d:], c.units[d:], strict=True)]
        powers: dict[Exponents, float] = {}
        for e, coefficient in self.powers.items():
            value = coefficient * float(np.prod([z**k for z, k in zip(y, e[d:], strict=True)]))
            powers[e[:d]] = powers.get(e[:d], 0.0) + value
        known = dict(zip(c.variables[d:], map(float, values), strict=True))
        trees = tuple((weight, _with_values(tree, known)) for weight, tree in self.trees)
        return Field(coordinates, powers, trees)

    def derivative(self, variable: int) -> "Field":
        """Differentiate with respect to a variable."""
        coordinates = self.coordinates
        powers: dict[Exponents, float] = {}
        for e, coefficient in self.powers.items():
            if e[variable]:
                lower = (*e[:variable], e[variable] - 1, *e[variable + 1 :])
                powers[lower] = coefficient * e[variable] / coordinates.units[variable]
        phase, name = coordinates.phases[variable], coordinates.variables[variable]
        return Field(
            coordinates,
            powers,
            tuple((weight * phase, derivative(tree, name)) for weight, tree in self.trees),
        )


def _with_values(tree: Tree, known: Mapping[str, float]) -> Tree:
    """Put numbers in the place of variables."""
    match tree:
        case Variable(name) if name in known:
            return Number(known[name])
        case Call(function, argument):
            return Call(function, _with_values(argument, known))
        case Binary(operator, left, right):
            return Binary(operator, _with_values(left, known), _with_values(right, known))
    return tree


@dataclass(frozen=True, eq=False)
class Fields:
    """Fields of one set of coordinates, evaluated together: (n, d) → (n, number of fields)."""

    fields: tuple[Field, ...]

    def __call__(self, x: Floats) -> Floats:
        """Evaluate at states (n, d); (n, number of fields)."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        coordinates = self.fields[0].coordinates
        total = np.asarray(polynomials(x, *self._sums))
        for values, field in zip(total, self.fields, strict=True):
            if field.trees:
                arguments = {
                    name: x[:, i] * coordinates.phases[i]
                    for i, name in enumerate(coordinates.variables)
                }
                for weight, tree in field.trees:
                    values += weight * evaluate(tree, arguments)
        return total.T

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Origins, units, exponents and coefficients, as `polynomials` takes them."""
        coordinates = self.fields[0].coordinates
        exponents = sorted({e for field in self.fields for e in field.powers})
        return (
            np.array(coordinates.origins, dtype=float),
            np.array(coordinates.units, dtype=float),
            np.array(exponents, dtype=np.int64).reshape(len(exponents), len(coordinates.origins)),
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

    def in_order(self, variables: Sequence[int]) -> "SymbolicSystem":
        """Return the process with its coordinates in another order."""
        return SymbolicSystem(
            tuple(self.b[i].in_order(variables) for i in variables),
            tuple(tuple(self.a[i][j].in_order(variables) for j in variables) for i in variables),
            tuple(self.domain[i] for i in variables),
            tuple(self.periods[i] for i in variables),
        )

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


def coordinates_of(library: Library) -> Coordinates:
    """Return the coordinates of a library."""
    phases = tuple(1.0 if p is None else 2 * np.pi / p for p in library.periods)
    return Coordinates(library.variables, library.origins, library.units, phases)


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
    powers = library.powers_of_internal @ coefficients[:n] * factor
    trees = tuple(
        (float(w) * factor, library.trees[k])
        for w, k in zip(coefficients[n:], library.other, strict=True)
        if w
    )
    return Field(
        coordinates_of(library),
        {e: float(c) for e, c in zip(exponents, powers, strict=True) if c},
        trees,
    )


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
    return Field(Coordinates(variables, (0.0,) * d, (1.0,) * d, phases), powers, tuple(trees))
