"""A fixed point of the drift."""

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
