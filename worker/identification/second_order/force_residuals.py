"""Second differences of a record's windows, and what the identified force leaves of them."""

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import measure_space
from worker.identification.errors import IdentificationError
from worker.identification.second_order.estimator import SecondOrderProblem, fit
from worker.identification.second_order.phase_space import force_library, measure_phase_space
from worker.identification.second_order.polishing import may_polish, polish
from worker.identification.second_order.record_windows import RecordWindows
from worker.identification.second_order.windows import pieces, shape_of
from worker.identification.selection.support_selection import BIC

Floats = NDArray[np.float64]

HARMONICS = 2
"""Highest harmonic of an angle in the force."""


def residuals_of_force(record: RecordWindows) -> tuple[Floats, Floats] | None:
    """Compute D and D − ∫wF over single steps; each (n_windows, n, d), in internal units.

    The force has the monomials up to degree three (two from three coordinates on, one from four on)
    and is estimated as that of a job is: instruments or the likelihood see through the noise.
    Without a fit there is None.
    """
    states, d = record.windows.states, len(record.periods)
    periods = tuple(
        None if period is None else period / float(unit)
        for period, unit in zip(record.periods, record.windows.units, strict=True)
    )
    degree = 3 if d <= 2 else 2 if d == 3 else 1
    # Of windows that overlap by half each second one has all samples.
    data = _as_trajectories(states[::2])
    try:
        space = measure_phase_space(data, measure_space(data, periods))
        library = force_library(space, degree, HARMONICS if any(periods) else 0)
        problem = SecondOrderProblem(data, space, library, BIC)
        found = fit(problem)
        if may_polish(problem):
            found = polish(problem, found)
    except IdentificationError:
        return None
    force = np.stack([s.estimate.internal for s in found.force])
    windows, shape = _as_trajectories(states), shape_of(1, noisy=False, powers=True)
    changes, rest = np.zeros(states.shape), np.zeros(states.shape)
    every, begun = np.array([[0, len(windows.states)]]), 0
    for piece in pieces(windows, space, library, shape, found.kicks, every):
        ended = begun + len(piece.change)
        changes.reshape(-1, d)[begun:ended] = piece.change
        rest.reshape(-1, d)[begun:ended] = piece.change - piece.terms @ force.T
        begun = ended
    inside = slice(shape.before, states.shape[1] - shape.after)
    return changes[:, inside], rest[:, inside]


def _as_trajectories(states: Floats) -> Trajectories:
    """Take each window as a trajectory, with times in steps; (n_windows, n, d)."""
    count, n, d = states.shape
    first = n * np.arange(count)
    return Trajectories(
        states.reshape(-1, d),
        np.tile(np.arange(float(n)), count),
        np.stack([first, first + n, np.arange(count)], axis=1),
    )
