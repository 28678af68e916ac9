"""Numbers and arrays of a result document: null if not finite, encoded as bytes if many."""

import base64
import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from contract import results
from contract.base import Document, Interval

Floats = NDArray[np.float64]
D = TypeVar("D", bound=Document)
LONGEST_PLAIN_ARRAY = 2_000


def plain(value: Any) -> Any:
    """Convert a value to JSON's own types, with null for numbers that are not finite."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float | np.floating):
        return number(value)
    return int(value) if isinstance(value, np.integer) else value


def written(kind: type[D], value: Any, **others: Any) -> D:
    """Write a document from a value that has its fields by name, except for `others`."""
    same = [name for name in kind.model_fields if name not in others]
    return kind(**{name: plain(getattr(value, name)) for name in same}, **others)


def number(value: float | np.floating[Any]) -> float | None:
    """Return the number, or None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def array(values: Floats) -> results.Array:
    """Write numbers (n,), encoded where there are many."""
    if values.size > LONGEST_PLAIN_ARRAY:
        return encoded(values)
    return row_of(values)


def table(values: Floats) -> results.Values:
    """Write numbers (n,) or rows of numbers (n, m), encoded where there are many."""
    return array(values) if values.size > LONGEST_PLAIN_ARRAY or values.ndim == 1 else _rows(values)


def band_of(band: tuple[Floats, Floats] | None) -> tuple[results.Values, results.Values] | None:
    """Write the lower and upper ends of a band on any grid."""
    return None if band is None else (table(band[0]), table(band[1]))


def curves_of(band: tuple[Floats, Floats] | None) -> tuple[results.Array, results.Array] | None:
    """Write the lower and upper ends of a band on the grid of one variable."""
    return None if band is None else (array(band[0]), array(band[1]))


def interval_of(ends: tuple[float, float] | None) -> Interval | None:
    """Write an interval; an end that is not finite is open."""
    return None if ends is None else (number(ends[0]), number(ends[1]))


def encoded(values: Floats) -> results.EncodedArray:
    """Encode numbers of any shape as bytes."""
    data = base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()
    return results.EncodedArray(shape=values.shape, data=data)


def _rows(values: Floats) -> tuple[tuple[float | None, ...], ...]:
    return tuple(row_of(row) for row in values)


def row_of(values: Floats) -> tuple[float | None, ...]:
    """Write numbers (n,), with null for those that are not finite."""
    return tuple(values.tolist()) if np.isfinite(values).all() else tuple(map(number, values))
