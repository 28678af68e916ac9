"""Parts of a circle where no sample was: nothing is known of a state there."""

from collections.abc import Iterator, Sequence

import numpy as np

from grammar.terms import variable_name
from worker.identification.checks.diagnostics import Finding
from worker.identification.data.trajectories import CHUNK, Trajectories

BINS = 360

LEAST_SHARE = 1 / 6
"""Of the circle: a narrower gap is the barrier between two states rather than a state."""


def unvisited(data: Trajectories, periods: Sequence[float | None]) -> Iterator[Finding]:
    """A warning for every angle with a wide arc that no sample is in."""
    for i, period in enumerate(periods):
        arc = None if period is None else empty_arc(data, i, period)
        if arc is not None:
            low, high = arc
            yield Finding(
                "unvisited",
                f"The angle {variable_name(i)} was never between {low:.4g} and {high:.4g}, of a period of {period:.6g}. A state "
                "there is unvisited: the model's values there are extrapolated, and it says nothing about that state's "
                "population or the rates into and out of it. Record longer, or start trajectories there.",
                {"variable": variable_name(i), "range": [low, high]},
            )


def empty_arc(data: Trajectories, variable: int, period: float) -> tuple[float, float] | None:
    """Ends of the widest arc without a sample, if it is wide: as the samples number angles, low < high [state]."""
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
    # In the turn in which the samples are: −180 … 180 as well as 0 … 360.
    low += period * np.floor((lowest - low) / period + 1)
    return float(low), float(low + gaps[widest] / BINS * period)
