"""Pairwise sums as moments of powers of the increments, in one compiled pass over the samples.

Where the library is polynomial and the clock regular, functions at the right end of an increment
are finite Taylor sums, g(y + Δ) = Σ_q Δ^q g^(q)(y) / q!, so that Σ t^p Δ^q in every cell (M13) is
all that the equations of Euler and of the trapezoid rule need.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import factorial

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from worker.identification.data.compiled import compiled
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Scales, Trajectories
from worker.identification.sums.block_sums import (
    NO_BLOCKS,
    BlockSums,
    Summing,
    blocks_between,
    sums_here,
)
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.kernels import ORDER, CellMoments, Cells, Kernels

Floats = NDArray[np.float64]

REGULAR = 1e-6
"""Relative deviation of a step up to which the clock counts as regular."""


def is_polynomial(library: Library) -> bool:
    """Return whether the Taylor sums end."""
    return not library.other and library.period is None


@dataclass(frozen=True, slots=True, eq=False)
class PowersPass:
    """Pass for the quadrature weights of Σ f(y) Δ^q, q = 0 …, by block; (n, n_powers, n_nodes).

    blocks            (n_blocks, 2) first sample of each and one past its last
    n_powers          number of powers q
    origin, unit      origin and unit of y [state]
    step              time between neighbouring samples [time]
    stride            samples from the first to the second point of an increment
    hop               samples from one increment's first point to the next one's
    """

    data: Trajectories
    blocks: Integers
    cells: Cells
    n_powers: int
    origin: float
    unit: float
    step: float
    stride: int = 1
    hop: int = 1

    def sums(self) -> BlockSums | None:
        """Take the sums of the blocks; None where the clock turns out not to be regular."""
        moments = np.zeros((len(self.blocks), self.cells.count, self.n_powers, ORDER))
        starts, stops = np.ascontiguousarray(self.blocks.T)
        counts = _accumulate(
            moments,
            self.data.states[:, 0],
            self.data.times,
            self.data.segments,
            starts,
            stops,
            self.stride,
            self.hop,
            self.origin,
            1 / self.unit,
            self.cells.low,
            1 / self.cells.width,
            self.stride * self.step,
        )
        if len(counts) and counts.min() < 0:
            return None
        filled = counts > 0
        powers = [CellMoments(self.cells, block).at_nodes() for block in moments[filled]]
        return BlockSums(counts[filled], (np.array(powers),)) if powers else NO_BLOCKS


def gather_by_powers(
    data: Trajectories,
    scales: Scales,
    edges: Integers,
    library: Library,
    kernels: Kernels | None,
    cells: Cells,
    stride: int = 1,
    hop: int = 1,
    every: int = 1,
    summing: Summing = sums_here,
) -> KernelStatistics | None:
    """Compute the statistics of the trapezoid's window weights, to rounding.

    They are None where the clock turns out not to be regular.

    Parameters
    ----------
    data : record of one variable
    scales : its internal units
    edges : (n_blocks + 1,) sample numbers at which blocks begin
    library : polynomial library
    kernels : test functions, or None for statistics at the nodes
    cells : cells of the moments
    stride, hop : samples between points of an increment, and between increments
    every : k, to take only every k-th block
    summing : function that takes the sums of the pass
    """
    n_powers = max(3, library.internal_degree + 2)
    blocks = blocks_between(edges, every)
    found = summing(
        PowersPass(
            data, blocks, cells, n_powers, scales.origin, scales.unit, scales.time, stride, hop
        )
    )
    if found is None:
        return None
    powers = found.sums[0] if found.sums else np.zeros((0, n_powers, cells.count * ORDER))
    return _as_trapezoid_sums(
        powers, int(found.counts.sum()), float(stride), library, kernels, cells
    )


def _as_trapezoid_sums(
    powers: Floats,
    n_windows: int,
    step: float,
    library: Library,
    kernels: Kernels | None,
    cells: Cells,
) -> KernelStatistics:
    """Make statistics from the quadrature weights (n_blocks, n_powers, n_nodes) of Σ f(y) Δ^q."""
    at_instrument, nodal = _taylor_sums(powers, _taylor(cells, library.internal_degree), step)
    at_each = KernelStatistics(
        n_windows=n_windows,
        cells=cells,
        time=step * powers[:, 0].sum(axis=0),
        time_squared=step**2 * powers[:, 0],
        at_instrument=np.moveaxis(at_instrument, 0, 1),
        sums=np.moveaxis(nodal, 0, 1),
    )
    return at_each if kernels is None else at_each.under(kernels)


@lru_cache(maxsize=16)
def _taylor(cells: Cells, degree: int) -> Floats:
    """Compute g^(q)(node) / q!; (q, n_nodes, n_functions)."""
    return np.array(
        [_derivatives(cells.nodes(), degree, q) / factorial(q) for q in range(degree + 1)]
    )


def _derivatives(y: Floats, degree: int, order: int) -> Floats:
    """Compute T_0^(order) … T_degree^(order) at y; (n, degree + 1)."""
    columns = [
        chebyshev.chebval(y, chebyshev.chebder(unit, order))
        if order
        else chebyshev.chebval(y, unit)
        for unit in np.eye(degree + 1)
    ]
    return np.stack([np.broadcast_to(column, y.shape) for column in columns], axis=1)


@compiled
def _taylor_sums(powers: Floats, taylor: Floats, step: float) -> tuple[Floats, Floats]:
    """Compute Σ g(y) Δt and the sums of the trapezoid's window weights at the nodes.

    They are (n_nodes, n_blocks, n_functions) and (n_nodes, n_blocks, 2 + 2 n_functions), nodes
    first, as in the product with kernels.
    """
    n_blocks, _, n_nodes = powers.shape
    n_functions = taylor.shape[2]
    at_instrument = np.empty((n_nodes, n_blocks, n_functions))
    nodal = np.empty((n_nodes, n_blocks, 2 + 2 * n_functions))
    for n in range(n_nodes):
        for block in range(n_blocks):
            row = nodal[n, block]
            row[0], row[1] = powers[block, 1, n], powers[block, 2, n]
            for f in range(n_functions):
                at_instrument[n, block, f] = step * powers[block, 0, n] * taylor[0, n, f]
                right = cross = 0.0
                # T_f has no more than f derivatives.
                for q in range(f + 1):
                    right += powers[block, q, n] * taylor[q, n, f]
                    cross += powers[block, q + 1, n] * taylor[q, n, f]
                row[2 + f], row[2 + n_functions + f] = step / 2 * right, step * cross
    return at_instrument, nodal


@compiled
def _accumulate(
    moments: Floats,
    states: Floats,
    times: Floats,
    segments: Integers,
    starts: Integers,
    stops: Integers,
    stride: int,
    hop: int,
    origin: float,
    per_unit: float,
    low: float,
    per_width: float,
    step: float,
) -> Integers:
    n_blocks = moments.shape[0]
    counts = np.zeros(n_blocks, np.int64)
    segment = 0
    for block in range(n_blocks):
        n, end = starts[block], stops[block]
        while n < end:
            while segment < segments.shape[0] and n >= segments[segment, 1]:
                segment += 1
            if segment == segments.shape[0]:
                break
            start, stop = max(n, segments[segment, 0]), min(end, segments[segment, 1] - stride)
            if stop > start:
                irregular = _add_stretch(
                    moments[block],
                    states,
                    times,
                    start,
                    stop,
                    stride,
                    hop,
                    origin,
                    per_unit,
                    low,
                    per_width,
                    step,
                    1.0,
                )
                if irregular > REGULAR * step:
                    counts[block] = -1
                    return counts
                counts[block] += (stop - start + hop - 1) // hop
            n = max(n + 1, min(end, segments[segment, 1]))
    return counts


@compiled
def _add_stretch(
    moments: Floats,
    states: Floats,
    times: Floats,
    start: int,
    stop: int,
    stride: int,
    hop: int,
    origin: float,
    per_unit: float,
    low: float,
    per_width: float,
    step: float,
    one: float,
) -> float:
    """Add the increments that begin at start, start + hop, …; return a step's largest deviation."""
    n_cells, n_powers, _ = moments.shape
    largest = 0.0
    for i in range(start, stop, hop):
        largest = max(largest, abs(times[i + stride] - times[i] - step))
        x = states[i]
        difference = (states[i + stride] - x) * per_unit
        position = ((x - origin) * per_unit - low) * per_width
        if position < 0.0 or position >= n_cells:
            continue
        cell = int(position)
        t = 2.0 * (position - cell) - 1.0
        # The powers are written out, with a 1 the compiler cannot see, so that all eight are done
        # alike, as two vectors of four.
        t2 = t * t
        t4 = t2 * t2
        w0, w1, w2, w3, w4, w5, w6, w7 = one, t, t2, t2 * t, t4, t4 * t, t4 * t2, t4 * t2 * t
        for q in range(n_powers):
            row = moments[cell, q]
            row[0] += w0
            row[1] += w1
            row[2] += w2
            row[3] += w3
            row[4] += w4
            row[5] += w5
            row[6] += w6
            row[7] += w7
            w0 *= difference
            w1 *= difference
            w2 *= difference
            w3 *= difference
            w4 *= difference
            w5 *= difference
            w6 *= difference
            w7 *= difference
    return largest
