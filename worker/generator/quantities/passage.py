"""First passages between two states or places, and the distribution of their time."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from worker.generator.process import FloatArray
from worker.generator.quantities.kinds import FINITE_TIME, POSITIVE, TIME
from worker.generator.quantities.passage_time import Timing
from worker.generator.quantities.regions import Place

PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are given."""


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


@dataclass(frozen=True, slots=True)
class NoCurve:
    """Reason why there is no distribution of the first-passage time."""

    reason: str


def quantiles_of(law: PassageCurve | NoCurve) -> tuple[float, ...]:
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
    """

    start: float
    to: float
    mean_time: Annotated[Timing, TIME]
    kramers: Annotated[Timing, FINITE_TIME]
    deviation: Annotated[Timing | None, TIME] = None
    law: PassageCurve | NoCurve | None = None
    quantiles: Annotated[tuple[float, ...], POSITIVE] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SpatialPassage:
    """First passage between two places [state].

    mean_time  mean from a point; from a region the mean over the stationary distribution restricted
               to it, equation (G50) [time]
    deviation  standard deviation of the first-passage time, over its starts too [time]
    """

    start: Place
    to: Place
    mean_time: Annotated[Timing, FINITE_TIME]
    deviation: Annotated[Timing | None, FINITE_TIME] = None
