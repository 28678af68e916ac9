"""Relaxation rates of many models at once: bisection on the number of rates below a bound, all models and rates in one loop."""

import numpy as np
from numpy.typing import NDArray

from worker.generator.cells import Cells
from worker.generator.process import FloatArray

ACCURACY = 3e-5
"""Relative width of the interval that a rate is bisected to."""
TINY = 1e-250


def slowest_rates(cells: Cells, guess: FloatArray) -> FloatArray:
    """(m, k) the k slowest rates of m models on the same cells, equation (G10); `guess` (k,) is where to look first [1/time].

    The cells' resistances and masses (m, n) must fit floating numbers once masses are divided by their sum.
    """
    log_mass = cells.log_node_mass
    total = np.logaddexp.reduce(log_mass, axis=-1, keepdims=True)
    # One row per cell, so that the loop runs over contiguous memory: (n, m, 1).
    mass = np.ascontiguousarray(np.exp(log_mass - total).T)[..., None]
    resistance = np.ascontiguousarray(np.exp(cells.log_resistance + total).T)[..., None]
    wanted = np.arange(1, len(guess) + 1)
    low, high = (np.tile(np.log(guess) + side * np.log(1.5), (mass.shape[1], 1)) for side in (-1, 1))
    step = 0.5
    while (above := _rates_below(np.exp(low), mass, resistance) >= wanted).any():
        low, step = np.where(above, low - step, low), 2 * step
    step = 0.5
    while (below := _rates_below(np.exp(high), mass, resistance) < wanted).any():
        high, step = np.where(below, high + step, high), 2 * step
    while np.max(high - low) > ACCURACY:
        middle = (low + high) / 2
        above = _rates_below(np.exp(middle), mass, resistance) >= wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(np.exp((low + high) / 2))


def _rates_below(bound: FloatArray, mass: FloatArray, resistance: FloatArray) -> NDArray[np.int64]:
    """How many non-zero rates lie below each bound (m, k): the sign changes of the solution of L u = −bound · u that starts
    without flux at the lower end, followed by its ratio of flux to value, in sums and quotients that lose no digits."""
    ratio = bound * mass[0]
    negative = np.zeros(bound.shape, dtype=np.int64)
    for r, m in zip(resistance, mass[1:], strict=True):
        factor = 1 - r * ratio + TINY
        negative += factor < 0
        ratio /= factor
        ratio += bound * m
    # The constant, the eigenfunction of zero, is one of those counted.
    return np.asarray(negative + (ratio > 0) - 1)
