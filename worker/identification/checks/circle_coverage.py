"""Arcs of a circle without a sample, where nothing is known of a state."""

import numpy as np

from worker.identification.data.trajectories import CHUNK, Trajectories

BINS = 360

LEAST_SHARE = 1 / 6
"""Least share of the circle; a narrower gap is a barrier between two states, not a state."""


def empty_arc(data: Trajectories, variable: int, period: float) -> tuple[float, float] | None:
    """Return the ends low < high of the widest arc without a sample [state]; None if it is narrow.

    The angles are in the turn in which the samples are.

    Parameters
    ----------
    data : trajectories
    variable : number of the angle
    period : its period [state]
    """
    count, lowest = np.zeros(BINS, dtype=np.int64), np.inf
    for start, stop, _ in data.segments:
        for left in range(int(start), int(stop), CHUNK):
            values = np.asarray(
                data.states[left : min(left + CHUNK, int(stop)), variable], dtype=np.float64
            )
            count += np.bincount(
                (values / period % 1 * BINS).astype(np.int64) % BINS, minlength=BINS
            )
            lowest = min(lowest, float(values.min()))
    seen = np.flatnonzero(count)
    gaps = np.diff(seen, append=seen[0] + BINS) - 1
    widest = int(np.argmax(gaps))
    if gaps[widest] < LEAST_SHARE * BINS:
        return None
    low = (seen[widest] + 1) / BINS * period
    # Samples may be in −180 … 180 as well as in 0 … 360.
    low += period * np.floor((lowest - low) / period + 1)
    return float(low), float(low + gaps[widest] / BINS * period)
