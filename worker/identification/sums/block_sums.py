"""Passes over all increments, block by block, which can be shared out among processes.

Blocks are independent of each other. What a pass adds up is kept by block and put together in the
order of the blocks, so the sums are equal to the last bit however the pass was shared out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Integers, Trajectories

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BlockSums:
    """Sums over the blocks that hold any windows; `+` appends further blocks.

    counts   (n,) windows of each block
    sums     arrays (n, …)
    """

    counts: Integers
    sums: tuple[Floats, ...]

    def __add__(self, other: "BlockSums") -> "BlockSums":
        # Where no block holds windows, the sums have no shape yet.
        if not len(other.counts):
            return self
        if not len(self.counts):
            return other
        return BlockSums(
            np.concatenate([self.counts, other.counts]),
            tuple(np.concatenate(pair) for pair in zip(self.sums, other.sums, strict=True)),
        )


NO_BLOCKS = BlockSums(np.zeros(0, dtype=np.int64), ())


class Pass(Protocol):
    """Frozen dataclass that holds all that is needed to take the sums of its blocks.

    data     record whose increments are summed
    blocks   (n_blocks, 2) first sample of each and one past its last
    """

    @property
    def data(self) -> Trajectories:
        """Record whose increments are summed."""

    @property
    def blocks(self) -> Integers:
        """First sample of each block and one past its last; (n_blocks, 2)."""

    def sums(self) -> BlockSums | None:
        """Take the sums; None where this kind of pass turns out not to fit the data."""
        ...


Summing = Callable[[Pass], BlockSums | None]
"""Function that takes the sums of a pass, in this process or elsewhere."""


def sums_here(work: Pass) -> BlockSums | None:
    """Take the sums of a pass in this process, one block after the other."""
    return work.sums()


def n_samples(work: Pass) -> int:
    """Count the samples in all blocks."""
    return int(np.diff(work.blocks, axis=1).sum())


def blocks_between(edges: Integers, every: int = 1) -> Integers:
    """Return edges (n_blocks + 1,) as blocks (n_blocks, 2), or every k-th of them."""
    return np.stack([edges[:-1], edges[1:]], axis=1)[::every]
