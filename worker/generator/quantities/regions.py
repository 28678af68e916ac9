"""Where a passage begins or ends: a state, or a box of states."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker.generator.process import FloatArray
from worker.generator.quantities.outcomes import WHOLE_PLANE, Outcome, Reason

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """Box of states.

    intervals  (low, high) of each coordinate, ±inf where open [state]
    unknown    names that were given an interval and are no coordinates
    """

    intervals: tuple[tuple[float, float], ...]
    unknown: tuple[str, ...] = ()

    def holds(self, x: FloatArray, periods: tuple[float | None, ...] | None = None) -> np.ndarray:
        """Return (n,) whether states (n, d) lie in the box or on its edge; angles on any turn.

        States may lack the last coordinates, such as velocities, where the box is open in them.
        """
        inside = np.full(len(x), True)
        for k, (low, high) in enumerate(self.intervals[: self.bounded]):
            period = None if periods is None else periods[k]
            at = x[:, k]
            if period is not None and np.isfinite(low):
                at = low + np.mod(at - low, period)
            inside &= (at >= low) & (at <= high)
        return np.asarray(inside)

    @property
    def bounded(self) -> int:
        """Number of coordinates up to the last in which the box is not open."""
        ends = np.isfinite(np.array(self.intervals)).any(axis=1)
        return int(np.flatnonzero(ends)[-1]) + 1 if ends.any() else 0

    @property
    def problem(self) -> Reason | None:
        """Reason why it is no region of positive area; None where it is one."""
        if self.unknown:
            names = ", ".join(self.unknown)
            return Reason(
                Outcome.NO_PLACE, f"the region names {names}, which the model does not have"
            )
        for low, high in self.intervals:
            if not low < high:
                return Reason(
                    Outcome.NO_PLACE,
                    f"the interval [{low:g}, {high:g}] of a region is empty; give a lower end "
                    "below the upper end",
                )
        return None if np.isfinite(np.array(self.intervals)).any() else WHOLE_PLANE


Place = float | Point | Region
"""A number in one coordinate, a point or a region in several."""


Pair = tuple[Place, Place]


def numbers_and_places(
    passages: Sequence[Pair], dimension: int
) -> tuple[tuple[tuple[float, float], ...], tuple[Pair, ...]]:
    """Separate the passages between two numbers from the others.

    The goal on the line may be an interval: its nearer end is meant.
    """
    numbers, places = [], []
    for start, to in passages:
        first, goal = (_number(place) if dimension == 1 else place for place in (start, to))
        if (
            dimension == 1
            and isinstance(first, float)
            and isinstance(goal, Region)
            and len(goal.intervals) == 1
        ):
            (low, high) = goal.intervals[0]
            goal = min(max(first, low), high)
        if isinstance(first, float | int) and isinstance(goal, float | int):
            numbers.append((float(first), float(goal)))
        else:
            places.append((start, to))
    return tuple(numbers), tuple(places)


def facing_numbers(pair: Pair) -> tuple[float, float] | None:
    """Return two places on the line as numbers: of intervals, the ends that face each other.

    None where they are no numbers or intervals, or meet.
    """
    start, goal = _interval(pair[0]), _interval(pair[1])
    if start is None or goal is None:
        return None
    if start[1] < goal[0]:
        return start[1], goal[0]
    return (start[0], goal[1]) if goal[1] < start[0] else None


def _interval(place: Place) -> tuple[float, float] | None:
    number = _number(place)
    if isinstance(number, float | int):
        return float(number), float(number)
    if isinstance(number, Region) and len(number.intervals) == 1 and number.problem is None:
        return number.intervals[0]
    return None


def _number(place: Place) -> Place:
    return float(place[0]) if isinstance(place, tuple) and len(place) == 1 else place
