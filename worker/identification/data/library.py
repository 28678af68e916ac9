"""Library f_1 … f_K of candidate terms, and the well-conditioned internal basis of all sums.

Monomials of x far from the origin agree to twelve digits. The sums are therefore taken over
products of Chebyshev polynomials of the internal coordinates y, and every question about raw terms
is answered through the exact (rational) change of basis f_k = Σ_j R_kj g_j, equation (M12).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, prod

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from grammar.terms import Tree, variable_name, variables_of
from worker.identification.data.forcing import CLOCK, NO_FORCING, Forcing, driving_terms
from worker.identification.data.terms import (
    Exponents,
    candidate_terms,
    evaluate,
    monomial_exponents,
    monomial_name,
    parse,
)
from worker.identification.data.trajectories import Scales
from worker.identification.errors import InvalidLibrary, TooFewSamples, UnknownTerm

Floats = NDArray[np.float64]

HIGHEST_DEGREE = 12

NEAR_ORIGIN = 1e3
"""Growth (1 + |origin|/unit)^degree of the raw monomials up to which floats resolve their spans."""


@dataclass(frozen=True)
class Library:
    """Candidate terms in d variables.

    names       K texts, as reported
    trees       K parse trees in the raw variables
    exponents   exponents of the variables in each term that is a monomial, else None
    origins     (d,) origins of the internal coordinates y_i = (x_i − origin_i) / unit_i [state]
    units       (d,) units of the internal coordinates [state]
    periods     period of each variable, or None [state]; sin and cos terms are of the phase
                2πx/period
    variables   names of the variables, of inputs, and of the forcing's functions
    forcing     functions of the time, as which `sin(2*pi*t/5)` is read in a term
    """

    names: tuple[str, ...]
    trees: tuple[Tree, ...]
    exponents: tuple[Exponents | None, ...]
    origins: tuple[float, ...]
    units: tuple[float, ...]
    periods: tuple[float | None, ...]
    variables: tuple[str, ...]
    forcing: Forcing = NO_FORCING

    @property
    def size(self) -> int:
        """Number of terms, K."""
        return len(self.names)

    @property
    def dimension(self) -> int:
        """Number of variables, d."""
        return len(self.origins)

    @property
    def origin(self) -> float:
        """Origin of the only or first variable."""
        return self.origins[0]

    @property
    def unit(self) -> float:
        """Unit of the only or first variable."""
        return self.units[0]

    @property
    def period(self) -> float | None:
        """Period of the only or first variable."""
        return self.periods[0]

    def find(self, text: str) -> int | None:
        """Return the position of the term with this text, however it is written; None without."""
        tree = _parsed(text, self.variables, self.forcing)
        exponents = monomial_exponents(tree, self.variables)
        if exponents is not None:
            return self.exponents.index(exponents) if exponents in self.exponents else None
        return self.trees.index(tree) if tree in self.trees else None

    def position(self, text: str) -> int:
        """Return the position of a term that the library has. Raises InvalidLibrary."""
        found = self.find(text)
        if found is None:
            raise InvalidLibrary(f"The term {text} is not in the library.")
        return found

    @cached_property
    def degrees(self) -> tuple[int | None, ...]:
        """Total degree of each term that is a monomial, else None."""
        return tuple(None if e is None else sum(e) for e in self.exponents)

    @cached_property
    def internal_exponents(self) -> tuple[Exponents, ...]:
        """Degrees e of the internal functions T_e = Π T_{e_i}(y_i), lowest total first.

        They are all exponents that lie below those of some monomial.
        """
        below = {(0,) * self.dimension}
        for e in self.exponents:
            if e is not None:
                below.update(product(*(range(k + 1) for k in e)))
        return tuple(sorted(below, key=lambda e: (sum(e), tuple(-k for k in e))))

    @cached_property
    def internal_degree(self) -> int:
        """Highest total degree of the internal functions."""
        return max(sum(e) for e in self.internal_exponents)

    @cached_property
    def other(self) -> tuple[int, ...]:
        """Positions of the terms that are not monomials, each an internal function of its own."""
        return tuple(k for k, e in enumerate(self.exponents) if e is None)

    @property
    def internal_size(self) -> int:
        """Number of internal functions, J."""
        return len(self.internal_exponents) + len(self.other)

    @cached_property
    def near_origin(self) -> bool:
        """Whether floats suffice for the change of basis."""
        farthest = max(
            abs(origin) / unit for origin, unit in zip(self.origins, self.units, strict=True)
        )
        return bool((1 + farthest) ** self.internal_degree <= NEAR_ORIGIN)

    def raw_arguments(self, y: Floats) -> dict[str, Floats]:
        """Compute what the texts of the terms call x, y, … at internal coordinates (n, d)."""
        return {
            name: np.pi * y[:, i]
            if self.periods[i] is not None
            else self.origins[i] + self.units[i] * y[:, i]
            for i, name in enumerate(self.variables)
        }

    def internal(self, y: Floats) -> Floats:
        """Evaluate the internal functions g_j at internal coordinates, (n,) or (n, d) → (n, J).

        Chebyshev products come first, then the other terms.
        """
        columns = y[:, None] if y.ndim == 1 else y
        # With many functions whole columns are written and read at a time.
        out = np.empty(
            (len(columns), self.internal_size), order="C" if self.dimension == 1 else "F"
        )
        out[:, 0] = 1.0
        for j, (variable, lower, lowest) in enumerate(self._recurrence, start=1):
            if variable is None:
                np.multiply(out[:, lower], out[:, lowest], out=out[:, j])
            elif lowest < 0:
                out[:, j] = columns[:, variable]
            else:
                np.multiply(2 * columns[:, variable], out[:, lower], out=out[:, j])
                out[:, j] -= out[:, lowest]
        if self.other:
            arguments = self.raw_arguments(columns)
            for j, k in enumerate(self.other, start=len(self.internal_exponents)):
                out[:, j] = evaluate(self.trees[k], arguments)
        return out

    @cached_property
    def _place(self) -> dict[Exponents, int]:
        """Position of each Chebyshev product among the internal functions."""
        return {e: j for j, e in enumerate(self.internal_exponents)}

    @cached_property
    def _recurrence(self) -> tuple[tuple[int | None, int, int], ...]:
        """Recurrence of each Chebyshev product, from earlier ones.

        Entries are (variable, T_{k−1}, T_{k−2}), or (None, factor, factor).
        """
        place = self._place
        steps: list[tuple[int | None, int, int]] = []
        for e in self.internal_exponents[1:]:
            last = max(i for i, k in enumerate(e) if k)
            if sum(e) == e[last]:
                lower, lowest = (
                    place.get((*e[:last], e[last] - k, *e[last + 1 :]), -1) for k in (1, 2)
                )
                steps.append((last, lower, lowest))
            else:
                alone = tuple(k if i == last else 0 for i, k in enumerate(e))
                steps.append((None, place[(*e[:last], 0, *e[last + 1 :])], place[alone]))
        return tuple(steps)

    @cached_property
    def powers_of_internal(self) -> Floats:
        """Chebyshev products in the monomials of y; (n, n) for n internal exponents.

        Kept here and not by an `lru_cache`: the hash of a library of 84 terms took 0.4 ms, for
        each of the 27 functions of a model.
        """
        out = np.zeros((len(self.internal_exponents),) * 2)
        for column, degrees in enumerate(self.internal_exponents):
            factors = [chebyshev.cheb2poly([0.0] * k + [1.0]) for k in degrees]
            for e in product(*(range(k + 1) for k in degrees)):
                out[self._place[e], column] = prod(
                    float(factor[k]) for factor, k in zip(factors, e, strict=True)
                )
        return out

    @cached_property
    def change_of_basis(self) -> tuple[tuple[Fraction, ...], ...]:
        """Exact matrix R of f_k = Σ_j R_kj g_j; (K, J)."""
        shifted = [self._shifted_powers(i) for i in range(self.dimension)]
        rows = []
        for k, exponents in enumerate(self.exponents):
            row = [Fraction(0)] * self.internal_size
            if exponents is None:
                row[self.places[k]] = Fraction(1)
            else:
                for e in product(*(range(m + 1) for m in exponents)):
                    factor = Fraction(1)
                    for i, m in enumerate(exponents):
                        factor *= shifted[i][m][e[i]]
                    row[self._place[e]] = factor
            rows.append(tuple(row))
        return tuple(rows)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Position of each term among the internal functions: that of its exponents, or its own."""
        n = len(self.internal_exponents)
        return tuple(
            n + self.other.index(k) if e is None else self._place[e]
            for k, e in enumerate(self.exponents)
        )

    @cached_property
    def coefficient_functionals(self) -> tuple[tuple[Fraction, ...], ...]:
        """Exact coefficients of the raw terms in every internal function; (J, J).

        The rows are those of (R⁻¹)ᵀ, where R has all monomials that lie below some term: the
        monomial of each place, then the other terms.
        """
        shifted = [self._unshifted_powers(i) for i in range(self.dimension)]
        n, rows = len(self.internal_exponents), []
        for raw in self.internal_exponents:
            row = [Fraction(0)] * self.internal_size
            for j, e in enumerate(self.internal_exponents):
                if all(m >= k for m, k in zip(e, raw, strict=True)):
                    row[j] = prod(
                        (shifted[i][m][k] for i, (m, k) in enumerate(zip(e, raw, strict=True))),
                        start=Fraction(1),
                    )
            rows.append(tuple(row))
        rows.extend(
            tuple(Fraction(int(j == n + i)) for j in range(self.internal_size))
            for i in range(len(self.other))
        )
        return tuple(rows)

    @cached_property
    def lost_bits(self) -> int:
        """Bits that the change of basis can lose: log2 of a bound of R's condition, rows scaled."""
        largest = [
            [max(map(abs, row)) for row in self._shifted_powers(i)] for i in range(self.dimension)
        ]
        lost = 1
        for e, functional in zip(
            self.internal_exponents, self.coefficient_functionals, strict=False
        ):
            bound = max(map(abs, functional)) * prod(
                (largest[i][m] for i, m in enumerate(e)), start=Fraction(1)
            )
            lost = max(lost, bound.numerator.bit_length() - bound.denominator.bit_length() + 1)
        return lost + 2 * self.internal_size.bit_length()

    @cached_property
    def term_rows(self) -> Floats:
        """Rows R of the terms along the internal functions, as floats; (K, J)."""
        return np.array([[float(v) for v in row] for row in self.change_of_basis])

    @cached_property
    def term_scales(self) -> Floats:
        """Norm of each term's row of R; (K,)."""
        return np.asarray(np.linalg.norm(self.term_rows, axis=1))

    @cached_property
    def scaled_terms(self) -> Floats:
        """Terms along the internal functions, as floats scaled to unit norm; (K, J)."""
        return np.asarray(self.term_rows / self.term_scales[:, None])

    def _shifted_powers(self, variable: int) -> list[list[Fraction]]:
        """Expand x_i^m = (origin + unit·y_i)^m in T_0 … T_m, exactly; one list a power m."""
        highest = max((e[variable] for e in self.internal_exponents), default=0)
        power = _chebyshev_of_powers(highest)
        origin, unit = Fraction(self.origins[variable]), Fraction(self.units[variable])
        out = []
        for m in range(highest + 1):
            row = [Fraction(0)] * (highest + 1)
            for i in range(m + 1):
                factor = comb(m, i) * origin ** (m - i) * unit**i
                for j, c in enumerate(power[i]):
                    row[j] += factor * c
            out.append(row)
        return out

    def _unshifted_powers(self, variable: int) -> list[list[Fraction]]:
        """Expand T_m(y_i) in 1, x_i, x_i^2, …, exactly; one list a degree m."""
        highest = max((e[variable] for e in self.internal_exponents), default=0)
        origin, unit = Fraction(self.origins[variable]), Fraction(self.units[variable])
        rows = [[Fraction(1)] + [Fraction(0)] * highest]
        for m in range(1, highest + 1):
            # T_1 = y, and T_m = 2y T_{m−1} − T_{m−2}, with y = (x − origin) / unit.
            last, factor = rows[-1], 1 if m == 1 else 2
            before = rows[-2] if m > 1 else [Fraction(0)] * (highest + 1)
            rows.append(
                [
                    factor * ((last[i - 1] if i else 0) - origin * v) / unit - w
                    for i, (v, w) in enumerate(zip(last, before, strict=True))
                ]
            )
        return rows


