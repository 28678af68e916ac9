"""Isolation of the zeros of a smooth function, however close two of them are."""

from collections.abc import Callable

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.special import comb

from worker.generator.numerics.quadrature import NODES, ORDER, TO_LEGENDRE
from worker.generator.process import FloatArray, read_only

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
"""Fraction of a panel at which it is cut: a zero hardly ever stands there, as it may in the middle.
"""


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
