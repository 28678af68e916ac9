"""The cells as a chain that steps from edge to edge: how soon it arrives, by its Laplace transform.

From an edge the chain steps ahead at the rate 1/(m R) of the cell ahead and back at that of the cell behind. The transform of
the time from one edge to the next follows from that of the step before, equation (G29): a recursion without a subtraction.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from worker.generator.cells import Cells
from worker.generator.process import FloatArray

ComplexArray = NDArray[np.complex128]

UNSEEN = 40.0
"""Depth of the mass behind the start below which cells are left out: e^−40 of it changes no time."""
ABSCISSA = 18.4
"""Of the Euler summation: its error is e^−18.4 = 1e-8."""
TERMS, AVERAGED = 40, 12
"""Partial sums, and how many of the last ones are averaged with binomial weights."""


def oriented(cells: Cells, start: float, to: float) -> tuple[int, int, list[FloatArray]]:
    """First and last cell of the passage, and log R, log of the mass before each cell, of the part of the cell's mass that
    belongs to its near edge, and of all of it, in the direction of the passage."""
    first, last = sorted(int(np.argmin(np.abs(cells.edges - point))) for point in (start, to))
    if start < to:
        return first, last, [cells.log_resistance, cells.log_below[:-1], cells.log_left, cells.log_mass]
    n = len(cells.log_resistance)
    arrays = cells.log_resistance, cells.log_above[1:], cells.log_right, cells.log_mass
    return n - last, n - first, [array[::-1] for array in arrays]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Edges from far behind the start up to the goal, in the direction of the passage.

    ahead, back   (n,) rates of the steps from each edge before the goal [1/time]
    start         number of the edge at which the passage begins
    """

    ahead: FloatArray
    back: FloatArray
    start: int

    @classmethod
    def along(cls, cells: Cells, start: float, to: float) -> "Chain":
        """Of the passage from `start` to `to`, both edges of the cells."""
        first, last, (resistance, *_) = oriented(cells, start, to)
        mass = cells.log_node_mass if start < to else cells.log_node_mass[::-1]
        gathered = np.logaddexp.accumulate(mass[:last])
        begin = min(first, int(np.argmax(gathered > gathered[first] - UNSEEN)))
        ahead = np.exp(-mass[begin:last] - resistance[begin:last])
        back = np.append(0.0, np.exp(-mass[begin + 1 : last] - resistance[begin : last - 1]))
        return cls(ahead, back, first - begin)


def transform(chain: Chain, s: ComplexArray) -> ComplexArray:
    """E[exp(−s T)] of the passage time T, at (k,) of positive real part."""
    # `rest` is one minus the transform of a step, which is tiny where the step is quick.
    rest, total = np.zeros(s.shape, np.complex128), np.ones(s.shape, np.complex128)
    for n, (ahead, back) in enumerate(zip(chain.ahead, chain.back, strict=True)):
        stay = s + back * rest
        rest = stay / (ahead + stay)
        if n >= chain.start:
            total *= ahead / (ahead + stay)
    return total


def distribution(chain: Chain, times: FloatArray) -> FloatArray:
    """P(T < t) at times (k,) by the Euler summation of the transform (Abate and Whitt 1995), 1e-8 where T is smooth."""
    k = np.arange(TERMS + AVERAGED)
    s = np.asarray((ABSCISSA + 2j * np.pi * k) / (2 * times[:, None]), dtype=np.complex128)
    terms = np.real(transform(chain, s.ravel()).reshape(s.shape) / s) * (-1.0) ** k
    terms[:, 0] /= 2
    partial = np.cumsum(terms, axis=1)[:, TERMS - 1 :]
    weights = np.array([comb(AVERAGED, j) for j in range(AVERAGED + 1)]) / 2.0**AVERAGED
    return np.asarray(np.exp(ABSCISSA / 2) / times * (partial @ weights))
