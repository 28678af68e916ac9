"""Sums of passes over the data: in shards, which workers share, and from a cache."""

import hashlib
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
from worker.identification.sums.polynomial_moments import PowersPass

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


MOST = 32
"""Number of passes whose sums are kept; each takes some megabytes."""


class SumCache:
    """A `Summing` that keeps its last sums.

    taken    number of passes over the data
    shared   number of passes answered from the cache
    """

    def __init__(self, summing: Summing) -> None:
        self.taken = self.shared = 0
        self._summing = summing
        self._found: dict[str, tuple[int, BlockSums | None]] = {}

    def __call__(self, work: Pass) -> BlockSums | None:
        """Return a pass's sums, from the cache where they are known."""
        n_powers = work.n_powers if isinstance(work, PowersPass) else 0
        # A library of lower degree needs only the first of the same moments.
        key = hashlib.sha256(
            pack(replace(work, n_powers=0) if isinstance(work, PowersPass) else work)
        ).hexdigest()
        known = self._found.get(key)
        if known is not None and known[0] >= n_powers:
            self.shared += 1
            return _first(known[1], n_powers)
        found = self._summing(work)
        self.taken += 1
        for array in () if found is None else found.sums:
            array.setflags(write=False)
        self._found.pop(key, None)
        self._found[key] = n_powers, found
        while len(self._found) > MOST:
            del self._found[next(iter(self._found))]
        return found


def _first(found: BlockSums | None, n_powers: int) -> BlockSums | None:
    if found is None or not n_powers:
        return found
    return BlockSums(found.counts, tuple(sums[:, :n_powers] for sums in found.sums))
