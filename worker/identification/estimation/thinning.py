"""Thinning of records with persistent increments.

A path with inertia, or one that an instrument averaged, is smooth at short steps and a diffusion at
longer ones, where a first-order model describes it as long as they are short beside relaxation.
"""

from collections.abc import Iterator
from dataclasses import replace

import numba as nb
import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories
from worker.identification.estimation.problem import Problem

FEWEST_INCREMENTS = 100


def at_longer_steps(problem: Problem) -> Iterator[Problem]:
    """Yield the problem with samples at least 2, 4, 8, … median steps apart, while any are left.

    A path with inertia, or one that an instrument averaged, is smooth at short steps and a
    diffusion at longer ones. Units and library stay."""
    least = 2 * problem.space.time
    while True:
        data = thinned(problem.data, least)
        slower = replace(problem, data=data, least_step=least)
        if data.n_increments < FEWEST_INCREMENTS or problem.longest_step < 1.5 * least:
            return
        yield slower
        least *= 2


def thinned(data: Trajectories, least: float) -> Trajectories:
    """Keep each segment's first sample, and samples at least `least` [time] after the last kept."""
    kept = _kept(np.asarray(data.times), data.segments, least * (1 - 1e-6))
    stops = np.cumsum([np.count_nonzero(kept[start:stop]) for start, stop, _ in data.segments])
    segments = np.stack(
        [np.concatenate([[0], stops[:-1]]), stops, data.segments[:, 2]], axis=1
    ).astype(np.int64)
    return Trajectories(np.asarray(data.states)[kept], np.asarray(data.times)[kept], segments)


@nb.njit(cache=True, nogil=True)
def _kept(
    times: NDArray[np.float64], segments: NDArray[np.int64], least: float
) -> NDArray[np.bool_]:
    kept = np.zeros(len(times), dtype=np.bool_)
    for s in range(segments.shape[0]):
        last = -np.inf
        for n in range(segments[s, 0], segments[s, 1]):
            if times[n] - last >= least:
                kept[n] = True
                last = times[n]
    return kept
