"""Matrix whose rows are reduced by some of them, one after the other (Gauss–Jordan elimination).

Its numbers have hundreds of binary digits after the point: L digits of base 2²⁸, least significant
first, Σ_l d_l 2^(28(l − L + 1)), of which all but the last are after the point. Digits are between
−2²⁷ and 2²⁷, so a product is a plain sum of products of int64, without carries and without a case
for the sign, which compilers do well: 10 ns for a step of 140 bits, where Python's integers in an
array take 300. Integers are equal on every machine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.compiled import compiled

Floats = NDArray[np.float64]
Positions = NDArray[np.int_]
Digits = NDArray[np.int64]

BITS = 28
"""Bits of a digit: sums of 500 products of two digits stay below 2⁶³."""

_GUARD = 2
"""Digits of a product below the last one kept that are still summed, for their carry."""


def digits_for(bits: int) -> int:
    """Return L for at least so many bits after the point."""
    return 1 + -(-bits // BITS)


def to_digits(values: Iterable[Fraction], length: int) -> Digits:
    """Round numbers below 2²⁶ to digits; (length, n)."""
    point = BITS * (length - 1)
    return (
        np.array([_digits_of(round(value * 2**point), length) for value in values], dtype=np.int64)
        .reshape(-1, length)
        .T.copy()
    )


def _digits_of(number: int, length: int) -> list[int]:
    out, half = [], 1 << (BITS - 1)
    for _ in range(length - 1):
        digit = ((number + half) & ((1 << BITS) - 1)) - half
        out.append(digit)
        number = (number - digit) >> BITS
    return [*out, number]


def to_integer(digits: Digits) -> int:
    """Return the number (L,) times 2^(28(L − 1)), exactly."""
    return sum(int(digit) << (BITS * place) for place, digit in enumerate(digits))


def to_integers(digits: Digits) -> NDArray[np.object_]:
    """Return numbers (n, L, m) times 2^(28(L − 1)), exactly; (n, m)."""
    found: NDArray[np.object_] = np.zeros((digits.shape[0], digits.shape[2]), dtype=object)
    for place in range(digits.shape[1]):
        found = found + (digits[:, place].astype(object) << (BITS * place))
    return found


def eliminated(rows: Digits, pivot: int, column: int) -> Digits:
    """Eliminate a column: the pivot's row becomes that over its entry, others are zero there.

    The column itself, afterwards that of the identity, is left out. The entry is the largest of its
    row.

    Parameters
    ----------
    rows : (n, L, m) numbers
    pivot, column : number of the pivot's row and of the column
    """
    out = rows.copy()
    out[:, :, column] = 0
    return np.delete(_eliminated(out, rows[:, :, column].copy(), pivot), column, axis=2)


def exchanged(rows: Digits, pivot: int, column: int) -> Digits:
    """Eliminate a column for a row that already has another column of the identity.

    That column takes the place of the eliminated one. The entry is above one.

    Parameters
    ----------
    rows : (n, L, m) numbers
    pivot, column : number of the pivot's row and of the column
    """
    out = rows.copy()
    out[:, :, column] = 0
    out[pivot, -1, column] = 1
    return _eliminated(out, rows[:, :, column].copy(), pivot)


def _eliminated(rows: Digits, factors: Digits, pivot: int) -> Digits:
    """Divide the pivot's row by its factor; subtract the other rows' factors (n, L) of it."""
    length = rows.shape[1]
    number, point = to_integer(factors[pivot]), BITS * (length - 1)
    # The row is first brought to order one, so that the reciprocal is of order one, too.
    raised = max(0, point - abs(number).bit_length())
    reciprocal = (1 << (2 * point - raised)) // abs(number) * (1 if number > 0 else -1)
    row = _times(
        _raised(rows[pivot], raised), np.array(_digits_of(reciprocal, length), dtype=np.int64)
    )
    _subtract_multiples(rows, factors, row, pivot)
    rows[pivot] = row
    return rows


@compiled
def _carry(digits: Digits) -> None:
    """Carry into the range between −2²⁷ and 2²⁷, all but the most significant; (n, m), in place."""
    half = np.int64(1 << (BITS - 1))
    for place in range(digits.shape[0] - 1):
        for j in range(digits.shape[1]):
            carried = (digits[place, j] + half) >> BITS
            digits[place, j] -= carried << BITS
            digits[place + 1, j] += carried


@compiled
def _add_product(sums: Digits, row: Digits, factor: Digits) -> None:
    """Add row (L, m) times factor (L,) to sums (2 + L, m).

    The first two places of the sums are below the last that is kept.
    """
    length = row.shape[0]
    first = length - 1 - _GUARD
    for a in range(length):
        if factor[a] != 0:
            for b in range(max(0, first - a), length):
                place = a + b - first
                if place < length + _GUARD:
                    for j in range(row.shape[1]):
                        sums[place, j] += factor[a] * row[b, j]


@compiled
def _times(row: Digits, factor: Digits) -> Digits:
    """Multiply a row (L, m) by a factor (L,)."""
    sums = np.zeros((row.shape[0] + _GUARD, row.shape[1]), np.int64)
    _add_product(sums, row, factor)
    _carry(sums)
    return sums[_GUARD:].copy()


@compiled
def _raised(row: Digits, bits: int) -> Digits:
    """Multiply a row (L, m) by 2^bits, which must not overflow."""
    places, rest = bits // BITS, bits % BITS
    out = np.zeros(row.shape, np.int64)
    for place in range(places, row.shape[0]):
        for j in range(row.shape[1]):
            out[place, j] = row[place - places, j] << rest
    _carry(out)
    return out


@compiled
def _subtract_multiples(rows: Digits, factors: Digits, row: Digits, but: int) -> None:
    """Subtract the row (L, m) times its factor (n, L) from every row but one, in place."""
    length = row.shape[0]
    sums = np.empty((length + _GUARD, row.shape[1]), np.int64)
    for i in range(rows.shape[0]):
        if i != but:
            sums[:] = 0
            _add_product(sums, row, -factors[i])
            for place in range(length):
                for j in range(row.shape[1]):
                    sums[place + _GUARD, j] += rows[i, place, j]
            _carry(sums)
            rows[i] = sums[_GUARD:]


@compiled
def to_floats(rows: Digits) -> Floats:
    """Convert rows (n, L, m) to floats, (n, m)."""
    length = rows.shape[1]
    out = np.zeros((rows.shape[0], rows.shape[2]))
    for i in range(rows.shape[0]):
        _add_digits(rows[i], length - 1, out[i])
    return out


@compiled
def to_floats_of_order_one(rows: Digits) -> Floats:
    """Convert rows (n, L, m), each over a power of two of its own, to floats; (n, m).

    However small a row is, its numbers keep their 53 bits.
    """
    out = np.zeros((rows.shape[0], rows.shape[2]))
    for i in range(rows.shape[0]):
        top = rows.shape[1] - 1
        while top > 0 and not rows[i, top].any():
            top -= 1
        _add_digits(rows[i], top, out[i])
        largest = np.abs(out[i]).max() if rows.shape[2] else 0.0
        if largest > 0:
            out[i] *= 2.0 ** -np.floor(np.log2(largest))
    return out


@compiled
def _add_digits(row: Digits, top: int, out: Floats) -> None:
    """Add Σ_l d_l 2^(28(l − top)) to out (m,), for digits (L, m) up to that of units."""
    scale = 1.0
    # What is 2⁹⁸⁰ times smaller than a row's largest number is nothing.
    for place in range(top, max(-1, top - 36), -1):
        for j in range(row.shape[1]):
            out[j] += row[place, j] * scale
        scale *= 2.0**-BITS


LARGEST = 2.0
"""Entry of a basis above which its column takes the pivot's place.

