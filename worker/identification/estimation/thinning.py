"""Persistent increments: the same record at longer steps, the shortest at which its residuals are uncorrelated.

A path with inertia, or one that an instrument averaged, is smooth at short steps and a diffusion at longer ones. There a model
of first order describes it, as long as the steps are still short beside its relaxation.
"""

from collections.abc import Iterator
from dataclasses import replace

import numba as nb
import numpy as np

from worker.identification.data.trajectories import Trajectories
from worker.identification.estimation.problem import Problem

FEWEST_INCREMENTS = 100


def at_longer_steps(problem: Problem) -> Iterator[Problem]:
    """The problem on samples at least 2, 4, 8, … median steps apart, while increments are left. Units and library stay."""
    least = 2 * problem.space.time
    while True:
        data = thinned(problem.data, least)
        slower = replace(problem, data=data, least_step=least)
        if data.n_increments < FEWEST_INCREMENTS or problem.longest_step < 1.5 * least:
            return
        yield slower
        least *= 2


def thinned(data: Trajectories, least: float) -> Trajectories:
    """Of each segment the first sample, and every one at least this long after the last that was kept [time]."""
    kept = _kept(np.asarray(data.times), data.segments, least * (1 - 1e-6))
    stops = np.cumsum([np.count_nonzero(kept[start:stop]) for start, stop, _ in data.segments])
    segments = np.stack(
        [np.concatenate([[0], stops[:-1]]), stops, data.segments[:, 2]], axis=1
    ).astype(np.int64)
    return Trajectories(np.asarray(data.states)[kept], np.asarray(data.times)[kept], segments)


@nb.njit(cache=True, nogil=True)
def _kept(times, segments, least):  # type: ignore[no-untyped-def]
    kept = np.zeros(len(times), dtype=np.bool_)
    for s in range(segments.shape[0]):
        last = -np.inf
        for n in range(segments[s, 0], segments[s, 1]):
            if times[n] - last >= least:
                kept[n] = True
                last = times[n]
    return kept
