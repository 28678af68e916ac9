"""The two ends of the state space, and whether they allow a stationary distribution."""

from typing import Literal

import numpy as np
from numpy.polynomial.legendre import legval, legvander
from numpy.typing import NDArray

from worker.generator.line.domain.domain_scan import DOUBLINGS, Window
from worker.generator.line.domain.positive_diffusion import zeros_of_diffusion
from worker.generator.numerics.quadrature import NODES, ORDER, TO_LEGENDRE
from worker.generator.process import FloatArray, ScalarProcess, value, values
from worker.generator.quantities.boundary import End, Kind, Zone
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import NO_NOISE, Outcome, Reason

ZERO = 1e-10
"""Relative size below which a(end) counts as zero."""
ZERO_SEEN, SIMPLE = 1e4, 0.01
"""Size of a, in rounding errors of zero, from which its power in the distance shows, and how
near to 1 a simple zero's power is."""
DIVERGING = 1e-6
"""2b/a times the distance to an end, next to it, above which the drift counts as singular there."""
STEEP = 1e6
"""Power of ψ in the distance beyond which it is steeper than any power."""
TOLERANCE = 1e-9
"""Distance of an exponent from its critical value below which it counts as critical."""


def classify_end(model: ScalarProcess, window: Window, side: Literal[-1, 1]) -> End:
    """Classify the lower (side −1) or upper (side +1) end of the domain, equations (G4)–(G6).

    Parameters
    ----------
    model : process in one coordinate
    window : centre, scale and scan of the domain
    side : −1 or +1
    """
    at = model.bounds[0] if side < 0 else model.bounds[1]
    place = (
        f"the end x = {at:g} of the domain"
        if np.isfinite(at)
        else f"x → {'+' if side > 0 else '−'}∞"
    )
    if not np.isfinite(at):
        return _far_end(
            model, at, place, window.centre, side, window.scale * 2.0 ** np.arange(2.0, DOUBLINGS)
        )
    room = abs(window.centre - at)
    distance = room / 8 * (NODES + 1) / 2
    a_inside = values(model.a, at - side * distance)
    # The polynomial through the nodes, continued to the end: a(end) itself is only rounding error
    # where a has a zero.
    a_end = abs(legval(-1.0, TO_LEGENDRE @ a_inside))
    # An end far from the origin is itself rounded, and a does not vanish exactly there.
    zero = max(ZERO, 64 * float(np.spacing(abs(at))) / room) * np.max(np.abs(a_inside))
    nearest = max(1e-9 * abs(at), room * 2.0**-DOUBLINGS)
    halvings = room * 2.0 ** -np.arange(2.0, max(np.log2(room / nearest), 4))
    if min(a_end, abs(value(model.a, at))) > zero:
        if _drift_diverges(model, at, -side * halvings):
            return _far_end(model, at, place, at, -side, halvings)
        return End(at, "regular", place, wall=True)
    slope = abs(legval(-1.0, TO_LEGENDRE @ (a_inside / distance)))
    vanishes = slope * room / 8 > 1e-6 * np.max(np.abs(a_inside)) and np.isfinite(
        values(model.b, np.array([at]))[0]
    )
    if vanishes and _simple(values(model.a, at - side * halvings), halvings, zero):
        return _simple_zero(model, window, side, at, place)
    return _far_end(model, at, place, at, -side, halvings)


def _simple(a: FloatArray, distances: FloatArray, zero: float) -> bool:
    """Return whether a goes to zero like the distance itself, judged far above rounding error."""
    above = np.flatnonzero(a > max(ZERO_SEEN * zero, np.finfo(float).tiny))
    if len(above) < 2:
        return True
    last = above[-1]
    growth = np.log(a[last - 1] / a[last]) / np.log(distances[last - 1] / distances[last])
    return bool(abs(growth - 1) < SIMPLE)


def _drift_diverges(model: ScalarProcess, at: float, offsets: FloatArray) -> bool:
    """Return whether 2b/a times the distance does not go to zero, where a is positive at the end.

    It does not for a drift of 1/distance or steeper.
    """
    push = np.abs(2 * values(model.b, at + offsets) / values(model.a, at + offsets) * offsets)
    return bool(push[-1] > DIVERGING and push[-1] > 0.5 * push[-3])


