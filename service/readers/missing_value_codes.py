"""Numbers that stand for a missing value: −999, 9999.0, 1e30, the largest of 16 and 32 bits."""

from collections.abc import Sequence

import numpy as np

from service.readers.notes import Notes
from service.readers.table import Floats, Variable

_CONVENTIONAL = (8888.0, 32767.0, 32768.0, 2147483647.0, 2147483648.0)
_ENORMOUS = 1e20
"""Size from which a repeated, isolated value is a fill value (netCDF's is 9.97e36)."""
_APART = 5.0
"""Distance of a code from all other values, in units of their range."""


def without_missing_codes(states: Floats, variables: Sequence[Variable], notes: Notes) -> Floats:
    """Return the states (n, d) with NaN for every code; a warning names each code.

    A value is a code where it is a customary one, is the smallest or largest of its column, and
    lies apart from all other values by more than five times their range.
    """
    out = states
    for j, variable in enumerate(variables):
        column = out[:, j]
        for _ in range(4):
            code = _code_in(column)
            if code is None:
                break
            where = column == code
            column = np.where(where, np.nan, column)
            out = np.column_stack([out[:, :j], column, out[:, j + 1 :]])
            name = f" of {variable.column}" if variable.column else ""
            notes.warn(
                "missing-code",
                f"{int(where.sum())} values{name} are exactly {code:g}, far from all others: they "
                "were treated as codes for missing values. Write NaN for missing values.",
                value=code,
                count=int(where.sum()),
            )
    return out


def _code_in(column: Floats) -> float | None:
    finite = column[np.isfinite(column)]
    if finite.size < 10:
        return None
    for code in (float(finite.min()), float(finite.max())):
        others = finite[finite != code]
        if others.size < finite.size / 2 or not _is_customary(code, finite.size - others.size):
            continue
        low, high = float(others.min()), float(others.max())
        if high > low and min(abs(code - low), abs(code - high)) > _APART * (high - low):
            return code
    return None


def _is_customary(value: float, count: int) -> bool:
    digits = f"{abs(value):.10g}".replace(".", "").rstrip("0")
    nines = len(digits) >= 2 and set(digits) == {"9"} and abs(value) >= 9
    return nines or abs(value) in _CONVENTIONAL or (abs(value) >= _ENORMOUS and count > 1)
