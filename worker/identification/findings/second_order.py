"""Warnings about a model of second order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.checks.residuals import SIGNIFICANT, ResidualMoments
from worker.identification.errors import NotSecondOrder
from worker.identification.findings.finding import Finding
from worker.identification.second_order.coarse_fit import SAME, CoarseFit
from worker.identification.second_order.coloured_noise import ColouredNoise
from worker.identification.second_order.estimator import SecondOrderFit, SecondOrderProblem
from worker.identification.second_order.order import GAIN, MARGIN, Order
from worker.identification.second_order.recorded_velocities import RecordedVelocity

Floats = NDArray[np.float64]


def check_order(order: Order) -> None:
    """Raise NotSecondOrder where the record shows no velocity."""
    if order.order == 1 or order.evidence == "nothing-but-noise":
        raise NotSecondOrder(
            order.reason,
            hints=("Set parameters.dynamics to first-order or auto.", "Sample faster."),
        )


def about_order(order: Order, dynamics: str) -> Iterator[Finding]:
    """Say that the record decided for second order, or that it did not.

    Parameters
    ----------
    order : decision
    dynamics : dynamics that were asked for
    """
    details = {"evidence": order.evidence}
    if dynamics == "auto":
        yield Finding(
            "second-order",
            f"{order.reason} Positions and their velocities are the variables of the model. Set "
            "parameters.dynamics to second-order or first-order to decide otherwise than by the "
            "record.",
            details,
        )
    elif order.order is None:
        yield Finding("order-undecided", order.reason, details)


def velocities_recognised(
    pairs: Sequence[RecordedVelocity], *, second_order: bool
) -> Iterator[Finding]:
    """Say which variables are the velocities of others, and what follows.

    Parameters
    ----------
    pairs : velocities that were recorded
    second_order : whether the model is of second order
    """
    named = [(variable_name(p.position), variable_name(p.velocity), p) for p in pairs]
    said = [
        f"{v} is the velocity of {x}"
        if p.factor == 1
        else f"{_number(p)} times {v} is the velocity of {x}"
        for x, v, p in named
    ]
    message = (
        f"The velocity is recognised: {', and '.join(said)}. The increments of a position are the "
        "integral of its velocity, to rounding and to what happens between samples. So the drift "
        "of a position is known, and it has no noise of its own (a degenerate, singular diffusion "
        "tensor; a hypoelliptic process): neither was fitted."
    )
    scaled = [(v, p) for _, v, p in named if p.factor != 1]
    if second_order:
        message += " The model is of second order, of positions and velocities as recorded."
    elif scaled:
        message += " " + " ".join(
            f"Multiply {v} by {_number(p)}, so that it is in the unit of the position over that "
            "of time,"
            for v, p in scaled
        )
        message += " for a model of second order, with its friction and frequencies."
    yield Finding(
        "velocity-recognised",
        message,
        {
            "velocities": {x: v for x, v, _ in named},
            "factors": {x: p.factor for x, _, p in named},
            "factor_errors": {x: p.error for x, _, p in named},
        },
    )


def about_secants(pairs: Sequence[RecordedVelocity]) -> Iterator[Finding]:
    """Warn of velocities that were computed from the positions."""
    named = [(variable_name(p.position), variable_name(p.velocity)) for p in pairs]
    yield Finding(
        "velocity-from-positions",
        f"{_and(f'{v} was computed from {x}' for x, v in named)}: each value is a difference of "
        "neighbouring positions, a mean over sampling intervals and not the velocity at an "
        "instant. Force, friction and diffusion that are fitted to such velocities are biased, "
        f"and measurement noise of the positions adds to them. {alone(pairs)}",
        {"velocities": dict(named)},
    )


def alone(pairs: Sequence[RecordedVelocity]) -> str:
    """Say what to do with velocities that were computed from the positions."""
    positions = _and(variable_name(p.position) for p in pairs)
    return (
        f"Name {positions} alone in layout.state_columns, and leave parameters.dynamics out: "
        "force, friction and kicks are then fitted to positions, without velocities."
    )


def _number(pair: RecordedVelocity) -> str:
    return f"{pair.factor:.4g}"


def _and(words: Iterable[str]) -> str:
    return " and ".join(words)


CORRELATED = 0.05
"""Correlation of residuals that is worth naming."""


def undecided(reason: str) -> Iterator[Finding]:
    """Say why a record that looks like one of second order is answered in first order."""
    yield Finding("order-undecided", f"{reason} The model is of first order.")


def about_velocities(friction: Floats, memory: float) -> Iterator[Finding]:
    """Warn of velocities that are forgotten within a sampling interval, or never.

    Parameters
    ----------
    friction : (d,) mean friction of each velocity [1/time]
    memory : least correlation of neighbouring mean velocities
    """
    if not friction.min() > 0:
        yield Finding(
            "no-friction",
            "The path is smooth, as one of second order is, but no friction is found in "
            "every velocity, without which none has a stationary distribution.",
            {"friction": friction.tolist()},
        )
    elif memory < REMEMBERED:
        yield Finding(
            "velocity-not-resolved",
            f"Mean velocities in neighbouring sampling intervals are correlated by {memory:.2f} "
            f"only: where this is less than {REMEMBERED}, friction and diffusion of a model of "
            "second order come out too small. Sample faster.",
            {"correlation": memory},
        )


def is_of_second_order(coarse: CoarseFit, friction: Floats, *, strict: bool) -> bool:
    """Decide whether coarse samples are those of a velocity, by likelihoods.

    Means over an exposure correlate neighbouring increments, too, and have to be worse: where
    second order was asked for by as much as a filter, and where the record decides by as much as
    first order.

    Parameters
    ----------
    coarse : fit of a linear force
    friction : (d,) its friction of each velocity
    strict : whether the record decides alone
    """
    least = GAIN if strict else MARGIN
    return bool(friction.min() > 0 and coarse.gain >= GAIN and coarse.over_exposed >= least)


def about_coarse(
    coarse: CoarseFit, problem: SecondOrderProblem, memory: float
) -> Iterator[Finding]:
    """Say what a fit of a linear force to coarse samples rests on, and what it cannot tell.

    Parameters
    ----------
    coarse : fit
    problem : problem that it solves
    memory : least correlation of neighbouring mean velocities
    """
    units, d = problem.space.positions.units, problem.space.dimension
    names = problem.space.names[:d]
    noise = np.sqrt(coarse.noise) * units
    parts = [
        f"Mean velocities in neighbouring sampling intervals are correlated by {memory:.2f}: the "
        "velocity is forgotten within about one interval. A linear force was fitted by its exact "
        f"likelihood, which gains {coarse.gain:.0f} over first order with noise and "
        f"{coarse.over_exposed:.0f} over first order with motion blur. Forces that are not linear, "
        "and kicks that depend on the state, cannot be found at this sampling interval."
    ]
    if coarse.over_exposed < GAIN:
        parts.append("Motion blur would look much the same; only finer sampling tells.")
    if coarse.p_isotropic >= SAME:
        parts.append(
            "All coordinates were given one force and one diffusion: they differ by no more than "
            f"chance (p = {coarse.p_isotropic:.2g})."
        )
    if noise.any():
        told = ", ".join(f"{s:.3g} in {name}" for name, s in zip(names, noise, strict=True) if s)
        parts.append(
            "The motion has heavy tails, as that of an animal that walks and rests, beside which "
            "measurement noise cannot be told: none was fitted. A fit with noise finds a standard "
            f"deviation of {told} and a longer memory of the velocity; it is made where "
            "measurement_noise is corrected."
        )
    yield Finding(
        "velocity-not-resolved",
        " ".join(parts),
        {
            "correlation": memory,
            "gain": coarse.gain,
            "gain_over_blur": coarse.over_exposed,
            "noise": dict(zip(names, noise.tolist(), strict=True)),
        },
    )


REMEMBERED = 0.65
"""Correlation of mean velocities in neighbouring intervals below which friction comes out wrong.

