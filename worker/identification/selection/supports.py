"""Supports of raw terms as subspaces of the internal basis, with as many digits as that takes.

{1, x, x³} far from the origin spans almost what {1, x, x²} spans. With more digits than the change
of basis can lose the difference is never lost, and the rows of a reduced basis are far from
parallel whatever the origin; equation (M12).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.selection.gauss_jordan import (
    BITS,
    Digits,
    Reduction,
    to_digits,
    to_integers,
    unreduced,
)

Floats = NDArray[np.float64]
Support = tuple[int, ...]

EXHAUSTIVE_UP_TO = 11
"""Size of a library up to which all supports are tried and their bases kept.

Above it supports are found by forward and backward steps.
"""

SPARE_BITS = 53 + 64
"""Bits besides what the change of basis can lose: those of a float, and some for rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactMatrix:
    """Matrix (k, k) of many digits: integers times 2 to the power of each column."""

    integers: NDArray[np.object_]
    powers: tuple[int, ...]

    def floats(self) -> Floats:
        """Round to floats."""
        columns = [
            [_scaled_by(v, power) for v in column]
            for column, power in zip(self.integers.T, self.powers, strict=True)
        ]
        return np.array(columns).reshape(self.integers.shape[::-1]).T


@dataclass(frozen=True, slots=True, eq=False)
class SupportBasis:
    """Basis E of the span of a support's terms: E = M R_S.

    rows        (k, n_functions)   E, as floats of order one
    transform   M, with many digits; or (k,), its diagonal, where E is R_S with its rows scaled
    """

    rows: Floats
    transform: ExactMatrix | Floats

    def raw_coefficients(self, values: Floats) -> Floats:
        """Compute the coefficients of the raw terms from those along the rows: c = Mᵀ α."""
        if not isinstance(self.transform, ExactMatrix):
            return self.transform * values
        # Sums cancel by design, so none of their terms is rounded.
        ratios = [float(v).as_integer_ratio() for v in values]
        common = max((below for _, below in ratios), default=1)
        exact = np.array([above * (common // below) for above, below in ratios], dtype=object)
        sums = (self.transform.integers * exact[:, None]).sum(axis=0) if len(exact) else []
        lower = common.bit_length() - 1
        return np.array(
            [
                _scaled_by(v, power - lower)
                for v, power in zip(sums, self.transform.powers, strict=True)
            ]
        )

    def raw_covariance(self, covariance: Floats) -> Floats:
        """Compute Mᵀ Σ M."""
        if not isinstance(self.transform, ExactMatrix):
            return covariance * np.outer(self.transform, self.transform)
        m = self.transform.floats()
        return np.asarray(m.T @ covariance @ m)


def _scaled_by(integer: int, power: int) -> float:
    return float(integer << power) if power >= 0 else integer / (1 << -power)


def support_basis(library: Library, support: Support) -> SupportBasis:
    """Return a basis of a support's span whose rows are far from parallel.

    Near the origin these are the terms themselves; else the reduced basis.
    """
    if library.near_origin:
        rows = library.scaled_terms[list(support)].reshape(len(support), library.internal_size)
        return SupportBasis(rows, 1 / library.term_scales[list(support)])
    # All bases of a large library would take gigabytes.
    return (
        _kept(library, support)
        if library.size <= EXHAUSTIVE_UP_TO
        else _reduced_basis(library, support)
    )


@dataclass(frozen=True, slots=True, eq=False)
class GrowingSupport:
    """Support, and what each further term would add to its span.

    rows     (k, n_functions)       a basis of the span
    others   (K − k, n_functions)   of each other term, in order, what is not in the span (or the
                                    term itself), of order one
    """

    library: Library
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    rows: Floats
    others: Floats
    reduced: Reduction | None

    def with_term(self, term: int) -> "GrowingSupport":
        """Add one more term."""
        reduced = None if self.reduced is None else self.reduced.with_row(term)
        return _growing(self.library, tuple(sorted((*self.inside, term))), reduced)


def growing(library: Library, inside: Support = ()) -> GrowingSupport:
    """Start from these terms, in order; by default from no term at all."""
    if library.near_origin:
        return _growing(library, inside, None)
    return _growing(library, inside, _terms(library).with_rows(inside))


def without_each_term(library: Library, support: Support) -> Iterator[GrowingSupport]:
    """Yield a support without each of its terms, in order."""
    if library.near_origin:
        for out in support:
            yield _growing(library, tuple(k for k in support if k != out), None)
        return

    def halved(reduced: Reduction, left: Support) -> Iterator[GrowingSupport]:
        # The rows of one half serve for every term of the other: k log k steps instead of k².
        if len(left) == 1:
            yield _growing(library, tuple(k for k in support if k != left[0]), reduced)
            return
        first, second = left[: len(left) // 2], left[len(left) // 2 :]
        yield from halved(reduced.with_rows(second), first)
        yield from halved(reduced.with_rows(first), second)

    if support:
        yield from halved(_terms(library), support)


def _growing(library: Library, inside: Support, reduced: Reduction | None) -> GrowingSupport:
    outside = tuple(k for k in range(library.size) if k not in inside)
    if reduced is None:
        return GrowingSupport(
            library,
            inside,
            outside,
            library.scaled_terms[list(inside)],
            library.scaled_terms[list(outside)],
            None,
        )
    others = np.zeros((len(outside), library.internal_size))
    others[:, reduced.columns] = reduced.left(np.array(outside, dtype=int))
    return GrowingSupport(library, inside, outside, _with_identity(reduced), others, reduced)


@dataclass(frozen=True, slots=True, eq=False)
class ShrinkingSupport:
    """Support, and the functionals that read its terms' coefficients off those along a basis.

    rows          (k, n_functions)   a basis of the span
    functionals   (k, k)             one row a term, of any scale
    """

    library: Library
    inside: Support
    rows: Floats
    functionals: Floats
    reduced: Reduction | None

    def without_term(self, term: int) -> "ShrinkingSupport":
        """Remove a term: keep the functions of the span whose coefficient of the term is zero."""
        inside = tuple(k for k in self.inside if k != term)
        reduced = None if self.reduced is None else self.reduced.with_row(self.library.places[term])
        return _shrinking(self.library, inside, reduced)


def shrinking(library: Library) -> ShrinkingSupport:
    """Start from all terms."""
    everything = tuple(range(library.size))
    return _shrinking(
        library, everything, None if library.near_origin else _functionals_of_terms(library)
    )


def _shrinking(library: Library, inside: Support, reduced: Reduction | None) -> ShrinkingSupport:
    if reduced is None:
        return ShrinkingSupport(
            library, inside, library.scaled_terms[list(inside)], np.eye(len(inside)), None
        )
    # Coefficients along functions of no pivot are free; constraints say what the others are then.
    rows = np.zeros((len(reduced.columns), library.internal_size))
    rows[:, reduced.columns] = np.eye(len(reduced.columns))
    rows[:, reduced.pivots[reduced.inside]] = -reduced.basis().T
    places = np.array([library.places[k] for k in inside], dtype=int)
    return ShrinkingSupport(library, inside, rows, reduced.left(places), reduced)


def _with_identity(reduced: Reduction) -> Floats:
    """Return the basis in all columns that may be pivots."""
    inside = reduced.inside
    rows = np.zeros((len(inside), reduced.width))
    rows[:, reduced.columns[reduced.free]] = reduced.basis()
    rows[np.arange(len(inside)), reduced.pivots[inside]] = 1.0
    return rows


@lru_cache(maxsize=4096)
def _kept(library: Library, support: Support) -> SupportBasis:
    return _reduced_basis(library, support)


def _reduced_basis(library: Library, support: Support) -> SupportBasis:
    """Compute the reduced basis by elimination of the fewer rows.

    They are the terms [R_S | I], or the functionals of the terms that are not there.
    """
    if 2 * len(support) <= library.internal_size:
        return _from_terms(library, support)
    reduced = _functionals_of_terms(library).with_rows(
        library.places[k] for k in range(library.size) if k not in support
    )
    shrunk = _shrinking(library, support, reduced)
    places = np.array([library.places[k] for k in support], dtype=int)
    integers = to_integers(reduced.digits[places][:, :, reduced.free]).T
    powers = _powers_below(library)[1]
    point = BITS * (reduced.digits.shape[1] - 1)
    return SupportBasis(
        shrunk.rows, ExactMatrix(integers, tuple(powers[place] - point for place in places))
    )


def _from_terms(library: Library, support: Support) -> SupportBasis:
    """Compute the reduced basis from [R_S | I], by elimination in the first columns."""
    lost, k, terms = library.lost_bits, len(support), _precise_terms(library)
    length = terms.shape[1]
    point = BITS * (length - 1)
    # M may be as large as what is lost: the identity is smaller by as much.
    identity = np.zeros((k, length, k), np.int64)
    identity[np.arange(k), :, np.arange(k)] = to_digits([Fraction(1, 2**lost)], length)[:, 0]
    width = library.internal_size
    digits = np.concatenate([terms[list(support)], identity], axis=2)
    reduced = Reduction(digits, np.arange(width + k), np.full(k, -1), width).with_rows(range(k))
    integers = to_integers(reduced.digits[:, :, reduced.columns >= width])
    powers = _powers_below(library)[0]
    return SupportBasis(
        _with_identity(reduced),
        ExactMatrix(integers, tuple(lost - point - powers[term] for term in support)),
    )


@lru_cache(maxsize=8)
def _precise_terms(library: Library) -> Digits:
    """Return R, its rows scaled, with twice the digits that can be lost."""
    rows = [_scaled(row) for row in library.change_of_basis]
    return unreduced(
        rows, SPARE_BITS + 2 * library.lost_bits, len(rows), library.internal_size
    ).digits


@lru_cache(maxsize=8)
def _powers_below(library: Library) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the powers of two by which the rows of R were scaled, and the functionals."""
    of_terms = tuple(_power_below(row) for row in library.change_of_basis)
    return of_terms, tuple(_power_below(row) for row in library.coefficient_functionals)


@lru_cache(maxsize=8)
def _terms(library: Library) -> Reduction:
    """Return R, its rows scaled, and none of them in."""
    rows = [_scaled(row) for row in library.change_of_basis]
    return unreduced(rows, SPARE_BITS + library.lost_bits, len(rows), library.internal_size)


@lru_cache(maxsize=8)
def _functionals_of_terms(library: Library) -> Reduction:
    """Return the rows of (R⁻¹)ᵀ, scaled, by `library.places`.

    Rows of no term of the library are in: their coefficients are zero.
    """
    n = library.internal_size
    rows = [_scaled(row) for row in library.coefficient_functionals]
    reduced = unreduced(rows, SPARE_BITS + library.lost_bits, n, n)
    return reduced.with_rows(sorted(set(range(n)) - set(library.places)))


def _scaled(row: Sequence[Fraction]) -> list[Fraction]:
    """Divide the row by a power of two near its largest entry.

    Rows of x = 1e-9 or 1e6 then compare fairly.
    """
    power = _power_below(row)
    scale = Fraction(2**power) if power >= 0 else Fraction(1, 2**-power)
    return [v / scale for v in row]


def _power_below(row: Sequence[Fraction]) -> int:
    largest = max(map(abs, row))
    return largest.numerator.bit_length() - largest.denominator.bit_length()
