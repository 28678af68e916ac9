"""The Laplace transform of a first-passage time on the chain of the cells.

Edges are capacities, cells are resistances between them, and where the passage ends the voltage is
one: the voltage at the start is then the transform, equation (G29), from sums and quotients without
a subtraction.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from worker.generator.line.finite_volumes import Cells
from worker.generator.process import FloatArray

ComplexArray = NDArray[np.complex128]

UNSEEN = 40.0
"""Depth of the mass behind the start below which cells are left out: e^−40 of it changes no
time."""


def oriented(cells: Cells, start: float, to: float) -> tuple[int, int, list[FloatArray]]:
    """Return the cells of a passage in its direction.

    These are the first and last cell, and (..., n) log R, log of the mass before each cell, of the
    part of the cell's mass that belongs to its near edge, and of all of it.

    Parameters
    ----------
    cells : finite volumes of (...) models
    start, to : edges of the cells [state]
    """
    first, last = sorted((cells.edge_at(start), cells.edge_at(to)))
    if start < to:
        return (
            first,
            last,
            [cells.log_resistance, cells.log_below[..., :-1], cells.log_left, cells.log_mass],
        )
    n = cells.log_resistance.shape[-1]
    arrays = cells.log_resistance, cells.log_above[..., 1:], cells.log_right, cells.log_mass
    return n - last, n - first, [array[..., ::-1] for array in arrays]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Chain of the edges at which the process may be before the passage ends.

    ahead, back         (n,) rates of the steps from each of them; 0 where there is no way out on
                        that side [1/time]
    start               number of the edge at which the passage begins
    log_amplification   bound on log Σ|w| where the probability that it is not over is Σ w exp(−λt)
    """

    ahead: FloatArray
    back: FloatArray
    start: int
    log_amplification: float

    @classmethod
    def along(cls, cells: Cells, start: float, to: float) -> "Chain":
        """Return the chain of the passage from `start` to `to`.

        Both are edges of the cells, or `to` is an end of the domain that is reached.
        """
        first, last, (resistance, *_) = oriented(cells, start, to)
        mass = cells.log_node_mass if start < to else cells.log_node_mass[::-1]
        gathered = np.logaddexp.accumulate(mass[:last])
        begin = min(first, int(np.argmax(gathered > gathered[first] - UNSEEN)))
        between = resistance[begin:last].copy()
        if not cells.edges[0] <= to <= cells.edges[-1]:
            between[-1] = np.logaddexp(between[-1], cells.gaps[0 if to < start else 1])
        return cls._of(mass[begin:last], np.append(np.inf, between), first - begin)

    @classmethod
    def out_of(cls, cells: Cells, at: int) -> "Chain":
        """Return the chain of leaving the cells at either end, from edge number `at`."""
        return cls._of(cells.log_node_mass[1:-1], cells.log_resistance, at - 1)

    @classmethod
    def _of(cls, log_mass: FloatArray, log_resistance: FloatArray, start: int) -> "Chain":
        """Return the chain of masses (n,) and resistances (n + 1,), inf without a way."""
        amplification = (np.logaddexp.reduce(log_mass) - log_mass[start]) / 2
        ahead, back = (
            np.exp(-log_mass - log_resistance[1:]),
            np.exp(-log_mass - log_resistance[:-1]),
        )
        return cls(ahead, back, start, float(amplification))

    def transform(self, s: ComplexArray) -> ComplexArray:
        """Return E[exp(−s T)] of the first-passage time T at s (k,), off the negative axis."""
        n, end = self.start, len(self.ahead)
        before, after = slice(0, n + 1), slice(end, n - 1 if n else None, -1)
        left, from_left = _seen(self.back[before].copy(), self.ahead[before].copy(), s)
        right, from_right = _seen(self.ahead[after].copy(), self.back[after].copy(), s)
        with np.errstate(invalid="ignore"):  # rates beyond all numbers give nan: too steep
            return np.asarray((from_left + from_right) / (left + right + s))


@nb.njit(cache=True, nogil=True)
def _seen(
    outward: FloatArray, inward: FloatArray, s: ComplexArray
) -> tuple[ComplexArray, ComplexArray]:
    """Return admittance and current, per mass of the start, on one side of the start (k,).

    outward, inward   (m,) rates of the steps towards the end on that side and away from it, those
                      of the start last
    """
    admittance = np.full(s.shape, outward[0], np.complex128)
    current = admittance.copy()
    for n in range(1, len(outward)):
        for k in range(len(s)):
            grown = admittance[k] + s[k]
            passed = outward[n] / (inward[n - 1] + grown)
            admittance[k] = grown * passed
            current[k] = current[k] * passed
    return admittance, current
