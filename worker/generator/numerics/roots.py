"""Roots of the drift in one coordinate, to rounding error."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray, ScalarProcess, values

ROUNDED = 100.0
"""Distance of roots, in rounding errors of the drift over its slope, up to which they are one."""
MAX_STEPS = 100
"""Steps of the root search, enough for a drift that defeats all but bisection."""

Roots = tuple[FloatArray, NDArray[np.bool_]]
"""Positions (m,) [state], and whether the drift pulls back to each of them (m,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Brackets:
    """Ends of intervals in which the drift changes sign, and the drift there; arrays are (n,)."""

    low: FloatArray
    high: FloatArray
    b_low: FloatArray
    b_high: FloatArray


def roots(model: ScalarProcess, points: FloatArray, drift: FloatArray) -> Roots:
    """Find the roots of the drift between points at which it has different signs.

    Parameters
    ----------
    model : process of one coordinate
    points : (n,) increasing positions [state]
    drift : (n,) drift there [state/time]
    """
    between = _brackets(points, drift)
    return _once(model, _ridders(partial(values, model.b), between), between.b_low > 0)


def _brackets(points: FloatArray, drift: FloatArray) -> Brackets:
    points, drift = points[drift != 0], drift[drift != 0]
    at = np.flatnonzero(np.sign(drift[:-1]) != np.sign(drift[1:]))
    return Brackets(points[at], points[at + 1], drift[at], drift[at + 1])


def _ridders(drift: Callable[[FloatArray], FloatArray], between: Brackets) -> FloatArray:
    """Find one root in each bracket by Ridders' method; `drift` takes a point of each (n,).

    Bisection gains quadratically there, as the drift divided by an exponential is nearly straight.
    """
    low, high, b_low, b_high = between.low, between.high, between.b_low, between.b_high
    rounding = 2 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
    root, rising = low, np.sign(b_low)
    for _ in range(MAX_STEPS):
        middle = low + (high - low) / 2
        b_middle = drift(middle)
        with np.errstate(all="ignore"):
            shift = (middle - low) * rising * b_middle / np.sqrt(b_middle**2 - b_low * b_high)
        guess = np.minimum(
            np.maximum(np.where(np.isfinite(shift), middle + shift, middle), low), high
        )
        for x, b in ((middle, b_middle), (guess, drift(guess))):
            inside, same = (x >= low) & (x <= high), np.sign(b) == rising
            below, above = inside & same, inside & ~same
            low, b_low = np.where(below, x, low), np.where(below, b, b_low)
            high, b_high = np.where(above, x, high), np.where(above, b, b_high)
        settled = np.abs(guess - root) <= rounding
        root = guess
        if settled.all():
            break
    # A root at zero has no relative accuracy to reach; the last steps towards the root of x³ are
    # those of a bisection.
    return np.where(np.abs(root) <= 8 * rounding, 0.0, root)


def _once(model: ScalarProcess, root: FloatArray, falling: NDArray[np.bool_]) -> Roots:
    """Merge roots that differ by rounding only: near a root the drift's computed sign is random."""
    if len(root) < 2:
        return root, falling
    step = 16 * np.spacing(np.maximum(np.abs(root), np.finfo(float).tiny))
    around = values(model.b, root[:, None] + step[:, None] * np.arange(-8, 9))
    noise = np.max(np.abs(np.diff(around, 2, axis=1)), axis=1)
    with np.errstate(all="ignore"):
        blurred = ROUNDED * noise / np.abs(values(model.db, root))
    apart = ~(np.diff(root) <= np.minimum(blurred[1:], blurred[:-1]))
    group = np.append(0, np.cumsum(apart))
    first = np.flatnonzero(np.append(True, apart))
    # Signs alternate: an odd number of roots leaves one, with the sign of the first, an even number
    # none.
    count = np.bincount(group)
    kept = count % 2 == 1
    return root[first + count // 2][kept], falling[first][kept]
