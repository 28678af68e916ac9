"""Checks of the states that the data visit: empty arcs, an indefinite tensor."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import CHUNK, Trajectories

Floats = NDArray[np.float64]

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


TOLERANCE = 1e-6
"""Rounding of a zero eigenvalue of a degenerate tensor, over its mean diagonal."""


@dataclass(frozen=True, slots=True, eq=False)
class Indefinite:
    """States at which the tensor has a negative eigenvalue.

    share   share of all states that were checked
    worst   (d,) state with the lowest eigenvalue
    low     (d,) lower corner of the smallest box that holds these states
    high    (d,) upper corner of the box
    """

    share: float
    worst: Floats
    low: Floats
    high: Floats


def indefinite(states: Floats, functions: Floats, tensor: Floats) -> Indefinite | None:
    """Find where the tensor has a negative eigenvalue; None where it has none at any state.

    Parameters
    ----------
    states : (n, d)
    functions : (n, n_functions) internal functions at the states
    tensor : (d, d, n_functions) internal coefficients
    """
    a = np.einsum("pqk,nk->npq", tensor, functions, optimize=True)
    scale = np.sqrt(np.abs(np.einsum("npp->p", a)) / len(a))
    scale = np.where(scale > 0, scale, 1.0)
    lowest = np.linalg.eigvalsh(a / np.outer(scale, scale))[:, 0]
    fails = lowest < -TOLERANCE
    if not fails.any():
        return None
    where = states[fails]
    return Indefinite(
        float(fails.mean()), states[np.argmin(lowest)], where.min(axis=0), where.max(axis=0)
    )
