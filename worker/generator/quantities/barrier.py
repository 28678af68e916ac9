"""The barrier between a well and the next one."""

from dataclasses import dataclass
from typing import Annotated

from worker.generator.quantities.kinds import NUMBER


@dataclass(frozen=True, slots=True)
class Barrier:
    """Barrier over which a well is left, equation (G13).

    start, over       the well's fixed point and the barrier's [state]
    to                the next well's fixed point; None where there is none behind the barrier
                      [state]
    height            V(over) − V(start), V = −∫b dx [state²/time]
    height_over_noise Φ(over) − Φ(start), Φ = −∫2b/a dx + log a: the barrier in units of kT
    """

    start: float
    over: float
    to: float | None
    height: Annotated[float, NUMBER]
    height_over_noise: Annotated[float, NUMBER]
