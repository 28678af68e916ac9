"""Matrix whose rows are reduced by some of them, one after the other (Gauss–Jordan elimination)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from worker.identification.selection.exact.fixed_point_arithmetic import (
    Digits,
    digits_for,
    eliminated,
    exchanged,
    to_digits,
    to_floats,
    to_floats_of_order_one,
)

Floats = NDArray[np.float64]
Positions = NDArray[np.int_]

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
