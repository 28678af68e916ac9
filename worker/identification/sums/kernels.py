"""Gaussian test functions K_j on a grid of centres, and moments in cells that give their sums.

K_j f_k is smooth, so on a cell of half a bandwidth it is a polynomial to 2·10⁻¹¹ (docs/method.md
§6, equation (M13)): the sums Σ_n t_n^p w_n of the local coordinate t ∈ [−1, 1] replace the
increments. One pass over the data serves every centre and every bandwidth of at least the cells'
width, memory does not grow with the data, and moments of disjoint data add.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.hermite_e import hermeval
from numpy.typing import NDArray

from worker.identification.data.compiled import compiled
from worker.identification.data.trajectories import Scales

Floats = NDArray[np.float64]

DEFAULT_COUNT = 50
"""Number of kernels where none is asked for."""

BANDWIDTH_IN_SPACINGS = 2.2
"""Bandwidth of the paper: 0.22 on 50 centres over [−2.5, 2.5]."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """Test functions K_j(y) = exp(−(y − c_j)² / 2h²), equation (M2), in the internal coordinate.

    centres    (n_kernels,) centres c_j
    bandwidth  h
    circle     circumference, where the coordinate is periodic (2 in internal units), else None
    """

    centres: Floats
    bandwidth: float
    circle: float | None = None

    def at(self, y: Floats, order: int = 0) -> Floats:
        """Evaluate the kernels or their derivatives of an order, (n,) → (n_kernels, n).

        On a circle the distance is the shorter way round, with its neighbours' images added.
        """
        return np.asarray(sum(self._at_distance(z, order) for z in self._distances(y)))

    def _at_distance(self, z: Floats, order: int) -> Floats:
        gaussian = np.exp(-0.5 * z**2)
        if not order:
            return gaussian
        hermite = hermeval(z, np.eye(order + 1)[order])
        return np.asarray((-1 / self.bandwidth) ** order * hermite * gaussian)

    def _distances(self, y: Floats) -> list[Floats]:
        distance = y[None, :] - self.centres[:, None]
        if self.circle is None:
            return [distance / self.bandwidth]
        distance = distance - self.circle * np.round(distance / self.circle)
        return [(distance + shift * self.circle) / self.bandwidth for shift in (-1, 0, 1)]


def make_kernels(
    scales: Scales,
    *,
    count: int = DEFAULT_COUNT,
    bandwidth: float | None = None,
    centre_range: tuple[float, float] | None = None,
    period: float | None = None,
) -> Kernels:
    """Make equally spaced kernels over a range, by default the bulk of the samples.

    Parameters
    ----------
    scales : internal units
    count : number of kernels
    bandwidth : h [state]; by default 2.2 spacings
    centre_range : first and last centre [state]
    period : period of the state, or None [state]
    """
    if period is not None:
        centres = -1 + 2 * np.arange(count) / count
        spacing = 2 / count
    else:
        low, high = scales.bulk if centre_range is None else centre_range
        centres = (np.linspace(low, high, count) - scales.origin) / scales.unit
        spacing = float(centres[1] - centres[0])
    width = BANDWIDTH_IN_SPACINGS * spacing if bandwidth is None else bandwidth / scales.unit
    return Kernels(centres, float(width), None if period is None else 2.0)


ORDER = 8
"""Number of moments per cell."""

REACH = 8.5
"""Bandwidths beyond which a kernel is zero to machine precision."""

_NODES = np.cos((np.arange(ORDER) + 0.5) * np.pi / ORDER)
_MOMENTS_TO_NODES = np.linalg.inv(np.vander(_NODES, ORDER, increasing=True)).T


@dataclass(frozen=True, slots=True)
class Cells:
    """Equal cells over an interval of the internal coordinate.

    low     left end of the interval
    width   width of one cell
    count   number of cells
    """

    low: float
    width: float
    count: int

    def nodes(self) -> Floats:
        """Return the Chebyshev nodes of all cells; (count · ORDER,), read-only."""
        return _nodes_of(self)


@lru_cache(maxsize=64)
def _nodes_of(cells: Cells) -> Floats:
    middles = cells.low + cells.width * (np.arange(cells.count) + 0.5)
    nodes = np.asarray(middles[:, None] + cells.width / 2 * _NODES).ravel()
    nodes.setflags(write=False)
    return nodes


@lru_cache(maxsize=16)
def kernels_at_nodes(kernels: Kernels, cells: Cells, order: int = 0) -> Floats:
    """Evaluate kernels, or derivatives, at the nodes; (n_kernels, n_nodes), read-only.

    The values are cached, since every fit asks for the same ones several times.
    """
    values = kernels.at(cells.nodes(), order)
    values.setflags(write=False)
    return values


def make_cells(kernels: Kernels, scales: Scales) -> Cells:
    """Make cells of half a bandwidth wherever both a kernel and the data can be."""
    low = max(
        float(kernels.centres[0]) - REACH * kernels.bandwidth,
        (scales.low - scales.origin) / scales.unit,
    )
    high = min(
        float(kernels.centres[-1]) + REACH * kernels.bandwidth,
        (scales.high - scales.origin) / scales.unit,
    )
    if kernels.circle is not None:
        low, high = -kernels.circle / 2, kernels.circle / 2
    if not high > low:
        low, high = float(kernels.centres[0]), float(kernels.centres[-1])
    # A hair wider, so that the largest sample falls inside the last cell.
    margin = 1e-9 * (high - low)
    count = max(1, int(np.ceil((high - low + 2 * margin) / (kernels.bandwidth / 2))))
    return Cells(low - margin, (high - low + 2 * margin) / count, count)


@dataclass(frozen=True, slots=True, eq=False)
class CellMoments:
    """Moments of several weights in every cell; `+` merges sums over disjoint sets of increments.

    moments   (n_cells, n_weights, ORDER)   Σ_n w_n t_n^p
    """

    cells: Cells
    moments: Floats

    def __add__(self, other: "CellMoments") -> "CellMoments":
        if other.cells != self.cells:
            raise ValueError("moments on different cells do not add; make both with the same cells")
        return CellMoments(self.cells, self.moments + other.moments)

    def at_nodes(self) -> Floats:
        """Return W with Σ_n w_n f(y_n) = Σ_i W_i f(node_i) for smooth f; (n_weights, n_nodes)."""
        nodal = self.moments @ _MOMENTS_TO_NODES.T
        return np.ascontiguousarray(nodal.transpose(1, 0, 2)).reshape(nodal.shape[1], -1)


def empty_moments(cells: Cells, n_weights: int) -> Floats:
    """Make a buffer for `accumulate`; (n_cells, n_weights, ORDER)."""
    return np.zeros((cells.count, n_weights, ORDER))


def accumulate(moments: Floats, cells: Cells, y: Floats, weights: Floats) -> None:
    """Add the increments of a chunk to a buffer.

    Parameters
    ----------
    moments : (n_cells, n_weights, ORDER) buffer, changed in place
    cells : cells of the buffer
    y : (n,) internal states
    weights : (n, n_weights)
    """
    _accumulate(moments, y, weights, cells.low, 1.0 / cells.width)


@compiled
def _accumulate(
    moments: Floats, y: Floats, weights: Floats, low: float, inverse_width: float
) -> None:
    n_cells = moments.shape[0]
    n_weights = weights.shape[1]
    powers = np.empty(ORDER)
    for n in range(y.shape[0]):
        position = (y[n] - low) * inverse_width
        if position < 0.0 or position >= n_cells:
            continue
        cell = int(position)
        t = 2.0 * (position - cell) - 1.0
        power = 1.0
        for p in range(ORDER):
            powers[p] = power
            power *= t
        for w in range(n_weights):
            weight = weights[n, w]
            for p in range(ORDER):
                moments[cell, w, p] += weight * powers[p]