def _chebyshev_of_powers(degree: int) -> list[list[Fraction]]:
    """Expand y^i in T_0 … T_degree, exactly."""
    powers = [[Fraction(1)] + [Fraction(0)] * degree]
    for _ in range(degree):
        last, new = powers[-1], [Fraction(0)] * (degree + 1)
        # y·T_0 = T_1 and y·T_j = (T_{j−1} + T_{j+1}) / 2
        for j, c in enumerate(last):
            if not c:
                continue
            if j == 0:
                new[1] += c
            else:
                new[j - 1] += c / 2
                new[j + 1] += c / 2
        powers.append(new)
    return powers


def make_library(
    scales: Sequence[Scales],
    *,
    polynomial_degree: int = 4,
    fourier_harmonics: int = 0,
    extra_terms: tuple[str, ...] = (),
    periods: Sequence[float | None] | None = None,
    variables: tuple[str, ...] | None = None,
    inputs: tuple[str, ...] = (),
    forcing: Forcing = NO_FORCING,
    input_degree: int = 1,
) -> Library:
    """Make the library of as many variables as there are scales.

    A periodic variable has no polynomials, which are not functions on a circle. The scales of the
    variables are followed by those of inputs and of the forcing's functions.

    Parameters
    ----------
    scales : scales of each variable
    polynomial_degree : highest total degree of the monomials
    fourier_harmonics : highest harmonic of an angle, 2 by default where there is one
    extra_terms : texts of further terms
    periods : period of each variable, or None [state]
    variables : names of the variables; None: x, y, z, x4, …
    inputs : names of the inputs
    forcing : functions of the time that drive the variables
    input_degree : highest total degree of the terms that hold an input

    Raises
    ------
    UnknownTerm, InvalidLibrary : a term cannot be parsed or used
    """
    periods = periods or (None,) * len(scales)
    if any(p is not None for p in periods):
        fourier_harmonics = fourier_harmonics or 2
    elif fourier_harmonics:
        raise InvalidLibrary(
            "Fourier harmonics need a periodic variable. Declare its period (parameters.periodic), "
            "or name the terms you want in library.extra_terms, e.g. sin(2*x)."
        )
    driving = (*inputs, *forcing.names)
    variables = variables or tuple(variable_name(i) for i in range(len(scales) - len(driving)))
    circular = tuple(p is not None for p in periods)
    names = candidate_terms(variables, circular, polynomial_degree, fourier_harmonics)
    linear = [v for v, circle in zip(variables, circular, strict=True) if not circle]
    names += driving_terms(linear, inputs, forcing, input_degree)
    variables, periods = (*variables, *driving), (*periods, *(None for _ in driving))
    circular = (*circular, *(False for _ in driving))
    trees = [_parsed(name, variables, forcing) for name in names]
    for text in extra_terms:
        tree = _parsed(text, variables, forcing)
        exponents = monomial_exponents(tree, variables)
        name = (
            text.strip().replace("**", "^").replace(" ", "")
            if exponents is None
            else monomial_name(exponents, variables)
        )
        for variable, power, circle in zip(variables, exponents or (), circular, strict=False):
            if power and circle:
                raise InvalidLibrary(
                    f"The term {name} is not a function on a circle; {variable} is periodic. "
                    "Use sin and cos terms."
                )
        if exponents is not None and sum(exponents) > HIGHEST_DEGREE:
            raise InvalidLibrary(
                f"The term {name} has a degree above {HIGHEST_DEGREE}. Use a lower power."
            )
        if name not in names:
            names.append(name)
            trees.append(tree)
    return Library(
        tuple(names),
        tuple(trees),
        tuple(monomial_exponents(tree, variables) for tree in trees),
        tuple(s.origin for s in scales),
        tuple(s.unit for s in scales),
        tuple(periods),
        variables,
        forcing,
    )


def _parsed(text: str, variables: tuple[str, ...], forcing: Forcing) -> Tree:
    """Parse a term whose sines and cosines of the forcing are variables."""
    if not forcing.waves:
        return parse(text, variables)
    words = tuple(v for v in variables if v not in forcing.waves)
    tree = forcing.named(parse(text, (*words, CLOCK)))
    if CLOCK in variables_of(tree) and CLOCK not in variables:
        raise UnknownTerm(
            f"The term {text!r} is a function of the time {CLOCK} that parameters.forcing does not "
            f"name; it names {', '.join(forcing.waves)}.",
        )
    return tree


def check_library_size(library: Library, n_increments: int) -> None:
    """Raise TooFewSamples where there are fewer than ten increments a term, too few to judge."""
    if n_increments < 10 * library.size:
        raise TooFewSamples(
            f"The library has {library.size} terms and the data {n_increments} increments; "
            "at least ten per term are required.",
            hints=("Lower library.polynomial_degree, or record longer.",),
        )
