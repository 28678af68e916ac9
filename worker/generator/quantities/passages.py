"""First passages, exits and committors: times and probabilities of reaching states or places."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from worker.generator.process import FloatArray
from worker.generator.quantities.kinds import (
    FINITE_TIME,
    POSITIVE,
    PROBABILITY,
    PROBABILITY_CURVE,
    TIME,
)
from worker.generator.quantities.outcomes import Outcome, Reason
from worker.generator.quantities.regions import Place

LOG_LARGEST = float(np.log(np.finfo(float).max))
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are given."""
Triple = tuple[float, float, float]
"""Start, lower end and upper end [state]."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A time, or the reason why there is none.

    value      [time]; None where it is infinite, undefined or too large for a floating number
    reason     why there is no value
    log_value  natural logarithm of the time, also where the time itself overflows; None where it is
               infinite or undefined
    """

    value: float | None
    reason: Reason | None = None
    log_value: float | None = None

    @classmethod
    def from_log(cls, log_value: float) -> "Timing":
        """Return the time e^log_value, or the statement that it is too large."""
        if log_value < LOG_LARGEST:
            return cls(float(np.exp(log_value)), None, log_value)
        decades = log_value / np.log(10)
        why = f"the time, 10^{decades:.0f}, exceeds the largest floating-point number"
        return cls(None, Reason(Outcome.OVERFLOWS, why), log_value)


@dataclass(frozen=True, eq=False)
class PassageCurve:
    """Distribution of a first-passage time, at times that show its body and its tail.

    times        (n,) between the quantiles 0.001 and 0.999 [time]
    density      (n,) [1/time]
    cumulative   (n,) probability that the passage is over by then
    """

    times: FloatArray
    density: FloatArray
    cumulative: FloatArray

    @cached_property
    def quantiles(self) -> tuple[float, ...]:
        """Times by which the passage is over with each of `PROBABILITIES` [time]."""
        spline = CubicHermiteSpline(self.times, self.cumulative, self.density)
        found = (spline.solve(p, extrapolate=False) for p in PROBABILITIES)
        rough = np.interp(PROBABILITIES, self.cumulative, self.times)
        return tuple(
            float(roots[0] if len(roots) else guess)
            for roots, guess in zip(found, rough, strict=True)
        )


def quantiles_of(law: PassageCurve | Reason) -> tuple[float, ...]:
    """Return the quantiles of the first-passage time at `PROBABILITIES`; () without a curve."""
    return law.quantiles if isinstance(law, PassageCurve) else ()


@dataclass(frozen=True, slots=True)
class Passage:
    """First passage from one state to another [state].

    mean_time  exact mean first-passage time of the model, equation (G14) [time]
    kramers    Eyring–Kramers asymptotic formula for the same passage, equation (G15) [time]
    deviation  standard deviation of the first-passage time, equation (G28) [time]; None where it is
               not computed
    law        distribution of the first-passage time, equation (G29), or why it is not given
    quantiles  times by which the passage is over with each of `PROBABILITIES` [time]; empty where
               there is no distribution
    between_wells
               mean between the wells of the model itself, which in a model like the reference have
               moved [time]; None for passages that are not between wells of the reference
    """

    start: float
    to: float
    mean_time: Annotated[Timing, TIME]
    kramers: Annotated[Timing, FINITE_TIME]
    deviation: Annotated[Timing | None, TIME] = None
    law: PassageCurve | Reason | None = None
    quantiles: Annotated[tuple[float, ...], POSITIVE] = ()
    between_wells: Annotated[Timing | None, TIME] = None


@dataclass(frozen=True, slots=True, eq=False)
class SpatialPassage:
    """First passage between two places [state].

    mean_time  mean from a point; from a region the mean over the stationary distribution restricted
               to it, equation (G50) [time]
    deviation  standard deviation of the first-passage time, over its starts too [time]
    kramers    Kramers' formula for the same passage of a process of second order in one
               coordinate, equation (G63) [time]; None for others
    """

    start: Place
    to: Place
    mean_time: Annotated[Timing, FINITE_TIME]
    deviation: Annotated[Timing | None, FINITE_TIME] = None
    kramers: Annotated[Timing | None, FINITE_TIME] = None


@dataclass(frozen=True, slots=True)
class Exit:
    """Exit from the interval (low, high), from `start` [state].

    probability_high   probability to leave at the upper end, equation (G34)
    mean_time          mean time until either end is reached, equation (G19) [time]
    reason             why there is no probability
    """

    start: float
    low: float
    high: float
    probability_high: Annotated[float | None, PROBABILITY]
    mean_time: Annotated[Timing, TIME]
    reason: Reason | None = None

    @classmethod
    def without(cls, asked: Triple, reason: Reason) -> "Exit":
        """Return the exit that has no answer, with the reason."""
        return cls(*asked, None, Timing(None, reason), reason)


@dataclass(frozen=True, slots=True, eq=False)
class Committed:
    """The committor on a grid of states.

    grid    points of each coordinate [state]
    values  (n,) or (n₀, n₁) probability of entering the goal before the start; nan where the
            process never is
    """

    grid: tuple[FloatArray, ...]
    values: Annotated[FloatArray, PROBABILITY_CURVE]


@dataclass(frozen=True, slots=True, eq=False)
class Committor:
    """Probability of entering `to` before `start`: states on the line, regions of the plane.

    found   committor on a grid of states, or why there is none
    """

    start: Place
    to: Place
    found: Committed | Reason
