"""Walls that reflect a path: ends of its range reached often and at full speed (docs/method.md §3).

A step that reaches a wall is turned back, and its residual has no mean of zero, whatever drift and
diffusion are. A window that starts several steps away is not affected, and its start was known
before its noise was drawn; so windows that start near a wall are left out, which biases nothing.
Where the noise vanishes at the end there is no wall, and nothing is left out: the steps of starts
next to the end are then far shorter than of those a few steps away.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories

Floats = NDArray[np.float64]

REACH = 5.0
"""Distance from which a wall does not affect a window of one or two steps [rms steps there]."""

OFTEN = 30
"""Samples within half a step of the end, and one in 500 of all, from which it is reached often."""

NEARBY = 3.0, 8.0
"""Distances from the end between which the step is full at a wall [rms steps at the end]."""

VANISHING = 1.75
"""Rms step there over that at the end, from which the noise vanishes at the end.

Measured on 10 000 samples: 1.2 to 1.63 at walls; at the ends of square-root and Jacobi processes
that are reached often, 1.86 to 4.8."""

AS_OFTEN = 0.5
"""Samples in the half step at the end over those in a half step beyond, from which they pile up.

At a wall the density is flat: 0.7 to 1.2. It falls to zero where a drift keeps the path away."""

ONE_SIGMA = 0.6827
"""Share of normal numbers within their rms."""

LEAST_KEPT = 0.2
"""Least share of the windows to be kept; with fewer the wall affects the path everywhere."""

SAMPLES = 200_000


@dataclass(frozen=True, slots=True)
class Walls:
    """Positions of walls, and the range out of their reach; infinite without a wall [state]."""

    low: float = -np.inf
    high: float = np.inf
    inner_low: float = -np.inf
    inner_high: float = np.inf

    def __bool__(self) -> bool:
        return bool(np.isfinite(self.low) or np.isfinite(self.high))


NO_WALLS = Walls()


def find_walls(data: Trajectories, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Walls:
    """Find the walls of one-dimensional data: declared ends that are reached, or ends of its range.

    bounds   declared ends, infinite where open [state]
    """
    left, steps = _steps(data)
    if left.size < 10 * OFTEN:
        return Walls()
    low, inner_low = _wall(left, steps, float(bounds[0]))
    high, inner_high = _wall(-left, steps, -float(bounds[1]))
    kept = np.mean((left >= inner_low) & (left <= -inner_high))
    return Walls(low, -high, inner_low, -inner_high) if kept > LEAST_KEPT else Walls()


def _wall(left: Floats, steps: Floats, declared: float) -> tuple[float, float]:
    """Return the wall below the data and the end of its reach; −∞ where there is none."""
    nowhere = -np.inf, -np.inf
    end = max(declared, float(left.min())) if np.isfinite(declared) else float(left.min())
    at_end = _size(steps)
    # The step of starts within one such step of the end: that of the noise there alone.
    for _ in range(20):
        near = left < end + at_end
        if np.count_nonzero(near) < OFTEN:
            return nowhere
        at_end = _size(steps[near])
    middle = (end + float(left.max())) / 2
    farthest = min(end + NEARBY[1] * at_end, middle)
    nearby = (left >= end + NEARBY[0] * at_end) & (left < farthest)
    if np.count_nonzero(nearby) < OFTEN:
        return nowhere
    step = _size(steps[nearby])
    if step > VANISHING * at_end:
        return nowhere
    at_the_end = left[left < end + step / 2]
    beyond = np.count_nonzero((left >= end + step) & (left < end + 1.5 * step))
    often = at_the_end.size >= max(OFTEN, left.size / 500) and at_the_end.size > AS_OFTEN * beyond
    # Values on a grid pile up at its ends without a wall.
    if not often or np.unique(at_the_end[:1000]).size < min(OFTEN, at_the_end.size) / 2:
        return nowhere
    return end, end + REACH * step


def _size(steps: Floats) -> float:
    """Compute the rms of normal steps from most of them: a few jumps at an end are no speed."""
    return float(np.quantile(np.abs(steps), ONE_SIGMA))


def _steps(data: Trajectories) -> tuple[Floats, Floats]:
    """Return about 200 000 states at most from the whole record, and the steps from them."""
    every = max(1, data.n_increments // SAMPLES)
    pieces = list(_pieces(data, every))
    return np.concatenate([x for x, _ in pieces]), np.concatenate([dx for _, dx in pieces])


def _pieces(data: Trajectories, every: int) -> Iterator[tuple[Floats, Floats]]:
    for start, stop, _ in data.segments:
        index = np.arange(start, stop - 1, every)
        x = np.asarray(data.states[index, 0])
        yield x, np.asarray(data.states[index + 1, 0]) - x
