"""Fixed points of the drift, and the barriers between wells."""

from dataclasses import dataclass
from typing import Annotated

from worker.generator.quantities.kinds import NUMBER, PLACE


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Root of the drift.

    at      (d,) [state]
    stable  whether the drift pulls back to it
    slope   b'(at) in one dimension, the largest real part of the Jacobian's eigenvalues in more
            [1/time]
    rates   eigenvalues of the Jacobian in more than one dimension, largest real part first [1/time]
    """

    at: Annotated[tuple[float, ...], PLACE]
    stable: bool
    slope: float
    rates: Annotated[tuple[complex, ...], NUMBER] = ()


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