A friction of 0.7 per sampling interval, or six samples in a period, have this one.
"""

REJECTED = 0.01
"""Probability below which a force is not that of coloured noise."""

DETERMINED = 0.3
"""Largest relative error of a correlation time that is worth naming."""


def second_order_findings(
    found: SecondOrderFit,
    problem: SecondOrderProblem,
    noise: ColouredNoise | None,
    residuals: Mapping[str, ResidualMoments],
    *,
    restricted: bool,
) -> Iterator[Finding]:
    """Yield all warnings about a fit of second order.

    Parameters
    ----------
    found : fit
    problem : problem that it solves
    noise : restriction to coloured noise; None where there is none
    residuals : residuals of windows that do not overlap, by velocity
    restricted : whether the force was restricted to it
    """
    if noise is not None:
        yield from _coloured(noise, problem, restricted=restricted)
    for name, moments in residuals.items():
        yield from _of_residuals(name, moments)
    if found.kicks.smoothed:
        yield Finding(
            "smoothed-velocities",
            "Neighbouring second differences of the positions are not correlated by a quarter, as "
            "those of a sampled path are. The record was simulated with steps as long as its "
            "sampling interval, or smoothed. The diffusion was taken from sums of neighbours, "
            "which smoothing over less than an interval leaves as they are.",
        )
    names, units = problem.space.names, problem.space.positions.units
    variances = found.kicks.noise * units**2
    if problem.given_noise is None and variances.any():
        told = ", ".join(
            f"{s**0.5:.3g} in {name}"
            for name, s in zip(names[: len(variances)], variances.tolist(), strict=True)
        )
        yield Finding(
            "measurement-noise",
            f"The positions contain measurement noise: its standard deviation is {told}. Force and "
            "diffusion are corrected for it.",
            {"variances": dict(zip(names, variances.tolist(), strict=False))},
        )


def _of_residuals(name: str, residuals: ResidualMoments) -> Iterator[Finding]:
    """Warn of kicks that remember each other, and of heavy tails.

    Of clean, noisy, multiplicative and coarse records up to six samples a period, none had a
    correlation beyond 0.012, or a kurtosis beyond 3.1; kicks with a memory of six sampling
    intervals had 0.56, and rare jumps 105.
    """
    rho = residuals.lag_one_correlation
    if abs(rho) > CORRELATED and abs(residuals.lag_one_z) > SIGNIFICANT:
        yield Finding(
            "memory",
            f"Residuals of {name} in windows that do not overlap are correlated by {rho:+.2f}: "
            "the kicks remember earlier ones, as behind a filter, or with a force that is not "
            "among the variables. Position and velocity are not the whole state. Sample more "
            "slowly, or add the variable.",
            {"residual_correlation": rho},
        )
    if residuals.is_heavy_tailed:
        yield Finding(
            "heavy-tails",
            f"Residuals of {name} have heavy tails (kurtosis {residuals.kurtosis:.3g}; 3 is "
            "Gaussian): the velocity jumps, or its noise is intermittent. The diffusion contains "
            "the jumps, and intervals of it are too narrow. Look for jumps or steps in the record "
            "first.",
            {"kurtosis": residuals.kurtosis},
        )


def _coloured(
    noise: ColouredNoise, problem: SecondOrderProblem, *, restricted: bool
) -> Iterator[Finding]:
    """Name coloured noise where the force has its form, and say what cannot be told apart."""
    time, p = problem.space.positions.time / noise.rate, noise.p_value
    details = {"correlation_time": time, "p_value": p}
    if restricted and p < REJECTED:
        yield Finding(
            "not-coloured-noise",
            f"A free force of second order fits better (p = {p:.1g}) than coloured noise. Set "
            "parameters.dynamics to second-order.",
            details,
        )
    slope = _slope(noise) if noise.is_linear else 0.0
    if restricted and slope < 0:
        slow = -problem.space.positions.time / slope
        yield Finding(
            "rates-interchangeable",
            f"The drift is linear, so the record holds two times, {max(time, slow):.3g} and "
            f"{min(time, slow):.3g}, and cannot tell which is the relaxation time of the system "
            "and which the correlation time of the noise. The shorter was taken for the noise.",
            {"times": sorted((time, slow))},
        )
    is_determined = noise.rate_error < DETERMINED * noise.rate
    if not restricted and p >= REJECTED and is_determined and not noise.is_linear:
        yield Finding(
            "coloured-noise",
            "The force has the form f(x)/τ + (f'(x) − 1/τ) v of first-order dynamics "
            f"dx = f(x) dt + u dt with coloured noise u, whose correlation time is τ = {time:.3g} "
            f"(p = {p:.2g}). Set parameters.dynamics to coloured-noise for f, τ and the noise's "
            "strength.",
            details,
        )


def _slope(noise: ColouredNoise) -> float:
    """Return the slope of a linear f per sampling interval."""
    return float(noise.drift.estimate.internal[1])


def errors_not_used() -> Iterator[Finding]:
    """Say that the noise of the samples was estimated, although errors were given."""
    yield Finding(
        "errors-not-used",
        "The data have columns with the errors of the samples. Second-order dynamics in several "
        "coordinates, and coloured noise, estimate the measurement noise from the data, and did "
        "not use them.",
    )
