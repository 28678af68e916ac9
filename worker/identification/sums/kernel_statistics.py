"""Sums over windows of kernel-weighted products, by block: all that estimators need of the data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Chunk
from worker.identification.sums.block_sums import NO_BLOCKS, BlockSums
from worker.identification.sums.kernels import (
    CellMoments,
    Cells,
    Kernels,
    accumulate,
    empty_moments,
    kernels_at_nodes,
)

Floats = NDArray[np.float64]
Weights = Callable[[Chunk], Floats]
"""Function that gives the per-window weights of a chunk; (n, n_weights)."""


@dataclass(frozen=True, slots=True, eq=False)
class WeakSystem:
    """Weak equations of one component, block by block: response ≈ design · coefficients.

    design     (n_blocks, n_kernels, n_functions)
    response   (n_blocks, n_kernels)
    noise      (n_blocks, n_kernels)   factor of the variance of measurement noise, where that is an
                                       unknown
    drift      (n_kernels, n_functions)    slope of the response in the drift's coefficients, where
                                           their error counts
    """

    design: Floats
    response: Floats
    noise: Floats | None = None
    drift: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KernelStatistics:
    """Sums over windows n with instrument z_n, their first point, in internal units.

    n_windows       number of windows
    cells           cells of the nodes
    time            (n_nodes,)                              quadrature weights of Σ f(z_n) Δt
    time_squared    (n_blocks, n_nodes)                     quadrature weights of Σ f(z_n) Δt²
    at_instrument   (n_blocks, n_kernels, n_functions)      Σ K_j(z_n) g_k(z_n) Δt
    sums            (n_blocks, n_kernels, n_weights)        Σ K_j(z_n) w_n, w_n of a sampling rule
    derived         sums of the first weights with K_j′, K_j″, …, where the rule asks for them

    Statistics without kernels have n_nodes in place of n_kernels.
    """

    n_windows: int
    cells: Cells
    time: Floats
    time_squared: Floats
    at_instrument: Floats
    sums: Floats
    derived: tuple[Floats, ...] = ()

    @property
    def nodes(self) -> Floats:
        """Nodes of the cells; (n_nodes,)."""
        return self.cells.nodes()

    def at_nodes(self, kernels: Kernels) -> Floats:
        """Evaluate kernels at the nodes; (n_kernels, n_nodes), read-only."""
        return kernels_at_nodes(kernels, self.cells)

    def of_blocks(self, every: int) -> "KernelStatistics":
        """Return the statistics of every k-th block, `time` and `n_windows` in proportion."""
        chosen = self.sums[::every]
        share = len(chosen) / len(self.sums)
        return KernelStatistics(
            round(share * self.n_windows),
            self.cells,
            share * self.time,
            self.time_squared[::every],
            self.at_instrument[::every],
            chosen,
            tuple(sums[::every] for sums in self.derived),
        )

    def under(self, kernels: Kernels, derived: Sequence[int] = ()) -> "KernelStatistics":
        """Return the statistics for these kernels, from statistics without kernels.

        Parameters
        ----------
        kernels : test functions
        derived : number of weights whose sums with K′, K″, … are taken, too
        """
        at_nodes = self.at_nodes(kernels)
        return replace(
            self,
            at_instrument=_weighted(at_nodes, self.at_instrument),
            sums=_weighted(at_nodes, self.sums),
            derived=tuple(
                _weighted(kernels_at_nodes(kernels, self.cells, order), self.sums[..., :columns])
                for order, columns in enumerate(derived, start=1)
            ),
        )


def merged(pieces: Sequence[KernelStatistics]) -> KernelStatistics:
    """Merge statistics of disjoint sets of windows. Raise ValueError where their cells differ."""
    if any(piece.cells != pieces[0].cells for piece in pieces):
        raise ValueError(
            "statistics on different cells do not add; make all with the same kernels and scales"
        )
    return KernelStatistics(
        n_windows=sum(piece.n_windows for piece in pieces),
        cells=pieces[0].cells,
        time=np.sum([piece.time for piece in pieces], axis=0),
        time_squared=np.concatenate([piece.time_squared for piece in pieces]),
        at_instrument=np.concatenate([piece.at_instrument for piece in pieces]),
        sums=np.concatenate([piece.sums for piece in pieces]),
        derived=tuple(
            np.concatenate(sums) for sums in zip(*(piece.derived for piece in pieces), strict=True)
        ),
    )


def _weighted(kernels_at_nodes: Floats, nodal: Floats) -> Floats:
    """Multiply (n_kernels, n_nodes) and (n_blocks, n_nodes, …) to (n_blocks, n_kernels, …)."""
    return np.ascontiguousarray(
        np.moveaxis(np.tensordot(kernels_at_nodes, nodal, axes=(1, 1)), 0, 1)
    )


def gather(
    chunks: Iterator[Chunk],
    library: Library,
    kernels: Kernels | None,
    cells: Cells,
    weights: Weights,
) -> KernelStatistics:
    """Sum over the windows in one pass, equation (M3) and its counterparts at later points.

    Parameters
    ----------
    chunks : windows
    library : library of the internal functions
    kernels : test functions; None for one sum at every node, which `KernelStatistics.under` takes
    cells : cells of the moments
    weights : function that gives the per-window weights
    """
    return statistics_of(sums_of_chunks(chunks, library, cells, weights), library, kernels, cells)


def sums_of_chunks(
    chunks: Iterator[Chunk], library: Library, cells: Cells, weights: Weights
) -> BlockSums:
    """Take the sums of a `WindowsPass`.

    Parameters
    ----------
    chunks, library, cells : windows, library of the internal functions, cells of the moments
    weights : function that gives the per-window weights
    """
    rough = _rough(library)

    def with_time(chunk: Chunk) -> Floats:
        step = chunk.step[:, None]
        columns = [step, step**2, weights(chunk)]
        return np.concatenate(
            [*columns, library.internal(chunk.left)[:, -rough:] * step] if rough else columns,
            axis=1,
        )

    blocks = list(_nodal_sums(chunks, cells, with_time))
    return (
        BlockSums(np.array([n for n, _ in blocks]), (np.array([nodal for _, nodal in blocks]),))
        if blocks
        else NO_BLOCKS
    )


def statistics_of(
    found: BlockSums,
    library: Library,
    kernels: Kernels | None,
    cells: Cells,
    derived: Sequence[int] = (),
) -> KernelStatistics:
    """Make statistics from the sums of a `WindowsPass`.

    Parameters
    ----------
    found, library : sums of the pass, library of the internal functions
    kernels : test functions, or None for statistics at the nodes
    cells : cells of the pass
    derived : number of weights whose sums with K′, K″, … are taken, too
    """
    nodes = cells.nodes()
    functions, rough = library.internal(nodes), _rough(library)
    if not found.sums:
        n_weights = 0
        n_kernels = len(nodes) if kernels is None else len(kernels.centres)
        return _empty(cells, n_kernels, library.internal_size, n_weights)
    (nodal,) = found.sums
    at_instrument = nodal[:, 0, :, None] * functions
    if rough:
        at_instrument[..., -rough:] = nodal[:, -rough:].transpose(0, 2, 1)
        nodal = nodal[:, :-rough]
    at_each = KernelStatistics(
        n_windows=int(found.counts.sum()),
        cells=cells,
        time=nodal[:, 0].sum(axis=0),
        time_squared=nodal[:, 1],
        at_instrument=at_instrument,
        sums=nodal[:, 2:].transpose(0, 2, 1),
    )
    return at_each if kernels is None else at_each.under(kernels, derived)


def _rough(library: Library) -> int:
    """Count the terms, the last ones, that may bend within a cell, as a square root near zero does.

    They are summed as they are, since the polynomial of a cell cannot follow them.
    """
    return 0 if library.period is not None else len(library.other)


def _empty(cells: Cells, n_kernels: int, n_functions: int, n_weights: int) -> KernelStatistics:
    n = len(cells.nodes())
    return KernelStatistics(
        0,
        cells,
        np.zeros(n),
        np.zeros((0, n)),
        np.zeros((0, n_kernels, n_functions)),
        np.zeros((0, n_kernels, n_weights)),
    )


def nodal_sums(chunks: Iterator[Chunk], cells: Cells, weights: Weights) -> Floats:
    """Sum quadrature weights of arbitrary per-window weights over all blocks; (n_weights, n_nodes).

    Parameters
    ----------
    chunks, cells : windows, cells of the moments
    weights : function that gives the per-window weights
    """
    return np.asarray(sum(nodal for _, nodal in _nodal_sums(chunks, cells, weights)))


def _nodal_sums(
    chunks: Iterator[Chunk], cells: Cells, weights: Weights
) -> Iterator[tuple[int, Floats]]:
    for _, block in groupby(chunks, key=lambda chunk: chunk.block):
        buffer, n = None, 0
        for chunk in block:
            values = weights(chunk)
            if buffer is None:
                buffer = empty_moments(cells, values.shape[1])
            accumulate(buffer, cells, chunk.left, values)
            n += chunk.size
        if buffer is not None:
            yield n, CellMoments(cells, buffer).at_nodes()
