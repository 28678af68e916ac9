"""Sums over increments of kernel-weighted products, block by block: all that the estimators need of the data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from worker.identification.cells import CellMoments, Cells, accumulate, empty_moments
from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.trajectories import Chunk

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KernelStatistics:
    """Sums over increments n of kernel-weighted products; `+` merges disjoint sets of increments. Internal units throughout.

    nodes                (n_nodes,)                        nodes of the cells
    time                 (n_nodes,)                        quadrature weights of Σ f(y_n) Δt
    time_squared         (n_blocks, n_nodes)               of Σ f(y_n) Δt²
    left_design          (n_blocks, n_kernels, n_functions)   Σ K_j(y_n) g_k(y_n) Δt
    right_design         (n_blocks, n_kernels, n_functions)   Σ K_j(y_n) g_k(y_{n+1}) Δt
    drift_response       (n_blocks, n_kernels)             Σ K_j(y_n) Δy_n
    quadratic_variation  (n_blocks, n_kernels)             Σ K_j(y_n) Δy_n²
    cross_design         (n_blocks, n_kernels, n_functions)   Σ K_j(y_n) g_k(y_{n+1}) Δy_n Δt
    """

    n_increments: int
    nodes: Floats
    time: Floats
    left_design: Floats
    right_design: Floats
    drift_response: Floats
    quadratic_variation: Floats
    cross_design: Floats
    time_squared: Floats

    def __add__(self, other: "KernelStatistics") -> "KernelStatistics":
        if not np.array_equal(self.nodes, other.nodes):
            raise ValueError("statistics on different cells do not add; make both with the same kernels and scales")
        blocks = ("left_design", "right_design", "drift_response", "quadratic_variation", "cross_design", "time_squared")
        return KernelStatistics(
            n_increments=self.n_increments + other.n_increments,
            nodes=self.nodes,
            time=self.time + other.time,
            **{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in blocks},
        )

    @property
    def n_blocks(self) -> int:
        return int(self.drift_response.shape[0])


def gather(chunks: Iterator[Chunk], library: Library, kernels: Kernels, cells: Cells) -> KernelStatistics:
    """One pass over the increments, equation (M3) and its counterparts at the right end of each increment."""
    at_nodes = kernels.at(cells.nodes())
    functions_at_nodes = library.internal(cells.nodes())
    size = library.internal_size
    sums = [_Block(at_nodes, functions_at_nodes, nodal, n, size) for n, nodal in _nodal_sums(chunks, cells, _weights(library))]
    return KernelStatistics(
        n_increments=sum(b.n_increments for b in sums),
        nodes=cells.nodes(),
        time=np.sum([b.nodal[0] for b in sums], axis=0),
        time_squared=np.array([b.nodal[3] for b in sums]),
        left_design=np.array([b.left_design() for b in sums]),
        right_design=np.array([b.right_design() for b in sums]),
        drift_response=np.array([b.at_kernels(b.nodal[1]) for b in sums]),
        quadratic_variation=np.array([b.at_kernels(b.nodal[2]) for b in sums]),
        cross_design=np.array([b.cross_design() for b in sums]),
    )


def nodal_sums(chunks: Iterator[Chunk], cells: Cells, weights: Callable[[Chunk], Floats]) -> Floats:
    """Quadrature weights of arbitrary per-increment weights, over all blocks; (n_weights, n_nodes)."""
    return np.asarray(sum(nodal for _, nodal in _nodal_sums(chunks, cells, weights)))


def _nodal_sums(chunks: Iterator[Chunk], cells: Cells, weights: Callable[[Chunk], Floats]) -> Iterator[tuple[int, Floats]]:
    for _, block in groupby(chunks, key=lambda chunk: chunk.block):
        buffer, n = None, 0
        for chunk in block:
            values = weights(chunk)
            if buffer is None:
                buffer = empty_moments(cells, values.shape[1])
            accumulate(buffer, cells, chunk.left, values)
            n += chunk.left.size
        if buffer is not None:
            yield n, CellMoments(cells, buffer).at_nodes()


def _weights(library: Library) -> Callable[[Chunk], Floats]:
    size = library.internal_size

    def weights(chunk: Chunk) -> Floats:
        difference = chunk.right - chunk.left
        out = np.empty((chunk.left.size, 4 + 2 * size))
        out[:, 0] = chunk.step
        out[:, 1] = difference
        out[:, 2] = difference**2
        out[:, 3] = chunk.step**2
        right = library.internal(chunk.right)
        np.multiply(right, chunk.step[:, None], out=out[:, 4 : 4 + size])
        np.multiply(out[:, 4 : 4 + size], difference[:, None], out=out[:, 4 + size :])
        return out

    return weights


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """One block's quadrature weights, contracted with the kernels where a property is read."""

    kernels: Floats
    functions: Floats
    nodal: Floats
    n_increments: int
    size: int

    def at_kernels(self, weights: Floats) -> Floats:
        return np.asarray(self.kernels @ weights)

    def left_design(self) -> Floats:
        return np.asarray(self.kernels @ (self.nodal[0][:, None] * self.functions))

    def right_design(self) -> Floats:
        return np.asarray(self.kernels @ self.nodal[4 : 4 + self.size].T)

    def cross_design(self) -> Floats:
        return np.asarray(self.kernels @ self.nodal[4 + self.size :].T)
