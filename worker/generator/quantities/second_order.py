"""What only a process of second order has: d²x/dt² = F(x, v) with noise on the velocity v alone.

Under time reversal a velocity changes its sign. F splits into a reversible part, even in v, and an
irreversible part, odd in v, such as friction.
"""

import numpy as np

from worker.generator.process import DiffusionProcess, FloatArray, velocities
from worker.generator.quantities.fixed_points import FixedPoint, Oscillation
from worker.generator.quantities.outcomes import NO_PARABOLA, ONE_BARRIER, Outcome, Reason
from worker.generator.quantities.passages import SpatialPassage, Timing
from worker.generator.quantities.regions import Place, Region


def oscillation_at(point: FixedPoint) -> Oscillation | None:
    """Return the oscillation of d²x/dt² = −ω₀² x − γ dx/dt next to a stable fixed point, (G61).

    The Jacobian's two rates are the roots of μ² + γ μ + ω₀² = 0.
    """
    if not point.stable or len(point.rates) != 2:
        return None
    first, second = point.rates
    frequency, friction = float(np.sqrt((first * second).real)), -float((first + second).real)
    turning = frequency**2 - friction**2 / 4
    return Oscillation(
        angular_frequency=frequency,
        friction=friction,
        quality_factor=frequency / friction,
        damped_period=2 * float(np.pi / np.sqrt(turning)) if turning > 0 else None,
    )


SAME = 1e-9
"""Relative difference that counts as a rounding error."""
STEP = 1e-3
"""Step of differences along v, in standard deviations: exact for a noise of second degree."""


def entropy_production(process: DiffusionProcess, states: FloatArray, masses: FloatArray) -> float:
    """Return the entropy production of a process in (x, v), equation (G62) [1/time].

    It is nan where the noise is not even in v or vanishes, so that a path backwards is impossible.
    Where the process obeys Boltzmann's law, it is exactly 0.

    Parameters
    ----------
    process : process of second order in one coordinate
    states : (n, 2)
    masses : (n,) of the stationary distribution, adding up to 1
    """
    used = np.abs(masses) > 1e-12 * np.abs(masses).max()
    here, weights = states[used], masses[used]
    back = here * np.array([1.0, -1.0])
    step = np.array([0.0, STEP * np.sqrt(abs(weights @ here[:, 1] ** 2))])
    half = process.diffusion(here)[:, 1, 1] / 2
    size = float(np.max(half))
    if not np.all(half > SAME * size):
        return np.nan
    if np.max(np.abs(process.diffusion(back)[:, 1, 1] / 2 - half)) > SAME * size:
        return np.nan
    above, below = (process.diffusion(here + s)[:, 1, 1] / 2 for s in (step, -step))
    slope, curve = (above - below) / (2 * step[1]), (above - 2 * half + below) / step[1] ** 2
    force, mirrored = process.drift(here)[:, 1], process.drift(back)[:, 1]
    by_speed, by_back = (process.drift_jacobian(x)[:, 1, 1] for x in (here, back))
    friction, reversible = (force - mirrored) / 2, (by_speed - by_back) / 2
    push = (friction - slope) / half
    if _is_boltzmann(process, here, push, reversible, by_speed):
        return 0.0
    rate = friction * push + (by_speed + by_back) / 2 - curve - push * slope - reversible
    return float(weights @ rate)


def _is_boltzmann(
    process: DiffusionProcess,
    states: FloatArray,
    push: FloatArray,
    reversible: FloatArray,
    by_speed: FloatArray,
) -> bool:
    """Return whether exp(−(U + v²/2)/T) is the law: one temperature, and a force with a potential.

    Parameters
    ----------
    process, states : process, and states (n, 2)
    push : (n,) slope of log p along v that leaves no irreversible current
    reversible : (n,) slope of the reversible force along v
    by_speed : (n,) slope of the force along v
    """
    x, v = states.T
    inverse = -(push @ v) / (v @ v)
    if np.max(np.abs(push + inverse * v)) > 1e3 * SAME * np.max(np.abs(push)):
        return False
    if np.max(np.abs(reversible)) > SAME * np.max(np.abs(by_speed)):
        return False
    period = process.periods[0]
    if period is None:
        return True
    turn = np.column_stack([x[0] + period * np.arange(256) / 256, np.zeros(256)])
    force = process.drift(turn)[:, 1]
    return bool(abs(force.mean()) <= SAME * np.max(np.abs(force)))


