"""The committor: where the process goes next, in any number of coordinates."""

from dataclasses import dataclass
from typing import Annotated

from worker.generator.process import FloatArray
from worker.generator.quantities.kinds import PROBABILITY_CURVE
from worker.generator.quantities.regions import Place


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

    found   committor on a grid of states; None where there is a reason
    """

    start: Place
    to: Place
    found: Committed | None
    reason: str | None = None
