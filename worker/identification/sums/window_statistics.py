"""Sums over windows of instrument-weighted products by block, and a bounded sample of windows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories, Windows
from worker.identification.data.windows import Space, Stretch, stretches
from worker.identification.sums.block_sums import NO_BLOCKS, BlockSums
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.rules import SamplingRule
from worker.identification.sums.window_products import WindowProducts, layout_of, products_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JointStatistics:
    """Sums over windows n with instruments Φ_j(z_n) at their first sample.

    Statistics of disjoint sets of windows are merged by `+`.

    n_windows      number of windows
    time           Σ h
    time_squared   Σ h²
    products       columns (n_blocks, n_instruments, n_columns) of Σ Φ_j products
    """

    n_windows: int
    time: float
    time_squared: float
    products: WindowProducts

    def of_blocks(self, every: int) -> "JointStatistics":
        """Return the statistics of every k-th block, with time and windows in proportion."""
        chosen = WindowProducts(self.products.columns[::every], self.products.layout)
        share = len(chosen.columns) / len(self.products.columns)
        return JointStatistics(
            round(share * self.n_windows), share * self.time, share * self.time_squared, chosen
        )

    def __add__(self, other: "JointStatistics") -> "JointStatistics":
        if self.products.layout != other.products.layout:
            raise ValueError("statistics for different rules or libraries do not add")
        return JointStatistics(
            self.n_windows + other.n_windows,
            self.time + other.time,
            self.time_squared + other.time_squared,
            WindowProducts(
                np.concatenate([self.products.columns, other.products.columns]),
                self.products.layout,
            ),
        )


class Evaluated(Protocol):
    """Instruments of any kind."""

    @property
    def library(self) -> Library:
        """Library of the internal functions."""

    def at(self, y: Floats) -> tuple[Floats, ...]:
        """Evaluate groups of instruments, each (n, …), at internal states (n, d)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class JointPass:
    """Pass for Σ Φ_j products (n, n_instruments, n_columns) and Σ h, Σ h² (n, 2) of every block.

    blocks    (n_blocks, 2) first sample of each and one past its last
    windows   windows to walk
    """

    data: Trajectories
    blocks: Integers
    space: Space
    windows: Windows
    instruments: Instruments
    rule: SamplingRule

    def sums(self) -> BlockSums:
        """Take the sums of the blocks."""
        walk = stretches(self.data, self.space, self.blocks, self.windows)
        return sums_of_stretches(walk, self.space, self.instruments, self.rule)


def gather(
    walk: Iterator[Stretch], space: Space, instruments: Evaluated, rule: SamplingRule
) -> JointStatistics | None:
    """Sum over the windows in one pass; None where there are none.

    Parameters
    ----------
    walk, space, instruments, rule : windows, internal units, instruments, sampling rule
    """
    return joint_statistics(
        sums_of_stretches(walk, space, instruments, rule), space, instruments, rule
    )


def sums_of_stretches(
    walk: Iterator[Stretch], space: Space, instruments: Evaluated, rule: SamplingRule
) -> BlockSums:
    """Take the sums of a `JointPass`, by a matrix product a stretch, so that no array grows.

    Parameters
    ----------
    walk, space, instruments, rule : windows, internal units, instruments, sampling rule
    """
    library, lead = instruments.library, rule.lead
    sums: dict[int, Floats] = {}
    steps: dict[int, Floats] = {}
    counts: Counter[int] = Counter()
    for stretch in walk:
        products = products_of(stretch, space, library, rule)
        total = np.concatenate(
            [part.T @ products.columns for part in instruments.at(stretch.y[stretch.points[0]])]
        )
        step = stretch.steps[lead:].mean(axis=0)
        times = np.array([step.sum(), step @ step])
        block = stretch.block
        sums[block] = sums[block] + total if block in sums else total
        steps[block] = steps[block] + times if block in steps else times
        counts[block] += stretch.size
    if not sums:
        return NO_BLOCKS
    return BlockSums(
        np.array(list(counts.values())),
        (np.stack(list(sums.values())), np.stack(list(steps.values()))),
    )


def joint_statistics(
    found: BlockSums, space: Space, instruments: Evaluated, rule: SamplingRule
) -> JointStatistics | None:
    """Make statistics from the sums of a `JointPass`; None where there are no windows.

    Parameters
    ----------
    found : sums of the pass
    space, instruments, rule : internal units, instruments and sampling rule of the pass
    """
    if not found.sums:
        return None
    columns, steps = found.sums
    time, time_squared = steps.sum(axis=0)
    layout = layout_of(space, instruments.library, rule)
    return JointStatistics(
        int(found.counts.sum()), float(time), float(time_squared), WindowProducts(columns, layout)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Sample of every k-th window.

    instrument    (n, d) states at the windows' first samples
    functions     (n, n_functions) internal functions there
    products      columns (n, n_columns)
    step          (n,) h
    follows       (n,) whether the window starts one sample after the one before it here
    run           length of the runs of windows; ∞ where all windows of the record are here
    """

    instrument: Floats
    functions: Floats
    products: WindowProducts
    step: Floats
    follows: NDArray[np.bool_]
    run: float

    def pairs(self, lag: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the positions of windows, and of those that start `lag` samples later."""
        together = np.ones(max(len(self.follows) - lag, 0), dtype=np.bool_)
        for k in range(1, lag + 1):
            together &= self.follows[k : len(self.follows) - lag + k]
        early = np.flatnonzero(together)
        return early, early + lag


def take_sample(
    walk: Iterator[Stretch], space: Space, instruments: Instruments, rule: SamplingRule, run: float
) -> Sample:
    """Collect all windows of a walk. Raise ValueError where there are none.

    Parameters
    ----------
    walk, space, instruments, rule : windows, internal units, instruments, sampling rule
    run : length of the runs of windows in the walk
    """
    library = instruments.library
    states, columns, steps, follows, layout = [], [], [], [], None
    for stretch in walk:
        products = products_of(stretch, space, library, rule)
        layout = products.layout
        columns.append(products.columns)
        states.append(stretch.y[stretch.points[0]])
        steps.append(stretch.steps[rule.lead :].mean(axis=0))
        follows.append(stretch.follows)
    if layout is None:
        raise ValueError("the walk has no windows")
    instrument = np.concatenate(states)
    return Sample(
        instrument,
        library.internal(instrument),
        WindowProducts(np.concatenate(columns), layout),
        np.concatenate(steps),
        np.concatenate(follows),
        run,
    )
