"""Generator with absorbing cells: the remaining process, and where it ends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from worker.generator.plane.finite_volumes import (
    Coefficients,
    FaceTerm,
    absorbed_flux,
    cell_numbers,
)
from worker.generator.plane.grid import Grid, IndexArray
from worker.generator.process import FloatArray

SHUT = -1
"""Owner of cells that the process never enters."""


@dataclass(frozen=True, slots=True, eq=False)
class Absorbing:
    """Process until it enters an absorbing set.

    free    (m,) numbers of the cells outside the sets
    matrix  (m, m) rate of change of the free cells' masses, transposed for functions [1/time]
    exits   (m, sets) rate at which each free cell's mass enters each set [1/time]
    """

    free: IndexArray
    matrix: csc_array
    exits: FloatArray


def absorbing_generator(
    grid: Grid,
    coefficients: Coefficients,
    terms: tuple[list[FaceTerm], list[FaceTerm]],
    absorbed: NDArray[np.int64],
    sets: int,
) -> Absorbing:
    """Build the generator with p = 0 on the edges of absorbing sets, which are faces of the grid.

    The density next to an edge is the odd continuation of that outside. The flux into a set is
    fitted exponentially over the half cell before it, and so is right with and without noise across
    the edge.

    Parameters
    ----------
    grid, coefficients : cells, and drift and diffusion on them
    terms : terms of the flux through the faces of either axis, see `face_terms`
    absorbed : (n₀, n₁) number of each cell's set, 1 … sets; 0 outside, SHUT for closed cells
    sets : number of absorbing sets
    """
    owner = absorbed.ravel()
    pieces: list[tuple[IndexArray, IndexArray, FloatArray]] = []
    exits = np.zeros((owner.size, sets))
    for axis in (0, 1):
        own, other = grid.axes[axis], grid.axes[1 - axis]
        numbers = cell_numbers(grid, axis)
        before, after = (numbers[own.neighbour(step)[0]].ravel() for step in (0, 1))
        length = np.tile(other.widths, len(own.faces))
        pieces += _between_free_cells(grid, terms[axis], owner, before, after, length)
        for cell, beyond, side in ((before, after, 1), (after, before, -1)):
            entering = np.flatnonzero((owner[cell] == 0) & (owner[beyond] > 0))
            flux = (absorbed_flux(grid, coefficients, axis, side).ravel() * length)[entering]
            pieces.append((cell[entering], cell[entering], -flux))
            np.add.at(exits, (cell[entering], owner[beyond[entering]] - 1), flux)
    volumes = grid.volumes.ravel()
    row, column, rate = (np.concatenate(part) for part in zip(*pieces, strict=True))
    free = np.flatnonzero(owner == 0)
    place = np.zeros(owner.size, dtype=np.int64)
    place[free] = np.arange(len(free))
    matrix = coo_array(
        (rate / volumes[column], (place[row], place[column])), shape=(len(free), len(free))
    )
    return Absorbing(free, csc_array(matrix), exits[free] / volumes[free, None])


def _between_free_cells(
    grid: Grid,
    terms: list[FaceTerm],
    owner: IndexArray,
    before: IndexArray,
    after: IndexArray,
    length: FloatArray,
) -> list[tuple[IndexArray, IndexArray, FloatArray]]:
    """Return the flux through an axis's faces between free cells.

    Rows, columns and rates are per unit of the column's density.
    """
    inner = np.flatnonzero((owner[before] == 0) & (owner[after] == 0))
    widths = [
        np.broadcast_to(w, grid.shape).ravel()
        for w in (grid.axes[0].widths[:, None], grid.axes[1].widths)
    ]
    pieces: list[tuple[IndexArray, IndexArray, FloatArray]] = []
    for cells, coefficient, nearest, along in terms:
        column, own = cells.ravel()[inner], nearest.ravel()[inner]
        rate = np.broadcast_to(coefficient, cells.shape).ravel()[inner] * length[inner]
        # Beyond the edge of a set the density is continued oddly, so that it vanishes on the edge.
        # Into closed cells it is continued evenly.
        rate = np.where(owner[column] > 0, -rate * widths[along][column] / widths[along][own], rate)
        column = np.where(owner[column] != 0, own, column)
        pieces += [(before[inner], column, -rate), (after[inner], column, rate)]
    return pieces
