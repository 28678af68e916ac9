"""A test whether the sampling interval depends on the state (docs/method.md §3, M51).

Windows of equal steps are then chosen by what the path does in them: samples taken at events are
far apart where events are rare, and equal steps are found where they are frequent.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from worker.identification.data.trajectories import Integers, Trajectories
from worker.identification.data.windows import Space

Floats = NDArray[np.float64]

STRETCHES = 48
"""Stretches of the record, whose scatter gives the error."""

SHORTEST, LONGEST = 20, 2_000
"""Steps in a stretch: fewer make a mean of their own, more are not needed for the test's power."""

EQUAL = 0.02
"""Spread of the steps, in medians, up to which they are equal, as in `Windows.even`."""

LONGEST_STEP = 4.0
"""Medians at which a step is cut off: single gaps would otherwise outweigh all others."""

ROUNDING = 1e-6
"""Difference of a step from the others, in medians, that time stamps have by rounding."""

FEWEST_SEGMENTS = 8
"""Segments that show a common schedule."""

FEWEST = 4
"""Stretches with steps that vary, per function, below which nothing can be said.

With the clock's rate changed once, one stretch is all there is, and 6 of 10 records were found
dependent."""

IMPROBABLE = 1e-3
"""Probability below which steps are taken to depend on the state."""


def steps_depend_on_state(data: Trajectories, space: Space) -> bool:
    """Test whether steps are correlated with the states before and after them; equation (M51).

    Parameters
    ----------
    data : trajectories
    space : internal units and periods of the variables
    """
    steps = space.scales[0].steps
    if not steps[-1] - steps[0] > EQUAL * space.time:
        return False
    stretches = [s for s in (_stretch(data, space, *ends) for ends in _ends(data)) if s is not None]
    if not stretches:
        return False
    schedule = _schedule(stretches)
    found = [s.sums(schedule) for s in stretches]
    sums, sizes = np.array([s for s, _ in found]), np.array([size for _, size in found])
    if not sizes.any():
        return False
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    probabilities = (_probability(sums[:, i], effective) for i in range(space.dimension))
    return min(probabilities) * space.dimension < IMPROBABLE


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Steps of a stretch of the record, and functions of the states on both sides of them.

    number      (n,) number of the step in its segment
    step        (n,) step [median steps], cut off
    functions   (n, d, n_functions) of the states before and after
    """

    number: Integers
    step: Floats
    functions: Floats

    def sums(self, schedule: Floats) -> tuple[Floats, float]:
        """Compute Σ e f (d, n_functions), and Σ e².

        e are the steps less the schedule, and less their level and trend, which the state may share
        by chance.
        """
        step = self.step - schedule[self.number]
        line = np.stack([np.ones(len(step)), np.linspace(-1, 1, len(step))], axis=1)
        rest = step - line @ np.linalg.lstsq(line, step)[0]
        rest[np.abs(rest) < ROUNDING] = 0.0
        return np.einsum("n,ndf->df", rest, self.functions), float(rest @ rest)


def _schedule(stretches: list[_Stretch]) -> Floats:
    """Compute the mean step by number in its segment, 0 where few segments have one.

    Experiments that begin far from equilibrium are recorded ever more slowly on purpose.
    """
    number = np.concatenate([s.number for s in stretches])
    count = np.bincount(number)
    total = np.bincount(number, np.concatenate([s.step for s in stretches]))
    return np.asarray(np.where(count >= FEWEST_SEGMENTS, total / count.clip(min=1), 0.0))


def _ends(data: Trajectories) -> list[tuple[int, int]]:
    """List first and last sample of stretches that are spread evenly over the record."""
    first, last = int(data.segments[0, 0]), int(data.segments[-1, 1]) - 1
    count = max(1, min(STRETCHES, (last - first) // SHORTEST))
    edges = np.linspace(first, last, count + 1).astype(int).tolist()
    return [(a, min(b, a + LONGEST)) for a, b in pairwise(edges)]


def _stretch(data: Trajectories, space: Space, first: int, last: int) -> _Stretch | None:
    """Read one stretch; None where it has hardly a step inside segments."""
    index = np.arange(first, last)
    starts, stops = data.segments[:, 0], data.segments[:, 1]
    segment = np.searchsorted(stops, index, side="right").clip(max=len(stops) - 1)
    inside = (index >= starts[segment]) & (index + 1 < stops[segment])
    if np.count_nonzero(inside) < SHORTEST // 2:
        return None
    times = np.asarray(data.times[first : last + 1], dtype=np.float64)
    y = space.internal(np.asarray(data.states[first : last + 1], dtype=np.float64))
    functions = np.concatenate([_functions(y[:-1], space), _functions(y[1:], space)], axis=2)
    return _Stretch(
        (index - starts[segment])[inside],
        (np.diff(times)[inside] / space.time).clip(max=LONGEST_STEP),
        functions[inside],
    )


def _functions(y: Floats, space: Space) -> Floats:
    """Compute level and square of each variable, cosine and sine of an angle; (n, d, 2)."""
    level, square = y.copy(), y**2
    for i, period in enumerate(space.periods):
        if period is not None:
            level[:, i], square[:, i] = np.cos(np.pi * y[:, i]), np.sin(np.pi * y[:, i])
    return np.stack([level, square], axis=2)


def _probability(sums: Floats, effective: float) -> float:
    """Return the probability of so large a mean over the stretches, by Hotelling's test.

    Parameters
    ----------
    sums : (n_stretches, n_functions) sums of the stretches
    effective : number of stretches that the steps' variation is spread over
    """
    scale = np.sqrt((sums**2).mean(axis=0))
    sums = sums[:, scale > 0] / scale[scale > 0]
    count, n = sums.shape[1], len(sums)
    if not count or effective < FEWEST * count:
        return 1.0
    mean, covariance = sums.mean(axis=0), np.atleast_2d(np.cov(sums.T)) / n
    # States before and after a step are nearly the same where it is short.
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-10 * values[-1]
    square = float(((vectors[:, kept].T @ mean) ** 2 / values[kept]).sum())
    rank = int(kept.sum())
    ratio = square * (effective - rank) / (rank * (effective - 1))
    return float(fdtrc(rank, effective - rank, ratio))
