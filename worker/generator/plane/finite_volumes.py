"""Generator on a grid of cells, a sparse matrix of the fluxes through all faces.

The density moves by ∂p/∂t = −∇·J, J = v p − ½ a ∇p with v_k = b_k − ½ Σ_l ∂_l a_kl. Masses are
conserved exactly: the columns of the matrix add up to zero, and nothing leaves a wall.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, diags_array

from worker.generator.plane.box.box import Chart, lowest_diffusion
from worker.generator.plane.grid import Axis, Grid, IndexArray
from worker.generator.plane.high_order import high_order_shares
from worker.generator.process import FloatArray

POSITIVE = 1e-6
"""Smaller over larger eigenvalue of the diffusion above which it counts as positive."""


def without_noise(chart: Chart, grid: Grid) -> NDArray[np.bool_]:
    """Return the cells outside the largest connected part with positive diffusion: (n,)."""
    from scipy.ndimage import label  # a twentieth of a worker's start, for planes alone

    positive = (lowest_diffusion(chart.raw_diffusion(grid.centres)) > POSITIVE).reshape(grid.shape)
    parts, count = label(positive)
    if count > 1 and not any(axis.circle for axis in grid.axes):
        areas = np.bincount(parts.ravel(), grid.volumes.ravel())
        areas[0] = 0.0
        positive = parts == np.argmax(areas)
    return np.asarray(~positive.ravel())


Scheme = Literal["exponential", "upwind", "high-order"]
"""Scheme for the density at a face.

