"""Leaving an interval: at which end, and when."""

from dataclasses import dataclass
from typing import Annotated

from worker.generator.quantities.kinds import PROBABILITY, TIME
from worker.generator.quantities.passage_time import Timing

Triple = tuple[float, float, float]
"""From where, and the lower and the upper end."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How an interval is left [state].

    probability_high   that it is left at its upper end, equation (G34)
    mean_time          until it is left at either, equation (G19) [time]
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
        """The exit that has no answer."""
        return cls(*asked, None, Timing(None, reason), reason)
