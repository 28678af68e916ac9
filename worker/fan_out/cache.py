"""A cache of sums over the data, which several sets of parameters share."""

import hashlib
from dataclasses import replace

from worker.fan_out.serialization import pack
from worker.identification.sums.block_sums import BlockSums, Pass, Summing
from worker.identification.sums.polynomial_moments import PowersPass

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
