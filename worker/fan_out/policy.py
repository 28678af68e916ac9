"""Which passes over the data are shared out, in how many shards, and what a shard's part is."""

from dataclasses import replace
from math import ceil

import numpy as np

from worker.fan_out.serialization import pack, unpack
from worker.fan_out.shards import Share, Wanted
from worker.identification.sums.block_sums import (
    NO_BLOCKS,
    BlockSums,
    Pass,
    Summing,
    n_samples,
    sums_here,
)

SHARDS_AT_THRESHOLD = 4
"""Of a pass that is just long enough; of a longer one as many more, up to one a block. What a lost worker had is summed again."""


def summing_with(share: Share, fan_out_increments: float) -> Summing:
    """A pass over more increments than that is shared out, any other one summed here."""

    def summing(work: Pass) -> BlockSums | None:
        longer = n_samples(work) / fan_out_increments
        shards = min(len(work.blocks), ceil(SHARDS_AT_THRESHOLD * longer))
        if longer <= 1 or shards < 2:
            return sums_here(work)
        parts = share(
            pack(work), shards, lambda number, wanted: packed_sums(work, shards, number, wanted)
        )
        total = NO_BLOCKS
        for part in parts:
            found: BlockSums | None = unpack(part)
            if found is None:
                return None
            total = total + found
        return total

    return summing


def packed_sums(work: Pass, shards: int, number: int, wanted: Wanted) -> bytes:
    """The part of one shard, summed block by block. Raises what `wanted` raises."""
    total = NO_BLOCKS
    for block in np.array_split(work.blocks, shards)[number]:
        wanted()
        found = replace(work, blocks=block[None]).sums()  # type: ignore[type-var]  # a Pass is a dataclass
        if found is None:
            return pack(None)
        total = total + found
    return pack(total)
