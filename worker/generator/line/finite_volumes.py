"""The line cut into cells, each reduced to three positive numbers that add up.

They are the mass on its left, the mass on its right, and the resistance. Everything about
relaxation and first-passage times is a sum of products of these three, without a subtraction, so
that barriers of any height keep all their digits. Logarithms of them never overflow.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import at_edges, rule, subdivision
from worker.generator.process import FloatArray

CELL_ORDER = 8
"""Number of Gauss nodes of one cell."""
STEEP = 4.0
"""Change of ψ over a cell beyond which its integrals are taken from their asymptotic forms."""
SLOWEST = 20.0
"""Factor by which ψ's slope within a cell may be less than its mean."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells of the line, equation (G8).

    With r = 2/(aπ), R = ∫r over the cell and θ(x) the share of R left of x. The shape (..., n)
    stands for (n,) of one model and (m, n) of several models on the same cells.

    edges           (n + 1,) [state]
    log_resistance  (..., n) log R [time/state of π's unit]
    log_left        (..., n) log ∫ π (1 − θ), the part of the cell's mass that belongs to its left
                    edge
    log_right       (..., n) log ∫ π θ, the part that belongs to its right edge
    tails           log mass below the first and above the last edge
    gaps            log resistance from the first and the last edge to an end that is reached
    """

    edges: FloatArray
    log_resistance: FloatArray
    log_left: FloatArray
    log_right: FloatArray
    tails: tuple[float, float]
    gaps: tuple[float, float]

    @property
    def log_mass(self) -> FloatArray:
        """(..., n) log ∫π over each cell."""
        return np.asarray(np.logaddexp(self.log_left, self.log_right))

    @property
    def log_node_mass(self) -> FloatArray:
        """(..., n + 1) log of the mass that belongs to each edge, tails included."""
        return np.asarray(
            np.logaddexp(
                _before(self.tails[0], self.log_right), _after(self.log_left, self.tails[1])
            )
        )

    @property
    def log_below(self) -> FloatArray:
        """(..., n + 1) log of the mass below each edge."""
        return np.asarray(np.logaddexp.accumulate(_before(self.tails[0], self.log_mass), axis=-1))

    @property
    def log_above(self) -> FloatArray:
        """(..., n + 1) log of the mass above each edge."""
        masses = _after(self.log_mass, self.tails[1])[..., ::-1]
        return np.asarray(np.logaddexp.accumulate(masses, axis=-1))[..., ::-1]

    def edge_at(self, x: float) -> int:
        """Return the number of the edge nearest to x [state]."""
        return int(np.argmin(np.abs(self.edges - x)))

    def halved(self) -> "Cells":
        """Return the cells merged in neighbouring pairs (their number is even), equation (G9)."""
        (r_first, r_second), (left_first, left_second), (right_first, right_second) = (
            (array[..., 0::2], array[..., 1::2])
            for array in (self.log_resistance, self.log_left, self.log_right)
        )
        r = np.logaddexp(r_first, r_second)
        share_first, share_second = r_first - r, r_second - r
        left = np.logaddexp(
            np.logaddexp(left_first, right_first + share_second), left_second + share_second
        )
        right = np.logaddexp(
            np.logaddexp(right_second, left_second + share_first), right_first + share_first
        )
        return Cells(self.edges[::2], r, left, right, self.tails, self.gaps)


def cut_into_cells(
    landscape: Landscape, parts: NDArray[np.int64] | int = 1, rows: slice = slice(None)
) -> Cells:
    """Cut the panels of a landscape into cells.

    Parameters
    ----------
    landscape : of one model, or of several on the same panels
    parts : equal cells of each panel: a number, or (P,) powers of 2
    rows : panels that are cut
    """
    index = np.arange(len(landscape.base))[rows]
    counts = np.broadcast_to(np.asarray(parts, dtype=int), index.shape)
    starts = np.cumsum(counts) - counts
    n = int(counts.sum())
    models = landscape.psi.shape[:-2]
    edges = np.empty(n + 1)
    resistance, left, right = np.empty((*models, n)), np.empty((*models, n)), np.empty((*models, n))
    for count in np.unique(counts):
        group = np.flatnonzero(counts == count)
        panels = index[group]
        points, matrix = subdivision(int(count), CELL_ORDER)
        shape = (*models, len(group), int(count), CELL_ORDER)
        _, psi, log_a = landscape.interpolated(points, matrix, panels)
        log_half = np.log(landscape.half[panels] / count)[:, None]
        r, m_left, m_right = _integrals(psi.reshape(shape), log_a.reshape(shape))
        at = starts[group][:, None] + np.arange(count)
        resistance[..., at], left[..., at], right[..., at] = (
            r + log_half,
            m_left + log_half,
            m_right + log_half,
        )
        offsets = (
            landscape.low[panels][:, None]
            + 2 * landscape.half[panels][:, None] * np.arange(count) / count
        )
        edges[at] = landscape.base[panels][:, None] + offsets
    edges[-1] = landscape.edges[index[-1] + 1]
    below = landscape.tails[0] if index[0] == 0 else -np.inf
    above = landscape.tails[1] if index[-1] == len(landscape.base) - 1 else -np.inf
    return Cells(edges, resistance, left, right, (below, above), landscape.gaps)


def _before(value: float, array: FloatArray) -> FloatArray:
    return np.concatenate([np.full((*array.shape[:-1], 1), value), array], axis=-1)


def _after(array: FloatArray, value: float) -> FloatArray:
    return np.concatenate([array, np.full((*array.shape[:-1], 1), value)], axis=-1)


def _integrals(psi: FloatArray, log_a: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the logs of R, ∫π(1 − θ) and ∫πθ per half width of the cell, over the last axis."""
    weights, cumulative = rule(CELL_ORDER)
    nodes, _ = subdivision(1, CELL_ORDER)
    bottom, top = psi.min(axis=-1), psi.max(axis=-1)
    resistance = 2 * np.exp(bottom[..., None] - psi)
    density = np.exp(psi - top[..., None] - log_a)
    total = resistance @ weights
    share = resistance @ cumulative.T / total[..., None]
    rise = (psi[..., -1] - psi[..., 0]) * 2 / (nodes[-1] - nodes[0])
    steep = np.abs(rise) > STEEP
    with np.errstate(invalid="ignore", divide="ignore"):
        right = np.log((density * share) @ weights) + top
        left = np.log((density * (1 - share)) @ weights) + top
    result = np.log(total) - bottom, left, right
    if not steep.any():
        return result
    for whole, of_steep in zip(result, _steep(psi[steep], log_a[steep]), strict=True):
        whole[steep] = of_steep
    return result


def _steep(psi: FloatArray, log_a: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the three logs where ψ changes so much that a polynomial does not follow exp(±ψ).

    The resistance lies at the edge where ψ is low, the mass at the other; both are as at a straight
    ψ between the two edges, whose values are those of the neighbours, so that nothing is gained or
    lost from one cell to the next. Their product, which is the time to go down the cell, is ∫ 2/(a
    |ψ'|).
    """
    weights, _ = rule(CELL_ORDER)
    to_edges, derivative = at_edges(CELL_ORDER)
    edges, slope = psi @ to_edges.T, np.abs(psi @ derivative.T)
    low, high = edges.min(axis=-1), edges.max(axis=-1)
    steepness = np.maximum(high - low, STEEP)
    escape = -np.expm1(-steepness)
    # Where ψ turns within the cell, its mean slope has to do.
    slope = np.maximum(slope, steepness[..., None] / SLOWEST)
    down = np.log((2 * np.exp(-log_a) / slope) @ weights)
    log_resistance = np.log(4 * escape / steepness) - low
    low_side = down + np.log(1 - escape / steepness) - log_resistance
    high_side = (
        high + np.log(2 * (escape / steepness - np.exp(-steepness)) / escape) - log_a.mean(axis=-1)
    )
    rising = edges[..., 1] > edges[..., 0]
    return (
        log_resistance,
        np.where(rising, low_side, high_side),
        np.where(rising, high_side, low_side),
    )
