"""The policy by which passes over the data are split into shards, and the sums of one shard."""

from dataclasses import replace
from math import ceil

import numpy as np

from worker.fan_out.serialization import pack, unpack
from worker.fan_out.shards import LeaseCheck, Share
from worker.identification.sums.block_sums import (
    NO_BLOCKS,
    BlockSums,
    Pass,
    Summing,
    n_samples,
    sums_here,
)

SHARDS_AT_THRESHOLD = 4
"""Number of shards of a pass that just exceeds the threshold.

The number grows with the pass, up to one a block. A lost worker's shard is summed again.
"""


def summing_with(share: Share, fan_out_increments: float) -> Summing:
    """Return a `Summing` that shares longer passes among workers and sums shorter ones here."""

    def summing(work: Pass) -> BlockSums | None:
        longer = n_samples(work) / fan_out_increments
        shards = min(len(work.blocks), ceil(SHARDS_AT_THRESHOLD * longer))
        if longer <= 1 or shards < 2:
            return sums_here(work)
        parts = share(
            pack(work),
            shards,
            lambda number, check_lease: packed_sums(work, shards, number, check_lease),
        )
        total = NO_BLOCKS
        for part in parts:
            found: BlockSums | None = unpack(part)
            if found is None:
                return None
            total = total + found
        return total

    return summing


def packed_sums(work: Pass, shards: int, number: int, check_lease: LeaseCheck) -> bytes:
    """Sum one shard block by block and pack its sums. Raises what `check_lease` raises."""
    total = NO_BLOCKS
    for block in np.array_split(work.blocks, shards)[number]:
        check_lease()
        found = replace(work, blocks=block[None]).sums()  # type: ignore[type-var]  # a Pass is a dataclass
        if found is None:
            return pack(None)
        total = total + found
    return pack(total)
