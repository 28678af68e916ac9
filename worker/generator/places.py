"""Where a passage begins or ends: a state, or a box of states."""

from dataclasses import dataclass

import numpy as np

from worker.generator.process import FloatArray

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A box of states.

    intervals  (low, high) of each coordinate, ±inf where open [state]
    """

    intervals: tuple[tuple[float, float], ...]

    def holds(self, x: FloatArray, periods: tuple[float | None, ...] | None = None) -> np.ndarray:
        """(n, d) → (n,) whether each state lies in the box, its edge included; angles on whichever turn."""
        inside = np.full(len(x), True)
        for k, (low, high) in enumerate(self.intervals):
            period = None if periods is None else periods[k]
            at = x[:, k]
            if period is not None and np.isfinite(low):
                at = low + np.mod(at - low, period)
            inside &= (at >= low) & (at <= high)
        return np.asarray(inside)

    @property
    def problem(self) -> str | None:
        """Why it is no region of positive area; None where it is one."""
        for low, high in self.intervals:
            if not low < high:
                return f"the interval [{low:g}, {high:g}] of a region is empty; give a lower end below the upper end"
        if not np.isfinite(np.array(self.intervals)).any():
            return "a region without any end is the whole plane; give one of its variables an interval"
        return None


Place = float | Point | Region
"""A number in one coordinate, a point or a region in several."""
