"""Leaving an interval: at which end, and when."""

from dataclasses import dataclass
from typing import Annotated

from worker.generator.quantities.kinds import PROBABILITY, TIME
from worker.generator.quantities.passage_time import Timing

Triple = tuple[float, float, float]
"""Start, lower end and upper end [state]."""


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
    reason: str | None = None

    @classmethod
    def without(cls, asked: Triple, reason: str) -> "Exit":
        """Return the exit that has no answer, with the reason."""
        return cls(*asked, None, Timing(None, reason), reason)