def _simple_zero(model: ScalarProcess, window: Window, side: int, at: float, place: str) -> End:
    b_end = value(model.b, at)
    width = abs(window.centre - at) / 4
    for _ in range(30):
        x = at - side * width * (NODES + 1) / 2
        distance = np.abs(x - at)
        alpha, drift = values(model.a, x) / distance, values(model.b, x)
        # Nodes moved by rounding: fit at the distances that x really has.
        fit = np.linalg.inv(legvander(2 * distance / width - 1, ORDER - 1))
        slope = legval(-1.0, fit @ alpha)
        exponent = float(-side * 2 * b_end / slope)
        g = 2 * drift / (alpha * distance) + side * exponent / distance
        zone = Zone(width, exponent, np.asarray(fit @ np.log(np.abs(alpha))), np.asarray(fit @ g))
        if max(np.max(np.abs(zone.g[-2:])) * width, np.max(np.abs(zone.log_alpha[-2:]))) < 1e-9:
            break
        width /= 2
    if exponent <= ZERO:
        why = "the drift pushes outward" if exponent < -ZERO else "drift and noise both vanish"
        return End(
            at,
            "exit",
            place,
            Reason(Outcome.ABSORBED, f"{why}, and the process is absorbed at"),
            power=exponent - 1,
            zone=zone,
        )
    return End(
        at,
        "regular" if exponent < 1 - TOLERANCE else "entrance",
        place,
        power=exponent - 1,
        zone=zone,
    )


def _far_end(
    model: ScalarProcess, at: float, place: str, base: float, sign: int, distances: FloatArray
) -> End:
    """Classify an end that is approached in infinitely many doublings or halvings."""
    b, a = values(model.b, base + sign * distances), values(model.a, base + sign * distances)
    with np.errstate(all="ignore"):
        usable = np.isfinite(b) & np.isfinite(a) & (a > 0)
        last = len(usable) if usable.all() else int(np.argmin(usable))
        growth = np.diff(np.log(a[:last])) / np.diff(np.log(distances[:last]))  # d log a / d log o
        push = (2 * sign * b / a * distances)[:last]  # d log(1/s') / d log o
    if last < 4:
        why = Reason(Outcome.UNDEFINED, "drift or diffusion is not finite towards")
        return End(at, "natural", place, why)
    # The last doubling shows the limits.
    gamma, beta = float(growth[-1]), float(push[-1])
    power = beta - gamma
    infinite = not np.isfinite(at)
    outwards = 1 if infinite else -1
    light = outwards * power < -STEEP
    with np.errstate(all="ignore"):
        log_threshold = 2 * np.log(np.abs(beta - gamma / 2) / distances[last - 1]) + np.log(
            a[last - 1] / 8
        )
        threshold = float(np.exp(log_threshold))
    # Steeper than any power, the drift alone carries the process: ∫ dx/|b| converges, or does not.
    ratio = distances[last - 1] / distances[last - 2]
    with np.errstate(all="ignore"):
        drift_growth = float(np.log(abs(b[last - 1] / b[last - 2])) / np.log(ratio))
    kind = _feller(outwards * beta, outwards * gamma, outwards * drift_growth, outwards)
    if kind == "regular" and not infinite:
        return End(at, kind, place, power=power, growth=gamma, threshold=threshold)
    if kind == "exit" and not infinite:
        why = Reason(
            Outcome.ABSORBED,
            "the drift pushes outward, or does not push the process back, and the process is "
            "absorbed at",
        )
        return End(at, kind, place, why, power=power, threshold=threshold)
    if outwards * (beta - 1) > TOLERANCE:
        return End(
            at,
            kind,
            place,
            Reason(Outcome.ESCAPES, "the drift pushes outward, with no return, towards"),
            power=power,
            threshold=threshold,
        )
    if outwards * (power + 1) > -TOLERANCE:
        return End(
            at,
            kind,
            place,
            Reason(Outcome.UNCONFINED, "nothing holds the process back towards"),
            power=power,
            threshold=threshold,
        )
    return End(at, kind, place, power=None if light else power, growth=gamma, threshold=threshold)