The rows' volume there more than doubles, so this ends.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """Rows of a matrix, reduced by those of them that are in.

    digits    (n, L, m) fixed point, in the columns of no pivot: of rows that are in, the basis of
              their span that is the identity in the pivots' columns; of the others what that basis
              leaves of them, which is zero there
    columns   (m,) columns of no pivot
    pivots    (n,) each row's column; −1 where it is not in
    width     number of columns that may be pivots, the first ones
    """

    digits: Digits
    columns: Positions
    pivots: Positions
    width: int

    @property
    def inside(self) -> Positions:
        """Rows that are in."""
        return np.flatnonzero(self.pivots >= 0)

    @property
    def free(self) -> Positions:
        """Positions in `digits` of the columns that may become pivots."""
        return np.flatnonzero(self.columns < self.width)

    def basis(self) -> Floats:
        """Return the basis of the span of the rows that are in, besides the identity; (k, free)."""
        return np.asarray(to_floats(self._free_digits(self.inside)))

    def left(self, rows: Positions) -> Floats:
        """Return what the basis leaves of these rows, each over a power of two; (k, free)."""
        return np.asarray(to_floats_of_order_one(self._free_digits(rows)))

    def _free_digits(self, rows: Positions) -> Digits:
        digits = self.digits[rows]
        free = self.free
        return digits if len(free) == len(self.columns) else digits[:, :, free]

    def with_row(self, row: int) -> "Reduction":
        """Bring one more row in, by its largest entry, and keep entries below `LARGEST`."""
        at = int(self.free[np.argmax(np.abs(self.left(np.array([row]))[0]))])
        pivots = self.pivots.copy()
        pivots[row] = self.columns[at]
        reduced = Reduction(
            eliminated(self.digits, row, at), np.delete(self.columns, at), pivots, self.width
        )
        return reduced._with_smaller_entries()

    def with_rows(self, rows: Iterable[int]) -> "Reduction":
        """Bring several more rows in, in this order."""
        reduced = self
        for row in rows:
            reduced = reduced.with_row(row)
        return reduced

    def _with_smaller_entries(self) -> "Reduction":
        reduced = self
        while True:
            sizes = np.abs(reduced.basis())
            if not sizes.size or sizes.max() <= LARGEST:
                return reduced
            i, j = np.unravel_index(np.argmax(sizes), sizes.shape)
            row, at = int(reduced.inside[i]), int(reduced.free[j])
            columns, pivots = reduced.columns.copy(), reduced.pivots.copy()
            columns[at], pivots[row] = pivots[row], columns[at]
            reduced = Reduction(exchanged(reduced.digits, row, at), columns, pivots, reduced.width)


def unreduced(rows: Sequence[Sequence[Fraction]], bits: int, n: int, width: int) -> Reduction:
    """Make n rows of order one, none of which is in yet.

    Parameters
    ----------
    rows : n rows of numbers
    bits : bits after the point, at least
    n : number of rows
    width : number of columns that may be pivots
    """
    length = digits_for(bits)
    digits = np.array([to_digits(row, length) for row in rows], dtype=np.int64)
    digits = digits.reshape(n, length, -1) if n else np.zeros((0, length, width), np.int64)
    return Reduction(digits, np.arange(digits.shape[2]), np.full(n, -1), width)
