"""The generator on cells some of which swallow the process: what is left of it, and where it ends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from worker.generator.plane.grid import Grid, IndexArray
from worker.generator.plane.volumes import Coefficients, Schemes, absorbed_flux, cell_numbers, face_terms
from worker.generator.process import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Absorbing:
    """The process until it enters one of the sets that absorb it.

    free    (m,) numbers of the cells outside them
    matrix  (m, m) rate of change of the free cells' masses; its transpose acts on functions [1/time]
    exits   (m, sets) rate at which each free cell's mass enters each set [1/time]
    """

    free: IndexArray
    matrix: csc_array
    exits: FloatArray


def absorbing_generator(
    grid: Grid, coefficients: Coefficients, schemes: Schemes, absorbed: NDArray[np.int64], sets: int
) -> Absorbing:
    """The generator with p = 0 on the edges of the absorbing sets, which are faces of the grid.

    absorbed  (n₀, n₁) number of the set, 1 … sets, that each cell belongs to; 0 outside them

    The density next to an edge is the odd continuation of that outside; the flux into a set is fitted exponentially over the
    half cell before it, and so right with and without noise across the edge.
    """
    flat = absorbed.ravel()
    n = flat.size
    rows, columns, rates = [], [], []
    exits = np.zeros((n, sets))
    for axis in (0, 1):
        own, other = grid.axes[axis], grid.axes[1 - axis]
        numbers = cell_numbers(grid, axis)
        before, after = (numbers[own.neighbour(step)[0]].ravel() for step in (0, 1))
        length = np.tile(other.widths, len(own.faces))
        inner = (flat[before] == 0) & (flat[after] == 0)
        widths = [np.broadcast_to(w, grid.shape).ravel() for w in (grid.axes[0].widths[:, None], grid.axes[1].widths)]
        for column, coefficient, anchor, along in face_terms(grid, coefficients, axis, schemes[axis]):
            cells, values, owner = (np.broadcast_to(part, numbers[own.neighbour(0)[0]].shape).ravel() for part in (column, coefficient, anchor))
            lost = flat[cells] > 0
            values = np.where(lost, -values * widths[along][cells] / widths[along][owner], values)
            cells = np.where(lost, owner, cells)
            rate = np.where(inner, values * length, 0.0)
            rows += [before, after]
            columns += [cells, cells]
            rates += [-rate, rate]
        for cell, beyond, side in ((before, after, 1), (after, before, -1)):
            entering = np.flatnonzero((flat[cell] == 0) & (flat[beyond] > 0))
            flux = absorbed_flux(grid, coefficients, axis, side).ravel()[entering] * length[entering]
            at = cell[entering]
            rows.append(at)
            columns.append(at)
            rates.append(-flux)
            np.add.at(exits, (at, flat[beyond[entering]] - 1), flux)
    volumes = grid.volumes.ravel()
    row, column, rate = (np.concatenate(part) for part in (rows, columns, rates))
    free = np.flatnonzero(flat == 0)
    place = np.full(n, -1)
    place[free] = np.arange(len(free))
    used = (flat[row] == 0) & (flat[column] == 0) & (rate != 0)
    row, column, rate = row[used], column[used], rate[used]
    matrix = csc_array(coo_array((rate / volumes[column], (place[row], place[column])), shape=(len(free), len(free))))
    return Absorbing(free, matrix, exits[free] / volumes[free, None])
