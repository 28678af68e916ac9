"""Bisection on the number of rates below a bound, all rates of a model in one compiled loop."""

import numba as nb
import numpy as np

from worker.generator.line.finite_volumes import Cells
from worker.generator.process import FloatArray

ACCURACY = 3e-5
"""Relative width of the interval that a rate is bisected to."""
TINY = 1e-250
FURTHEST = 600.0
"""Of the logarithm of a rate from its guess: there is no number beyond."""


def slowest_rates(cells: Cells, guess: FloatArray) -> FloatArray:
    """(m, k) the k slowest rates of m models on the same cells, equation (G10); `guess` (k,) is where to look first [1/time].

    The cells' resistances and masses (m, n) must fit floating numbers once masses are divided by their sum.
    """
    log_mass = cells.log_node_mass
    total = np.logaddexp.reduce(log_mass, axis=-1, keepdims=True)
    return np.asarray(
        _bisected(np.exp(log_mass - total), np.exp(cells.log_resistance + total), guess)
    )


@nb.njit(cache=True, nogil=True)
def _bisected(mass: FloatArray, resistance: FloatArray, guess: FloatArray) -> FloatArray:
    count = len(guess)
    rates = np.empty((len(mass), count))
    for i in range(len(mass)):
        low, high = np.log(guess) - np.log(1.5), np.log(guess) + np.log(1.5)
        for side, bound in ((-1.0, low), (1.0, high)):
            step = 0.5
            while step < FURTHEST and _move(
                bound, side * step, _rates_below(np.exp(bound), mass[i], resistance[i]), side < 0
            ):
                step *= 2
        while np.max(high - low) > ACCURACY:
            middle = (low + high) / 2
            below = _rates_below(np.exp(middle), mass[i], resistance[i])
            for k in range(count):
                if below[k] > k:
                    high[k] = middle[k]
                else:
                    low[k] = middle[k]
        rates[i] = np.exp((low + high) / 2)
    return rates


@nb.njit(cache=True, nogil=True)
def _move(bound: FloatArray, step: float, below: FloatArray, lower: bool) -> bool:
    """Moves the bounds that are on the wrong side of their rates; whether there were any."""
    moved = False
    for k in range(len(bound)):
        if (below[k] > k) == lower:
            bound[k] += step
            moved = True
    return moved


@nb.njit(cache=True, nogil=True)
def _rates_below(bound: FloatArray, mass: FloatArray, resistance: FloatArray) -> FloatArray:
    """How many non-zero rates lie below each bound (k,): the sign changes of the solution of L u = −bound · u that starts
    without flux at the lower end, followed by its ratio of flux to value, in sums and quotients that lose no digits."""
    ratio = bound * mass[0]
    negative = np.zeros(len(bound))
    for j in range(len(resistance)):
        # The quotients of all bounds are independent of each other, and computed at once.
        for k in range(len(bound)):
            factor = 1 - resistance[j] * ratio[k] + TINY
            negative[k] += factor < 0
            ratio[k] = ratio[k] / factor + bound[k] * mass[j + 1]
    # The constant, the eigenfunction of zero, is one of those counted.
    for k in range(len(bound)):
        negative[k] += (ratio[k] > 0) - 1.0
    return negative
