"""Arrays as they stand in a result document."""

import base64

import numpy as np
from numpy.typing import NDArray

from contract import results
from contract.base import Interval
from worker.documents.numbers import number

Floats = NDArray[np.float64]
LONGEST_PLAIN_ARRAY = 2_000


def array(values: Floats) -> results.Array:
    """Numbers (n,), encoded where there are many."""
    return (
        encoded(values) if values.size > LONGEST_PLAIN_ARRAY else tuple(number(v) for v in values)
    )


def table(values: Floats) -> results.Values:
    """Numbers (n,) or rows of them (n, m), encoded where there are many."""
    return array(values) if values.size > LONGEST_PLAIN_ARRAY or values.ndim == 1 else _rows(values)


def band_of(band: tuple[Floats, Floats] | None) -> tuple[results.Values, results.Values] | None:
    """Lower and upper ends on a grid."""
    return None if band is None else (table(band[0]), table(band[1]))


def curves_of(band: tuple[Floats, Floats] | None) -> tuple[results.Array, results.Array] | None:
    """Lower and upper ends on the grid of one variable."""
    return None if band is None else (array(band[0]), array(band[1]))


def interval_of(ends: tuple[float, float] | None) -> Interval | None:
    """An end that is not finite is open."""
    return None if ends is None else (number(ends[0]), number(ends[1]))


def encoded(values: Floats) -> results.EncodedArray:
    """Numbers of any shape as bytes."""
    data = base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()
    return results.EncodedArray(shape=values.shape, data=data)


def _rows(values: Floats) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(number(v) for v in row) for row in values)
