"""Points between which a smooth function changes sign once at most, however close two of its zeros are."""

from collections.abc import Callable

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.special import comb

from worker.generator.numerics.quadrature import NODES, ORDER, TO_LEGENDRE
from worker.generator.process import FloatArray, read_only

RESOLVED = 1e-10
"""Last Legendre coefficients, relative to the largest value, of a function that is known on a panel."""
AMPLIFIED = 1e4
"""Rounding error of a Bernstein coefficient, in that of a Legendre coefficient."""
MAX_HALVINGS = 30
"""Halvings of a panel that holds a pair of zeros: to 1e-9 of its width, where a pair is not told from none."""
MAX_UNRESOLVED = 8
"""Halvings of a panel on which the function is not resolved."""
MAX_PANELS = 2000
UNEVEN = 0.4837
"""Where a panel is cut: a zero hardly ever stands there, as it may in the middle."""


def _to_bernstein() -> FloatArray:
    degree = ORDER - 1
    t = (1 - np.cos(np.pi * (np.arange(ORDER) + 0.5) / ORDER)) / 2
    powers = np.arange(ORDER)
    basis = comb(degree, powers) * t[:, None] ** powers * (1 - t[:, None]) ** (degree - powers)
    return np.asarray(np.linalg.solve(basis, legvander(2 * t - 1, degree)))


TO_BERNSTEIN = read_only(_to_bernstein() @ TO_LEGENDRE)
"""(ORDER, ORDER): values at the nodes → Bernstein coefficients."""


def separators(function: Callable[[FloatArray], FloatArray], breaks: FloatArray) -> FloatArray:
    """Points between the increasing `breaks` (n,) that, with these, part the zeros of the function from each other.

    A polynomial has no more zeros on a panel than its Bernstein coefficients change sign there, and none where they do not
    (Descartes' rule); panels with more changes than one, and such as do not resolve the function, are cut.
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
    """(n, k) → (n,) how often the sign changes along the last axis, zeros left out."""
    signs = np.sign(coefficients)
    at = np.maximum.accumulate(np.where(signs != 0, np.arange(signs.shape[1]), 0), axis=1)
    filled = np.take_along_axis(signs, at, axis=1)
    return np.asarray(
        np.count_nonzero(filled[:, 1:] * filled[:, :-1] < 0, axis=1), dtype=np.float64
    )
