"""Supports of raw terms as subspaces of the internal basis, through exact arithmetic.

{1, x, x³} far from the origin spans almost what {1, x, x²} spans. In rational arithmetic the difference is never lost, and the
rows of a reduced basis are far from parallel whatever the origin.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worker.identification.library import Library

Floats = NDArray[np.float64]
Row = list[Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class SupportBasis:
    """Basis E of the span of a support's terms: E = M R_S.

    rows        (k, n_functions)   E, as floats of order one
    transform   k rows of k        M, exact; or (k,), its diagonal, where E is R_S with its rows scaled
    """

    rows: Floats
    transform: tuple[tuple[Fraction, ...], ...] | Floats

    def raw_coefficients(self, values: Floats) -> Floats:
        """Coefficients of the raw terms for coefficients along the rows: c = Mᵀ α."""
        if not isinstance(self.transform, tuple):
            return self.transform * values
        exact = [Fraction(float(v)) for v in values]
        k = len(exact)
        return np.array([float(sum((self.transform[i][j] * exact[i] for i in range(k)), Fraction(0))) for j in range(k)])

    def raw_covariance(self, covariance: Floats) -> Floats:
        """Mᵀ Σ M."""
        if not isinstance(self.transform, tuple):
            return covariance * np.outer(self.transform, self.transform)
        m = np.array([[float(v) for v in row] for row in self.transform]).reshape(len(covariance), -1)
        return np.asarray(m.T @ covariance @ m)


def support_basis(library: Library, support: tuple[int, ...]) -> SupportBasis:
    """A basis of a support's span whose rows are far from parallel.

    Near the origin these are the terms themselves; else the reduced basis.
    """
    if library.near_origin:
        rows = library.scaled_terms[list(support)].reshape(len(support), library.internal_size)
        return SupportBasis(rows, 1 / library.term_scales[list(support)])
    return _reduced_basis(library, support)


@lru_cache(maxsize=4096)
def _reduced_basis(library: Library, support: tuple[int, ...]) -> SupportBasis:
    """By Gauss–Jordan elimination with complete pivoting."""
    k = len(support)
    rows: list[Row] = []
    for i, term in enumerate(support):
        unit = [Fraction(int(i == j)) for j in range(k)]
        rows.append(_scaled(list(library.change_of_basis[term]) + unit, library.internal_size))
    done: list[Row] = []
    while rows:
        _, pick, column = max((abs(v), r, c) for r, row in enumerate(rows) for c, v in enumerate(row[: library.internal_size]))
        pivot = rows.pop(pick)
        pivot = [v / pivot[column] for v in pivot]
        rows = [_scaled(_eliminated(row, pivot, column), library.internal_size) for row in rows]
        done = [_eliminated(row, pivot, column) for row in done] + [pivot]
    j = library.internal_size
    return SupportBasis(
        rows=np.array([[float(v) for v in row[:j]] for row in done]).reshape(k, j),
        transform=tuple(tuple(row[j:]) for row in done),
    )


def _eliminated(row: Row, pivot: Row, column: int) -> Row:
    factor = row[column]
    return [v - factor * p for v, p in zip(row, pivot, strict=True)] if factor else row


def _scaled(row: Row, width: int) -> Row:
    """The row divided by a power of two near its largest entry: rows of x = 1e-9 or 1e6 then compare fairly."""
    largest = max(abs(v) for v in row[:width])
    if not largest:
        return row
    shift = largest.numerator.bit_length() - largest.denominator.bit_length()
    factor = Fraction(1, 2**shift) if shift >= 0 else Fraction(2**-shift)
    return [v * factor for v in row]
