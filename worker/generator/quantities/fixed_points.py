"""Fixed points of the drift, and the barriers between wells."""

from dataclasses import dataclass
from typing import Annotated

from worker.generator.quantities.kinds import NUMBER, PLACE, POSITIVE


@dataclass(frozen=True, slots=True)
class Oscillation:
    """Oscillation d²x/dt² = −ω₀² x − γ dx/dt next to a stable fixed point, equation (G61).

    angular_frequency  ω₀ = √(−∂F/∂x), without friction [1/time]
    friction           γ = −∂F/∂v [1/time]
    quality_factor     ω₀/γ
    damped_period      2π/√(ω₀² − γ²/4) [time]; None where the friction is too strong to oscillate
    """

    angular_frequency: Annotated[float, POSITIVE]
    friction: Annotated[float, POSITIVE]
    quality_factor: Annotated[float, POSITIVE]
    damped_period: Annotated[float | None, POSITIVE] = None


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Root of the drift.

    at      (d,) [state]
    stable  whether the drift pulls back to it
    slope   b'(at) in one dimension, the largest real part of the Jacobian's eigenvalues in more
            [1/time]
    rates   eigenvalues of the Jacobian in more than one dimension, largest real part first [1/time]
    oscillation
            next to it, of a stable fixed point of second order in one coordinate; else None
    """

    at: Annotated[tuple[float, ...], PLACE]
    stable: bool
    slope: float
    rates: Annotated[tuple[complex, ...], NUMBER] = ()
    oscillation: Oscillation | None = None


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
