"""One end of the state space."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.polynomial.legendre import legval

from worker.generator.process import FloatArray
from worker.generator.quantities.outcomes import Outcome, Reason

Kind = Literal["natural", "entrance", "regular", "exit"]
"""Feller's classes, equation (G33).

Natural and entrance ends are never reached, and from an entrance the process can start; regular
ends are reached and left again, exits are reached and never left."""


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """Neighbourhood of an end where a has a simple zero.

    With δ the distance to the end, a = δ·α(δ) and 2b/a = ±exponent/δ + g(δ).

    width         length of the zone [state]
    exponent      2 b(end) / |a'(end)|, positive where the drift points inwards; the density behaves
                  as δ^(exponent − 1)
    log_alpha, g  Legendre coefficients of log α and g on (0, width)
    """

    width: float
    exponent: float
    log_alpha: FloatArray
    g: FloatArray

    def evaluate(self, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return g and log α at signed offsets from the end, of any shape."""
        t = 2 * np.abs(offset) / self.width - 1
        return np.asarray(legval(t, self.g)), np.asarray(legval(t, self.log_alpha))


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """One end of the state space.

    at          where it is [state]; ±inf where open
    kind        Feller's class
    place       the end in words
    problem     why there is no stationary distribution because of this end; None where it allows
                one
    wall        whether a is positive here: the process arrives and is taken to be reflected
    power       density ~ |o|^power in the distance o from the end (finite) or from the centre
                (infinite); None at a wall or where the density falls faster than any power
    growth      a ~ |o|^growth in the same distance; None where no such power was computed
    threshold   bottom of the continuous spectrum that this end brings [1/time]; inf without one
    zone        neighbourhood where a vanishes linearly; else None
    """

    at: float
    kind: Kind
    place: str
    problem: Reason | None = None
    wall: bool = False
    power: float | None = None
    growth: float | None = None
    threshold: float = np.inf
    zone: Zone | None = None


def never_reached(point: float, ends: tuple[End, End], hint: str = "") -> Reason | None:
    """Say why the process never comes to a point on the line [state]; None where it does.

    Parameters
    ----------
    point : state [state]
    ends : lower and upper end, classified
    hint : what to ask for in its place where it is an end, with the words before it
    """
    if any(point == end.at and end.kind in ("natural", "entrance") for end in ends):
        return Reason(
            Outcome.UNREACHABLE, f"the end x = {point:g} of the domain is never reached{hint}"
        )
    return outside(point, ends)


def outside(point: float, ends: tuple[End, End]) -> Reason | None:
    """Say that a point lies outside the domain [state]; None where it does not."""
    low, high = ends[0].at, ends[1].at
    if low <= point <= high:
        return None
    return Reason(Outcome.OUTSIDE, f"x = {point:g} lies outside the domain [{low:g}, {high:g}]")
