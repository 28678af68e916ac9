"""Increments of a record with the trajectory, and the part of it, that each is in."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories, Windows
from worker.identification.data.windows import Space, stretches

Floats = NDArray[np.float64]

PARTS = 32
"""Number of parts of a trajectory; a shorter one has as many as increments."""

LEAST_VARIANCE = 0.1
"""Share of its mean that the fitted diffusion has at least, where it weights residuals."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Increments between neighbouring samples, in internal units.

    trajectory   (n,) position of the trajectory among all
    part         (n,) number of the trajectory's part, 0 … PARTS − 1
    length       (n,) number of the trajectory's increments, with those across gaps
    instant      (n,) number of the sampling interval, by the clock of the record
    state        (n, d) state before the increment
    increment    (n, d)
    step         (n,) duration
    before       (n, J) internal functions before the increment
    after        (n, J) internal functions after it
    """

    trajectory: Integers
    part: Integers
    length: Integers
    instant: Integers
    state: Floats
    increment: Floats
    step: Floats
    before: Floats
    after: Floats

    def residuals(self, p: int, q: int, drift: Floats, diffusion: Floats) -> tuple[Floats, Floats]:
        """Compute the residuals of the trapezoid rule, (M5) and (M7); each (n,).

        Parameters
        ----------
        p, q : variables; the drift's residuals are those of p
        drift : (d, J) internal coefficients
        diffusion : (J,) internal coefficients of a_pq
        """
        after, half = self.after @ drift[[p, q]].T, self.step / 2
        moved = self.increment[:, p] - half * (self.before @ drift[p] + after[:, 0])
        one, other = self.increment[:, p], self.increment[:, q]
        square = one * other - half * (one * after[:, 1] + other * after[:, 0])
        return moved, square - half * ((self.before + self.after) @ diffusion)


def walk_pairs(
    data: Trajectories,
    space: Space,
    library: Library,
    windows: Windows,
    every_chunk: int = 1,
) -> Iterator[Pairs]:
    """Walk the increments of a record.

    Parameters
    ----------
    data : record
    space : its internal units
    library : terms
    windows : pairs of samples to walk
    every_chunk : k, to walk every k-th chunk only
    """
    _, number = np.unique(data.segments[:, 2], return_inverse=True)
    # Trajectories are numbered in the order in which they stand in the record.
    number = np.cumsum(np.diff(number, prepend=number[:1]) != 0)
    n = int(number[-1]) + 1
    first = data.segments[np.searchsorted(number, np.arange(n)), 0]
    last = data.segments[np.searchsorted(number, np.arange(n), side="right") - 1, 1]
    start = float(np.min(data.times[data.segments[:, 0]]))
    edges = np.array([data.segments[0, 0], data.segments[-1, 1]])
    low, high = windows.between
    for stretch in stretches(data, space, edges, windows, every_chunk=every_chunk):
        index = stretch.first + stretch.points[0]
        inside = (data.states[index, 0] >= low) & (data.states[index, 0] <= high)
        if not inside.any():
            continue
        index, points = index[inside], stretch.points[:, inside]
        trajectory = number[np.searchsorted(data.segments[:, 1], index, side="right")]
        length = (last - first - 1)[trajectory]
        functions = library.internal(stretch.y)
        yield Pairs(
            trajectory,
            (index - first[trajectory]) * PARTS // length,
            length,
            np.round((data.times[index] - start) / space.time).astype(np.int64),
            stretch.y[points[0], : space.dimension],
            stretch.displacements(space)[0][inside],
            stretch.steps[0, inside],
            functions.take(points[0], axis=0),
            functions.take(points[1], axis=0),
        )


def local_variance(before: Floats, diffusion: Floats) -> Floats:
    """Evaluate a fitted diffusion (J,) as a weight that is positive everywhere; (n,)."""
    a = before @ diffusion
    return np.asarray(np.maximum(a, LEAST_VARIANCE * max(float(np.abs(a).mean()), 1e-300)))
