"""Roots of the drift in one coordinate, to rounding error, and points that isolate them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray
from scipy.special import comb

from worker.generator.numerics.quadrature import NODES, ORDER, TO_LEGENDRE
from worker.generator.process import FloatArray, ScalarProcess, read_only, values

RESOLVED = 1e-10
"""Last Legendre coefficients, over the largest value, up to which a function counts as resolved."""
AMPLIFIED = 1e4
"""Rounding error of a Bernstein coefficient, in that of a Legendre coefficient."""
MAX_HALVINGS = 30
"""Halvings of a panel with a pair of zeros: to 1e-9 of its width, where no pair can be resolved."""
MAX_UNRESOLVED = 8
"""Halvings of a panel on which the function is not resolved."""
MAX_PANELS = 2000
UNEVEN = 0.4837
"""Fraction of a panel at which it is cut: a zero hardly ever stands there, but may half way."""


def _to_bernstein() -> FloatArray:
    degree = ORDER - 1
    t = (1 - np.cos(np.pi * (np.arange(ORDER) + 0.5) / ORDER)) / 2
    powers = np.arange(ORDER)
    basis = comb(degree, powers) * t[:, None] ** powers * (1 - t[:, None]) ** (degree - powers)
    return np.asarray(np.linalg.solve(basis, legvander(2 * t - 1, degree)))


TO_BERNSTEIN = read_only(_to_bernstein() @ TO_LEGENDRE)
"""Matrix (ORDER, ORDER) from values at the nodes to Bernstein coefficients."""


def separators(function: Callable[[FloatArray], FloatArray], breaks: FloatArray) -> FloatArray:
    """Return points between the increasing `breaks` (n,) that isolate the zeros of the function.

    Between two neighbours of these points and `breaks` the function changes sign once at most. A
    polynomial has no more zeros on a panel than its Bernstein coefficients change sign there, and
    none where they do not (Descartes' rule). Panels with more than one change, and panels that do
    not resolve the function, are cut.
    """
    low, high = breaks[:-1], breaks[1:]
    found: list[FloatArray] = []
    for level in range(MAX_HALVINGS):
        values = function(low[:, None] + (high - low)[:, None] / 2 * (NODES + 1))
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.max(np.abs(values), axis=1)
            tail = np.max(np.abs(values @ TO_LEGENDRE[-2:].T), axis=1)
            bernstein = values @ TO_BERNSTEIN.T
            split = (tail > RESOLVED * size) & (level < MAX_UNRESOLVED)
        known = np.isfinite(size) & np.isfinite(tail)
        certain = (
            np.abs(bernstein)
            > np.minimum(AMPLIFIED * tail, np.inf)[:, None] + 1e-12 * size[:, None]
        )
        split = known & (split | (_changes(np.where(certain, bernstein, 0.0)) > 1))
        if not split.any() or len(low) + split.sum() > MAX_PANELS:
            break
        low, high = low[split], high[split]
        middle = low + UNEVEN * (high - low)
        found.append(middle)
        low, high = np.append(low, middle), np.append(middle, high)
    return np.unique(np.concatenate([*found, np.empty(0)]))


def _changes(coefficients: FloatArray) -> FloatArray:
    """Count the changes of sign along the last axis, zeros left out: (n, k) → (n,)."""
    signs = np.sign(coefficients)
    at = np.maximum.accumulate(np.where(signs != 0, np.arange(signs.shape[1]), 0), axis=1)
    filled = np.take_along_axis(signs, at, axis=1)
    return np.asarray(
        np.count_nonzero(filled[:, 1:] * filled[:, :-1] < 0, axis=1), dtype=np.float64
    )


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

    @property
    def falling(self) -> NDArray[np.bool_]:
        """Whether the drift falls through zero: its root is stable."""
        return self.b_low > 0

    @property
    def apart(self) -> bool:
        """Whether no two have an end in common, so that their roots cannot be one by rounding."""
        return bool(np.all(self.high[:-1] < self.low[1:]))


def roots(model: ScalarProcess, points: FloatArray, drift: FloatArray) -> Roots:
    """Find the roots of the drift between points at which it has different signs.

    Parameters
    ----------
    model : process of one coordinate
    points : (n,) increasing positions [state]
    drift : (n,) drift there [state/time]
    """
    return roots_in(model, brackets(points, drift))


def roots_in(model: ScalarProcess, between: Brackets) -> Roots:
    """Find the roots of the drift in these brackets."""
    return _once(model, _ridders(partial(values, model.b), between), between.falling)


def brackets(points: FloatArray, drift: FloatArray) -> Brackets:
    """Return the intervals between increasing points (n,) in which the drift (n,) changes sign."""
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
