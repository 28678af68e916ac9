"""Transitions of the data between wells, on which an escape time rests."""

import numpy as np

from worker.identification.data.trajectories import CHUNK, Trajectories


def count_crossings(data: Trajectories, low: float, high: float) -> int:
    """Count passages from x ≤ low to x ≥ high or back, inside trajectories.

    Parameters
    ----------
    data : trajectories of one variable
    low : lower state, such as the bottom of a well [state]
    high : higher state, such as the bottom of the next well [state]
    """
    count, side, trajectory = 0, 0, None
    for start, stop, number in data.segments:
        if number != trajectory:
            side, trajectory = 0, number
        for left in range(int(start), int(stop), CHUNK):
            x = np.asarray(data.states[left : min(left + CHUNK, int(stop)), 0])
            sides = np.sign((x >= high).astype(np.int8) - (x <= low).astype(np.int8))
            visited = sides[sides != 0]
            if not visited.size:
                continue
            count += int(np.count_nonzero(np.diff(visited))) + int(side != 0 and visited[0] != side)
            side = int(visited[-1])
    return count