VARIES = 0.05
"""Relative change of friction or temperature on the way above which the formula does not apply."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


def kramers_time(
    process: DiffusionProcess, passage: SpatialPassage, fixed: tuple[FixedPoint, ...]
) -> Timing:
    """Return Kramers' time for a passage in x, with the turnover to weak friction, equation (G63).

    Parameters
    ----------
    process : process of second order in one coordinate
    passage : passage between places
    fixed : fixed points of the process
    """
    way = _over_one_barrier(passage, fixed)
    if way is None:
        return Timing(None, ONE_BARRIER)
    well, top = way
    x = (well + top) / 2 + (top - well) / 2 * NODES
    still = np.column_stack([x, np.zeros_like(x)])
    force = process.drift(still)[:, 1]
    ends = np.array([[well, 0.0], [top, 0.0]])
    stiffness = process.drift_jacobian(ends)[:, 1, 0]
    friction = -process.drift_jacobian(still)[:, 1, 1]
    heat = process.diffusion(still)[:, 1, 1]
    height = -float(WEIGHTS @ force) * (top - well) / 2
    if not (stiffness[0] < 0 < stiffness[1] and friction.min() > 0 and heat.min() > 0):
        return Timing(None, NO_PARABOLA)
    gamma, temperature = float(friction.mean()), float((heat / (2 * friction)).mean())
    if not height > temperature:
        return Timing(None, NO_PARABOLA)
    fast = np.sqrt(temperature) * np.array([-2.0, -1.0, 1.0, 2.0])
    moving = np.column_stack([np.repeat(x, len(fast)), np.tile(fast, len(x))])
    frictions = np.append(friction, -process.drift_jacobian(moving)[:, 1, 1])
    heats = np.append(heat, process.diffusion(moving)[:, 1, 1])
    change = max(np.ptp(frictions) / gamma, np.ptp(heats) / heat.mean())
    if change > VARIES:
        why = (
            f"friction or noise change by {change:.0%} between the well and the barrier, or with "
            "the speed; the formula holds for constant ones"
        )
        return Timing(None, Reason(Outcome.NOT_DEFINED, why))
    loss = gamma * _action(process, well, top, height) / temperature
    at_well, at_top = np.sqrt(-stiffness[0]), np.sqrt(stiffness[1])
    growth = np.sqrt(gamma**2 / 4 + at_top**2) - gamma / 2
    log_rate = np.log(growth / at_top * at_well / (2 * np.pi)) - height / temperature
    return Timing.from_log(-float(log_rate) - _log_depletion(loss))


def _log_depletion(loss: float) -> float:
    """Return log A of Mel'nikov and Meshkov (1986), the depletion of the well below the barrier.

    Parameters
    ----------
    loss : energy lost in a turn through the well at the barrier's height, in units of T
    """
    # With λ = tan(θ)/2 the integral over λ is an average over θ; its logarithmic ends are mild.
    cosine = np.cos(np.pi / 2 * NODES)
    return float(WEIGHTS @ np.log(-np.expm1(-loss / (4 * cosine**2)))) / 2


def _over_one_barrier(
    passage: SpatialPassage, fixed: tuple[FixedPoint, ...]
) -> tuple[float, float] | None:
    """Return where a passage's well and its only barrier are [state]; None unless it is so."""
    goal = passage.to
    if not isinstance(goal, Region) or np.isfinite(goal.intervals[1]).any():
        return None
    low, high = _along(passage.start)
    points = sorted((point.at[0], point.stable) for point in fixed)
    within = [(x, stable) for x, stable in points if low <= x <= high]
    if not within and low == high and points:
        within = [min(points, key=lambda point: abs(point[0] - low))]
    if len(within) != 1 or not within[0][1]:
        return None
    well = within[0][0]
    edge = goal.intervals[0][0] if goal.intervals[0][0] > well else goal.intervals[0][1]
    between = [(x, stable) for x, stable in points if min(well, edge) < x < max(well, edge)]
    return (well, between[0][0]) if len(between) == 1 and not between[0][1] else None


def _along(place: Place) -> tuple[float, float]:
    if isinstance(place, Region):
        return place.intervals[0]
    return (place[0], place[0]) if isinstance(place, tuple) else (place, place)


def _action(process: DiffusionProcess, well: float, top: float, height: float) -> float:
    """Return ∮ v dx of the turn through the well that starts at rest on the barrier [state²/time].

    Behind the well it is taken up to where the energy of the barrier is reached.
    """
    side = np.sign(top - well)
    reach = abs(top - well) * np.linspace(0, 4, 2001)
    x = top - side * reach
    force = process.drift(np.column_stack([x, np.zeros_like(x)]))[:, 1]
    rise = np.cumsum(np.append(0.0, (force[1:] + force[:-1]) / 2 * -side * np.diff(reach)))
    # `rise` is the kinetic energy at x; it falls back to zero behind the well.
    ends = np.flatnonzero((rise <= 0) & (reach > abs(top - well)))
    stop = int(ends[0]) if len(ends) else len(reach)
    return 2 * float(np.trapezoid(np.sqrt(2 * np.maximum(rise[:stop], 0.0)), reach[:stop]))


def is_in_one_coordinate(process: DiffusionProcess) -> bool:
    """Return whether a process is of second order in one coordinate: (x, v)."""
    return velocities(process) == (1,)
