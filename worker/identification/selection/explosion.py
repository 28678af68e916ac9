"""Drifts of one variable that reach infinity in finite time (docs/method.md §5)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.selection.supports import Support

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OpenEnds:
    """Ends of the line at which no wall holds the process: below the data, and above them."""

    low: bool = False
    high: bool = False

    def __bool__(self) -> bool:
        return self.low or self.high

    def held_by_zero(self, low: float, high: float, mean: float, deviation: float) -> Self:
        """Close the end that lies beyond zero, where the noise vanishes at zero.

        No process crosses zero then, be it held there or pushed back. Measurement noise may carry
        some samples across: the states are beyond zero if none of them is, or if their mean is by
        a standard deviation.

        Parameters
        ----------
        low, high : smallest and largest state
        mean, deviation : mean and standard deviation of the states
        """
        above, below = low > 0 or mean > deviation, high < 0 or mean < -deviation
        return type(self)(self.low and not above, self.high and not below)


NO_ENDS = OpenEnds()
"""Ends of an angle, and of components without a question of what they do at infinity."""


def may_explode(library: Library, support: Support) -> bool:
    """Check whether a support has a power above one that leads, whatever its coefficients.

    Terms by name may hold the process back, or not: they are given the benefit of the doubt.
    """
    degrees = [library.degrees[k] for k in support]
    return all(d is not None for d in degrees) and max(d or 0 for d in (*degrees, 0)) > 1


def explodes(library: Library, support: Support, raw: Floats, ends: OpenEnds) -> bool:
    """Check whether a drift drives the process through an open end in finite time.

    The solution of dx/dt = b(x) reaches infinity in finite time where b grows faster than x and
    points outward (Osgood, 1898): the highest power decides.

    Parameters
    ----------
    library, support : library of terms of one variable, positions of the terms
    raw : (k,) coefficients of the terms
    ends : ends of the line that are open
    """
    if not may_explode(library, support):
        return False
    leading = max(range(len(support)), key=lambda i: library.degrees[support[i]] or 0)
    degree, upward = library.degrees[support[leading]] or 0, bool(raw[leading] > 0)
    return (ends.high and upward) or (ends.low and upward == bool(degree % 2))
