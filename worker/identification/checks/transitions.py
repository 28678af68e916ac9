"""Counts of the transitions between two states or sets that the data hold."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import CHUNK, Trajectories

Floats = NDArray[np.float64]
Counts = tuple[int, int]
"""Transitions from the first to the second, and back."""

Sides = Callable[[Floats], NDArray[np.int8]]
"""Side of states (n, d): −1 in the first set, 1 in the second, 0 in neither or in both."""


def count_transitions(data: Trajectories, sides: Sides) -> Counts:
    """Count passages from one set to another and back, inside trajectories.

    Parameters
    ----------
    data : trajectories
    sides : in which of the sets states are
    """
    there, back, side, trajectory = 0, 0, 0, None
    for number, states in _chunks(data):
        if number != trajectory:
            side, trajectory = 0, number
        found = sides(states)
        visited = found[found != 0]
        if visited.size:
            changes = np.diff(visited, prepend=side or visited[0])
            there += int(np.count_nonzero(changes > 0))
            back += int(np.count_nonzero(changes < 0))
            side = int(visited[-1])
    return there, back


def beyond(low: float, high: float) -> Sides:
    """Return on which side of the states low < high of one variable states are [state]."""

    def sides(states: Floats) -> NDArray[np.int8]:
        x = states[:, 0]
        return (x >= high).astype(np.int8) - (x <= low).astype(np.int8)

    return sides


def count_round(data: Trajectories, first: float, second: float, period: float) -> Counts:
    """Count passages from one angle to another and back, either way round, inside segments.

    A path passes the angles, on every turn, in the order of their crossings.

    Parameters
    ----------
    data : trajectories of one angle
    first, second : angles [state]
    period : period of the angle [state]
    """
    there = back = 0
    apart = np.mod(second - first, period)
    for start, stop, _ in data.segments:
        last = passed = np.zeros(0)
        for left in range(int(start), int(stop), CHUNK):
            chunk = np.asarray(data.states[left : min(left + CHUNK, int(stop)), 0], np.float64)
            x = np.unwrap(np.concatenate([last, chunk]), period=period)
            last = x[-1:]
            passed = np.concatenate([passed[-1:], _passed(x, first, apart, period)])
            jumps = np.abs(np.diff(passed))
            from_first = (jumps + (passed[:-1] % 2 == 0)) // 2
            there += int(from_first.sum())
            back += int((jumps - from_first).sum())
    return there, back


def _passed(x: Floats, first: float, apart: float, period: float) -> Floats:
    """Return the numbers of the angles that a path passes: even are the first, odd the second."""
    turn, rest = np.divmod(x - first, period)
    below = 2 * turn + (rest >= apart)
    step = np.diff(below)
    up, moved = step > 0, step != 0
    entered = np.where(up, below[:-1] + 1, below[:-1])
    left = np.where(up, below[1:], below[1:] + 1)
    return np.stack([entered[moved], left[moved]], axis=1).ravel()


def _chunks(data: Trajectories) -> Iterator[tuple[int, Floats]]:
    for start, stop, number in data.segments:
        for left in range(int(start), int(stop), CHUNK):
            yield int(number), np.asarray(data.states[left : min(left + CHUNK, int(stop))])