"exponential" is exponential fitting (Scharfetter and Gummel): positive, and exact for a constant
drift along the face's normal. "upwind" is a parabola through three cells, two of them upwind, of
third order where noise is weak. "high-order" is for noise that acts on a velocity alone, without
walls, see `high_order.py`.
"""
Schemes = tuple[Scheme, Scheme]


HIGH_ORDER: Schemes = ("high-order", "high-order")


def coarser(schemes: Schemes) -> Scheme:
    """Return the scheme whose error is the larger one."""
    return max(schemes, key=("high-order", "exponential", "upwind").index)


@dataclass(frozen=True, slots=True, eq=False)
class Coefficients:
    """Drift and diffusion on a grid, in its own coordinates.

    drift      (n, 2) at the cells' centres
    diffusion  (n, 2, 2) at the cells' centres
    normal     drift and diffusion across the faces of either axis, two arrays (faces, other cells)
    closed     (n,) cells with no flux through their faces; None where all are open
    """

    drift: FloatArray
    diffusion: FloatArray
    normal: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    closed: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, chart: Chart, grid: Grid) -> "Coefficients":
        """Evaluate the chart's process on the grid."""

        def across(axis: int) -> tuple[FloatArray, FloatArray]:
            x = grid.faces(axis)
            shape = (-1, grid.axes[1 - axis].count)
            drift = chart.drift(x)[:, axis].reshape(shape)
            return drift, chart.diffusion(x)[:, axis, axis].reshape(shape)

        closed = without_noise(chart, grid) if chart.cut else None
        return cls(
            chart.drift(grid.centres), chart.diffusion(grid.centres), (across(0), across(1)), closed
        )

    def peclet(self, grid: Grid, axis: int) -> FloatArray:
        """Return the cells' Péclet number |b| h / (½ a), (n₀, n₁); inf without noise."""
        width = grid.axes[axis].widths
        b = self.drift[:, axis].reshape(grid.shape)
        a = self.diffusion[:, axis, axis].reshape(grid.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = 2 * np.abs(b) * (width[:, None] if axis == 0 else width) / a
        return np.where(np.isnan(ratio), 0.0, ratio)


FlatTerms = tuple[IndexArray, IndexArray, FloatArray]
"""Face, cell, and flux through the face per density of the cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Fluxes:
    """Fluxes through the faces across either axis, as sums over the cells' densities."""

    grid: Grid
    closed: NDArray[np.bool_] | None
    across: tuple[FlatTerms, FlatTerms]

    @classmethod
    def of(cls, grid: Grid, coefficients: Coefficients, schemes: Schemes) -> "Fluxes":
        """Discretise the process with these coefficients."""
        first, second = (_flat_terms(grid, coefficients, axis, schemes[axis]) for axis in (0, 1))
        return cls(grid, coefficients.closed, (first, second))

    def matrix(self) -> csc_array:
        """Return the rate of change of the masses (n, n); its transpose acts on functions."""
        parts = [self._flows(axis) for axis in (0, 1)]
        rows, columns, rates = (np.concatenate([part[k] for part in parts]) for k in range(3))
        n = self.grid.volumes.size
        matrix = csc_array(
            coo_array((rates / self.grid.volumes.ravel()[columns], (rows, columns)), shape=(n, n))
        )
        if self.closed is None:
            return matrix
        # Closed cells lose their mass at once, so that no slow mode lives there.
        return csc_array(
            matrix - diags_array(np.where(self.closed, np.abs(matrix.diagonal()).max(), 0.0))
        )

    def currents(self, density: FloatArray) -> FloatArray:
        """Return the probability current J at the cells' centres, (n₀, n₁, 2).

        It is the mean of the values on opposite faces, which are zero at walls.
        """
        result = np.zeros((*self.grid.shape, 2))
        for axis in (0, 1):
            own, other = self.grid.axes[axis], self.grid.axes[1 - axis]
            face, column, coefficient = self.across[axis]
            flux = np.bincount(
                face, coefficient * density.ravel()[column], len(own.faces) * other.count
            ).reshape(-1, other.count)
            wall = flux[-1:] if own.circle else np.zeros((1, other.count))
            flux = np.vstack([wall, flux] if own.circle else [wall, flux, wall])
            mean = (flux[1:] + flux[:-1]) / 2
            result[..., axis] = mean if axis == 0 else mean.T
        return result

    def _flows(self, axis: int) -> FlatTerms:
        """Return rows, columns and rates of one axis, per unit of the column's density."""
        own, other = self.grid.axes[axis], self.grid.axes[1 - axis]
        face, column, coefficient = self.across[axis]
        numbers = cell_numbers(self.grid, axis)
        before, after = (numbers[own.neighbour(step)[0]].ravel()[face] for step in (0, 1))
        rate = coefficient * np.tile(other.widths, len(own.faces))[face]
        rows, rates = np.concatenate([before, after]), np.concatenate([-rate, rate])
        return rows, np.concatenate([column, column]), rates


def generator_matrix(grid: Grid, coefficients: Coefficients, schemes: Schemes) -> csc_array:
    """Return the rate of change of the masses (n, n); its transpose acts on functions."""
    return Fluxes.of(grid, coefficients, schemes).matrix()


FaceTerm = tuple[IndexArray, FloatArray, IndexArray, int]
"""Terms of a flux: cell, coefficient, nearest cell, and the axis from that to the first cell.

The arrays are (faces, cells of the other axis); the nearest cell touches the face.
"""


def face_terms(grid: Grid, coefficients: Coefficients, axis: int, scheme: Scheme) -> list[FaceTerm]:
    """Return the flux through every face of one axis as a sum over cells' densities.

    Parameters
    ----------
    grid, coefficients : cells, and drift and diffusion on them
    axis : axis that the faces lie across
    scheme : scheme for the density at a face
    """
    own, other = grid.axes[axis], grid.axes[1 - axis]
    _, a = coefficients.normal[axis]
    numbers = cell_numbers(grid, axis)
    before, after = numbers[own.neighbour(0)[0]], numbers[own.neighbour(1)[0]]
    gap = own.gaps[:, None]
    if scheme == "high-order":
        b, spread = (
            _along(values, grid, axis)
            for values in (coefficients.drift[:, axis], coefficients.diffusion[:, axis, axis])
        )
        shares = high_order_shares(own, b, spread, coefficients.normal[axis][0])
        return [(numbers[own.neighbour(step)[0]], share, before, axis) for step, share in shares]
    v = _velocity(grid, coefficients, axis)
    spread = a / 2
    terms: list[FaceTerm] = []
    if scheme == "exponential":
        fitted = _fitted(v * gap / 2, spread) / gap
        terms += [(before, v / 2 + fitted, before, axis), (after, v / 2 - fitted, after, axis)]
    else:
        terms += [(before, spread / gap, before, axis), (after, -spread / gap, after, axis)]
        nearest = {-1: before, 0: before, 1: after, 2: after}
        terms += [
            (numbers[own.neighbour(step)[0]], v * share, nearest[step], axis)
            for step, share in _parabola(own, v)
        ]
    # The mixed part ½ ∂_other(a p) comes from central differences on both sides of the face.
    mixed = _along(coefficients.diffusion[:, 0, 1], grid, axis)
    if np.any(mixed):
        lower, upper, distance = _differences(other)
        for step, cell in ((0, before), (1, after)):
            here = mixed[own.neighbour(step)[0]]
            terms += [(cell[:, upper], -0.25 / distance * here[:, upper], cell, 1 - axis)]
            terms += [(cell[:, lower], 0.25 / distance * here[:, lower], cell, 1 - axis)]
    return terms


def absorbed_flux(grid: Grid, coefficients: Coefficients, axis: int, side: int) -> FloatArray:
    """Return the flux through each face if the density vanishes there: (faces, other cells).

    Parameters
    ----------
    grid, coefficients : cells, and drift and diffusion on them
    axis : axis that the faces lie across
    side : 1 for the flux per density of the cell before the face, −1 for the cell after it
    """
    own = grid.axes[axis]
    out = side * _velocity(grid, coefficients, axis)
    half = own.widths[own.neighbour(0 if side == 1 else 1)[0]][:, None] / 2
    return np.asarray(out / 2 + _fitted(out * half / 2, coefficients.normal[axis][1] / 2) / half)


def _velocity(grid: Grid, coefficients: Coefficients, axis: int) -> FloatArray:
    """Return v across every face (faces, other cells); mixed terms have the mixed part of ½∇·a."""
    own = grid.axes[axis]
    a_cells = _along(coefficients.diffusion[:, axis, axis], grid, axis)
    (before, _), (after, _) = own.neighbour(0), own.neighbour(1)
    return np.asarray(
        coefficients.normal[axis][0] - (a_cells[after] - a_cells[before]) / (2 * own.gaps[:, None])
    )


def _flat_terms(grid: Grid, coefficients: Coefficients, axis: int, scheme: Scheme) -> FlatTerms:
    """Return `face_terms` as flat arrays: face, cell and coefficient."""
    shape = coefficients.normal[axis][0].shape
    terms = face_terms(grid, coefficients, axis, scheme)
    faces = np.concatenate([np.arange(shape[0] * shape[1])] * len(terms))
    columns = np.concatenate([cells.ravel() for cells, _, _, _ in terms])
    rates = np.concatenate(
        [np.broadcast_to(coefficient, shape).ravel() for _, coefficient, _, _ in terms]
    )
    closed = coefficients.closed
    if closed is not None:
        own, numbers = grid.axes[axis], cell_numbers(grid, axis)
        shut = (closed[numbers[own.neighbour(0)[0]]] | closed[numbers[own.neighbour(1)[0]]]).ravel()
        nearest = np.concatenate([cells.ravel() for _, _, cells, _ in terms])
        rates = np.where(shut[faces], 0.0, rates)
        # The density is continued evenly into closed cells.
        columns = np.where(closed[columns], nearest, columns)
    return faces, columns, rates


def cell_numbers(grid: Grid, axis: int) -> IndexArray:
    """Return the cells' numbers as an array (cells of the axis, cells of the other axis)."""
    table = np.arange(grid.volumes.size).reshape(grid.shape)
    return table if axis == 0 else table.T


def _along(values: FloatArray, grid: Grid, axis: int) -> FloatArray:
    """Return values of the cells (n,) as an array (cells of the axis, cells of the other axis)."""
    table = values.reshape(grid.shape)
    return table if axis == 0 else table.T


def _fitted(half_drop: FloatArray, spread: FloatArray) -> FloatArray:
    """Return spread · z coth z, z = half_drop / spread, which makes central differences exact.

    Without noise it is |half_drop|.
    """
    steep = np.abs(half_drop)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        fitted = steep / np.tanh(steep / spread)
    return np.where(steep > 1e-8 * spread, np.where(spread > 0, fitted, steep), spread)


def _parabola(axis: Axis, v: FloatArray) -> list[tuple[int, FloatArray]]:
    """Return the shares of the four cells around each face in the density there.

    Each entry is a step and its shares (faces, 1 or n).
    """
    forward, backward = axis.parabola_shares
    positive = v > 0
    inside_before, inside_after = axis.neighbour(-1)[1][:, None], axis.neighbour(2)[1][:, None]
    first = np.where(inside_before, forward, np.array([0.0, 1.0, 0.0]))
    second = np.where(inside_after, backward, np.array([0.0, 1.0, 0.0]))
    return [
        (-1, np.where(positive, first[:, :1], 0.0)),
        (0, np.where(positive, first[:, 1:2], second[:, :1])),
        (1, np.where(positive, first[:, 2:], second[:, 1:2])),
        (2, np.where(positive, 0.0, second[:, 2:])),
    ]


def _differences(axis: Axis) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return lower cell, upper cell and distance of central differences along an axis, each (n,).

    Differences are one-sided at walls.
    """
    index = np.arange(axis.count)
    if axis.circle:
        lower, upper = (index - 1) % axis.count, (index + 1) % axis.count
        return lower, upper, axis.widths + (axis.widths[lower] + axis.widths[upper]) / 2
    lower, upper = np.maximum(index - 1, 0), np.minimum(index + 1, axis.count - 1)
    return lower, upper, axis.centres[upper] - axis.centres[lower]
