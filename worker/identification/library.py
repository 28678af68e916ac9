"""The library f_1 … f_K of candidate terms, and the well-conditioned internal basis in which all sums are taken.

Monomials of x far from the origin are one function to twelve digits. The sums are therefore taken over Chebyshev polynomials of
the internal coordinate y, and every question about raw terms is answered through the exact (rational) change of basis
f_k = Σ_j R_kj g_j, equation (M12).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from worker.identification.errors import InvalidLibrary
from worker.identification.terms import Tree, evaluate, monomial_exponents, monomial_name, parse
from worker.identification.trajectories import Scales

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Library:
    """Candidate terms in one variable.

    names     K texts, as reported
    trees     their parse trees in the raw variable
    degrees   exponent of each term that is a monomial, else None
    period    of the coordinate, or None [state]; then sin and cos terms are of the phase 2πx/period
    """

    names: tuple[str, ...]
    trees: tuple[Tree, ...]
    degrees: tuple[int | None, ...]
    origin: float
    unit: float
    period: float | None

    @property
    def size(self) -> int:
        return len(self.names)

    @cached_property
    def internal_degree(self) -> int:
        return max((d for d in self.degrees if d is not None), default=0)

    @cached_property
    def other(self) -> tuple[int, ...]:
        """Positions of the terms that are not monomials; each is an internal function of its own."""
        return tuple(k for k, d in enumerate(self.degrees) if d is None)

    @property
    def internal_size(self) -> int:
        return self.internal_degree + 1 + len(self.other)

    def raw_argument(self, y: Floats) -> Floats:
        """What the terms' text calls x, for internal coordinates y: the state, or the phase of a periodic one."""
        return np.pi * y if self.period is not None else self.origin + self.unit * y

    def internal(self, y: Floats) -> Floats:
        """Internal functions g_j at internal coordinates; (n,) → (n, J): T_0 … T_p, then the terms that are not monomials."""
        out = np.empty((y.size, self.internal_size))
        out[:, 0] = 1.0
        if self.internal_degree:
            out[:, 1] = y
        for k in range(2, self.internal_degree + 1):
            np.multiply(2 * y, out[:, k - 1], out=out[:, k])
            out[:, k] -= out[:, k - 2]
        if self.other:
            argument = self.raw_argument(y)
            for j, k in enumerate(self.other):
                out[:, self.internal_degree + 1 + j] = evaluate(self.trees[k], {"x": argument})
        return out

    @cached_property
    def change_of_basis(self) -> tuple[tuple[Fraction, ...], ...]:
        """R, exactly: f_k = Σ_j R_kj g_j; (K, J)."""
        power = _chebyshev_of_powers(self.internal_degree)
        origin, unit = Fraction(self.origin), Fraction(self.unit)
        rows = []
        for k, degree in enumerate(self.degrees):
            row = [Fraction(0)] * self.internal_size
            if degree is None:
                row[self.internal_degree + 1 + self.other.index(k)] = Fraction(1)
            else:
                for i in range(degree + 1):
                    factor = comb(degree, i) * origin ** (degree - i) * unit**i
                    for j, c in enumerate(power[i]):
                        row[j] += factor * c
            rows.append(tuple(row))
        return tuple(rows)


def _chebyshev_of_powers(degree: int) -> list[list[Fraction]]:
    """Coefficients of y^i in T_0 … T_degree, exactly."""
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
    scales: Scales,
    *,
    polynomial_degree: int = 4,
    fourier_harmonics: int = 0,
    extra_terms: tuple[str, ...] = (),
    period: float | None = None,
) -> Library:
    """The library of one variable x.

    A periodic coordinate has no polynomials but the constant: they are not functions on a circle. Its harmonics default to 2.
    Raises UnknownTerm, InvalidLibrary.
    """
    if period is not None:
        polynomial_degree, fourier_harmonics = 0, fourier_harmonics or 2
    elif fourier_harmonics:
        raise InvalidLibrary(
            "Fourier harmonics need a periodic coordinate. Declare its period (parameters.periodic), "
            "or name the terms you want in library.extra_terms, e.g. sin(2*x)."
        )
    names = [monomial_name((k,), ("x",)) for k in range(polynomial_degree + 1)]
    for n in range(1, fourier_harmonics + 1):
        argument = "x" if n == 1 else f"{n}*x"
        names += [f"sin({argument})", f"cos({argument})"]
    trees = [parse(name, ("x",)) for name in names]
    for text in extra_terms:
        tree = parse(text, ("x",))
        exponents = monomial_exponents(tree, ("x",))
        name = text.strip().replace("**", "^").replace(" ", "") if exponents is None else monomial_name(exponents, ("x",))
        if exponents is not None and period is not None and exponents[0] > 0:
            raise InvalidLibrary(f"The term {name} is not a function on a circle; x is periodic. Use sin and cos terms.")
        if exponents is not None and exponents[0] > 12:
            raise InvalidLibrary(f"The term {name} has a degree above 12. Use a lower power.")
        if name not in names:
            names.append(name)
            trees.append(tree)
    degrees = tuple(None if (e := monomial_exponents(tree, ("x",))) is None else e[0] for tree in trees)
    return Library(tuple(names), tuple(trees), degrees, scales.origin, scales.unit, period)
