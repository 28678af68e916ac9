"""Passes over all increments, block by block. Blocks do not know of each other, so a pass can be shared out among processes.

What a pass adds up is kept by block and put together in the blocks' order: however it was shared out, the sums are the same to
the last bit.
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
    """Of those blocks that hold any windows; `+` appends further blocks.

    counts   (n,) windows
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
    """A frozen dataclass that says all that is needed to take the sums of its blocks.

    data     whose increments are summed
    blocks   (n_blocks, 2) first sample of each and one past its last
    """

    @property
    def data(self) -> Trajectories: ...

    @property
    def blocks(self) -> Integers: ...

    def sums(self) -> BlockSums | None:
        """None where this kind of pass turns out not to fit the data."""
        ...


Summing = Callable[[Pass], BlockSums | None]
"""Takes the sums of a pass, here or elsewhere."""


def sums_here(work: Pass) -> BlockSums | None:
    """In this process, one block after the other."""
    return work.sums()


def n_samples(work: Pass) -> int:
    """In all blocks."""
    return int(np.diff(work.blocks, axis=1).sum())


def blocks_between(edges: Integers, every: int = 1) -> Integers:
    """Edges (n_blocks + 1,) as (n_blocks, 2); or of every so-manieth block only."""
    return np.stack([edges[:-1], edges[1:]], axis=1)[::every]
