"""How often the data went from one well to another: what an escape time rests on."""

import numpy as np

from worker.identification.data.trajectories import CHUNK, Trajectories


def count_crossings(data: Trajectories, low: float, high: float) -> int:
    """Passages from x ≤ low to x ≥ high or back, inside trajectories; between two trajectories nothing crosses.

    low, high   e.g. the bottoms of two neighbouring wells [state]
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