def _feller(beta: float, gamma: float, drift_growth: float, outwards: int) -> Kind:
    """Return Feller's class, equation (G33), from powers in the distance.

    They are the powers of exp(ψ) and a, and that of b where ψ is steeper than any power, all times
    `outwards`: +1 at infinity and −1 at a finite end.
    """
    quick = (
        drift_growth > outwards + TOLERANCE
        if abs(beta) > STEEP
        else gamma > 2 * outwards + TOLERANCE
    )
    if not quick:
        return "natural"
    if not beta > outwards + TOLERANCE:
        return "entrance"
    return "regular" if beta - gamma < -outwards - TOLERANCE and abs(beta) <= STEEP else "exit"


def far_limits(
    distance: FloatArray, b: FloatArray, a: FloatArray, side: int
) -> tuple[NDArray[np.bool_], FloatArray, FloatArray]:
    """Return what m models do towards x → ±∞.

    These are whether the end allows a stationary distribution, (G5); the power of the density; and
    the bottom of the continuous spectrum, (G12) [1/time].

    Parameters
    ----------
    distance : (n,) increasing distances from the centre, the last far out [state]
    b, a : (m, n) drift and diffusion there
    side : −1 or +1
    """
    with np.errstate(all="ignore"):
        gamma = np.log(a[:, -1] / a[:, -2]) / np.log(distance[-1] / distance[-2])
        beta = 2 * side * b[:, -1] / a[:, -1] * distance[-1]
        power = beta - gamma
        threshold = np.exp(
            2 * np.log(np.abs(beta - gamma / 2) / distance[-1]) + np.log(a[:, -1] / 8)
        )
        has_distribution = (beta - 1 <= TOLERANCE) & (power + 1 < -TOLERANCE)
    return has_distribution, power, threshold


def noise_problem(
    model: ScalarProcess, window: Window, observed: tuple[float, float] | None
) -> Reason | None:
    """Say where a is not positive inside the domain; None where it is everywhere.

    Parameters
    ----------
    model : process in one coordinate
    window : scan of the domain
    observed : where the data were [state]
    """
    low, high = model.bounds
    if not np.any(window.diffusion):
        return NO_NOISE
    zeros = [zero for zero in dict.fromkeys(zeros_of_diffusion(model, window)) if zero is not None]
    if not zeros:
        return None
    places = " and ".join(f"x = {zero:.6g}" for zero in zeros)
    return Reason(
        Outcome.NOT_POSITIVE,
        f"no stationary distribution on the domain ({low:g}, {high:g}): the diffusion a is zero "
        f"or negative from {places} on, "
        "but has to be positive inside the domain; give a domain that ends there, or other terms"
        f"{_beyond(zeros, observed)}",
    )


def ends_problem(
    ends: tuple[End, End], fixed: tuple[FixedPoint, ...], observed: tuple[float, float] | None
) -> Reason | None:
    """Say which end of the domain allows no normalisable density; None where both allow one.

    Where neither does, the outcome is that of the lower end.

    Parameters
    ----------
    ends : lower and upper end, classified
    fixed : fixed points of the drift
    observed : where the data were [state]
    """
    problems: dict[Reason, list[str]] = {}
    for end in ends:
        if end.problem is not None:
            problems.setdefault(end.problem, []).append(end.place)
    if not problems:
        return None
    causes = "; ".join(f"{problem} {' and '.join(places)}" for problem, places in problems.items())
    outermost = [
        fixed[index].at[0]
        for index, end in ((0, ends[0]), (-1, ends[1]))
        if end.problem is not None and fixed and not fixed[index].stable
    ]
    turning = "".join(
        f"; it turns outward at x = {point:.6g}" for point in dict.fromkeys(outermost)
    )
    # The range supports the verdict only where the drift turns outward inside it.
    unseen = outermost if len(outermost) == sum(end.problem is not None for end in ends) else []
    return Reason(
        next(iter(problems)).outcome,
        f"no stationary distribution: {causes}, so the density is not "
        f"normalisable{turning}{_beyond(unseen, observed)}",
    )


def _beyond(places: list[float], observed: tuple[float, float] | None) -> str:
    if (
        observed is None
        or not places
        or any(observed[0] <= place <= observed[1] for place in places)
    ):
        return ""
    return (
        f". This lies beyond the observed range [{observed[0]:.6g}, {observed[1]:.6g}]: the data "
        "never reached it, so this "
        "is extrapolation; fewer terms, a domain, or reflecting boundaries give a result for the "
        "observed range"
    )
