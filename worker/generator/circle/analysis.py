"""Processes on a circle: a density with a current, complex rates, and passages either way round."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from worker.generator.circle.correlations import correlations_on_the_circle
from worker.generator.circle.fourier import MODES, fourier_rates
from worker.generator.circle.passages import circular_committor, circular_exit, circular_passage
from worker.generator.circle.unrolled_circle import UnrolledCircle, unroll
from worker.generator.line.domain.domain_scan import choose_window
from worker.generator.line.domain.positive_diffusion import TOUCHING, zeros_of_diffusion
from worker.generator.line.fixed_points import work_between
from worker.generator.line.passages.splitting import with_neighbours
from worker.generator.line.stationary import (
    distribution_on_grid,
    effective_potential,
    log_total_mass,
)
from worker.generator.numerics.quadrature import CUMULATIVE, WEIGHTS
from worker.generator.numerics.roots import roots, separators
from worker.generator.process import ScalarProcess, read_only, values
from worker.generator.quantities.fixed_points import Barrier, FixedPoint
from worker.generator.quantities.outcomes import (
    ANGLE,
    NO_NOISE,
    NOISE_NOT_POSITIVE,
    Outcome,
    Reason,
)
from worker.generator.quantities.passages import Committor, Exit, Triple
from worker.generator.quantities.regions import Pair, facing_numbers
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import StationaryDistribution
from worker.generator.request import AnalysisRequest, pairs_to_time

SCAN = 2048
"""Points of one turn at which fixed points are searched for."""
SETTLED = 1e-8


def analysed_on_the_circle(model: ScalarProcess, request: AnalysisRequest) -> GeneratorReport:
    """Return the report of a process whose coordinate is an angle.

    The turn starts at the domain's lower end, or at −period/2. Where a is not positive all the way
    round there is a reason in place of a stationary distribution.
    """
    assert model.period is not None
    low = model.bounds[0] if np.isfinite(model.bounds[0]) else -model.period / 2
    fixed = circular_fixed_points(model, low)
    still = circle_without_noise(model, low, fixed, request)
    if still is not None:
        return still
    pairs = pairs_to_time(request, fixed, model.period)
    between = with_neighbours(request.committors, fixed)
    circle = unroll(model, low, points_of(fixed, pairs, between, request.exits))
    law, current = circular_distribution(circle, request.density_points)
    spectrum = circular_spectrum(model, low, request.eigenpairs)
    return GeneratorReport(
        ergodic=True,
        reason=None,
        domain=circle.model.bounds,
        boundaries="natural",
        stationary=law,
        spectrum=spectrum,
        correlations=correlations_on_the_circle(
            model, low, model.period, spectrum, request.lags, request.frequencies
        ),
        fixed_points=fixed,
        barriers=circular_barriers(circle, fixed),
        passages=tuple(circular_passage(circle, start, to) for start, to in pairs),
        committors=tuple(circular_committor(circle, pair) for pair in between),
        exits=tuple(circular_exit(circle, asked) for asked in request.exits),
        grid=law.grid[0],
        effective_potential=effective_potential(circle.landscape, law.grid[0]),
        probability_current=current,
    )


def points_of(
    fixed: Iterable[FixedPoint],
    pairs: Iterable[Range],
    between: Iterable[Pair],
    exits: Iterable[Triple],
) -> list[float]:
    """Return where panels have to meet, for all that is asked of a circle [state].

    Parameters
    ----------
    fixed : fixed points of the drift
    pairs : passages
    between : committors
    exits : exits
    """
    numbers = (facing_numbers(pair) or () for pair in between)
    return [*(point.at[0] for point in fixed), *chain.from_iterable((*pairs, *numbers, *exits))]


def circular_distribution(
    circle: UnrolledCircle, points: int
) -> tuple[StationaryDistribution, float]:
    """Return the stationary distribution over one turn, (G17), and the current [1/time]."""
    landscape = circle.landscape
    _, psi, _ = landscape.at_nodes
    level = psi.mean(axis=1, keepdims=True)
    weight = np.exp(level - psi)
    inside = landscape.half[:, None] * (weight @ CUMULATIVE.T)
    whole = landscape.half * (weight @ WEIGHTS)
    log_whole = np.log(whole) - level[:, 0]
    before = np.append(-np.inf, np.logaddexp.accumulate(log_whole))[:-1]
    after = np.append(np.logaddexp.accumulate(log_whole[::-1])[::-1], -np.inf)[1:]
    log_inside = np.log(inside) - level
    log_rest = np.log(whole[:, None] - inside) - level
    ahead = np.logaddexp(after[:, None], log_rest)
    behind = np.logaddexp(before[:, None], log_inside) - circle.potential_gain
    tilted = replace(landscape, psi=psi + np.logaddexp(ahead, behind))
    grid = np.linspace(*circle.model.bounds, points)
    log_total = log_total_mass(tilted)
    law = distribution_on_grid(tilted, grid, log_total, (None,) * 4, (ANGLE,))
    # C (1 − e^−Ψ) / 2 with the density's own constant C = 1/∫π, both of which may overflow.
    gain = circle.potential_gain
    with np.errstate(divide="ignore"):
        log_size = np.log(-np.expm1(-abs(gain))) + max(-gain, 0.0)
    current = 0.5 * np.sign(gain) * np.exp(log_size - log_total)
    return law, float(current)


def circular_spectrum(model: ScalarProcess, low: float, count: int) -> Spectrum:
    """Return the slowest rates by Fourier's method, (G18); complex where the process goes round.

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    count : number of rates
    """
    assert model.period is not None
    rates, error = np.zeros(0, complex), np.full(count, np.inf)
    for modes in MODES:
        previous, rates = rates, fourier_rates(model, low, model.period, modes)[:count]
        if len(previous) == len(rates):
            error = np.abs(rates - previous) / np.maximum(np.abs(rates), np.finfo(float).tiny)
            if np.all(error < SETTLED):
                break
    # A faster one that settled is not the slowest: what comes after one that did not is left out
    # with it.
    settled = np.logical_and.accumulate(error < SETTLED**0.5)
    reasons: tuple[Reason, ...] = ()
    if not settled.all():
        first = (
            f"only the {settled.sum()} slowest of {count} rates converge"
            if settled.any()
            else "the slowest rate does not converge"
        )
        why = (
            f"{first}: the noise is too weak for the Fourier method; first-passage times are not "
            "affected"
        )
        reasons = (Reason(Outcome.UNRESOLVED, why),)
    rates, error = rates[settled], error[settled]
    return Spectrum(read_only(rates), None, read_only(error), reasons)


def circular_fixed_points(model: ScalarProcess, low: float) -> tuple[FixedPoint, ...]:
    """Return the fixed points of the drift in the turn from `low`."""
    assert model.period is not None
    period = model.period
    x = low + period * (np.arange(SCAN + 1) - 0.5) / SCAN
    x = np.union1d(x, separators(partial(values, model.b), x[::8]))
    found, stable = roots(model, x, values(model.b, x))
    inside = low + np.mod(found - low, period)
    slopes = values(model.db, inside)
    order = np.argsort(inside)
    return tuple(FixedPoint((float(inside[i]),), bool(stable[i]), float(slopes[i])) for i in order)


def circular_barriers(circle: UnrolledCircle, fixed: tuple[FixedPoint, ...]) -> tuple[Barrier, ...]:
    """Return the two ways out of each well; a drift that goes round makes them unequal.

    The next well may be the same, one turn on. Panels break at the fixed points.
    """
    period = circle.period
    barriers = []
    for well in (point.at[0] for point in fixed if point.stable):
        ahead = [
            (float(np.mod(point.at[0] - well, period)), point)
            for point in fixed
            if point.at[0] != well
        ]
        ahead.sort(key=lambda pair: pair[0])
        tops = [(distance, point.at[0]) for distance, point in ahead if not point.stable]
        others = [(distance, point.at[0]) for distance, point in ahead if point.stable]
        landscape = circle.cut_at(well)
        for (distance, top), start in ((tops[-1], well + period), (tops[0], well)):
            behind = [x for d, x in others if (d > distance if start == well else d < distance)]
            to = (behind[0] if start == well else behind[-1]) if behind else well
            psi, log_a = landscape.psi_and_log_a(np.array([start, well + distance]))
            height = -work_between(circle.model, landscape, start, well + distance)
            barriers.append(
                Barrier(well, top, to, height, float(psi[0] - psi[1] + log_a[1] - log_a[0]))
            )
    return tuple(barriers)


def circle_without_noise(
    model: ScalarProcess, low: float, fixed: tuple[FixedPoint, ...], request: AnalysisRequest
) -> GeneratorReport | None:
    """Return the report where the noise is zero or negative somewhere; None where it is positive.

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    fixed : fixed points of the drift
    request : what is asked for
    """
    assert model.period is not None
    line = replace(model, bounds=(low, low + model.period), period=None)
    window = choose_window(line, None)
    zeros = [zero for zero in dict.fromkeys(zeros_of_diffusion(line, window)) if zero is not None]
    # The place where the turn is cut is no end: the noise has to be positive there too.
    at_cut, largest = (
        float(values(model.a, np.array([low]))[0]),
        float(np.max(np.abs(window.diffusion))),
    )
    if not zeros and not at_cut > TOUCHING * largest:
        zeros = [low]
    if not zeros:
        return None
    return GeneratorReport(
        ergodic=False,
        reason=_not_positive_at(zeros) if largest > 0 else NO_NOISE,
        domain=line.bounds,
        boundaries="natural",
        fixed_points=fixed,
        committors=tuple(Committor(*pair, NOISE_NOT_POSITIVE) for pair in request.committors),
        exits=tuple(Exit.without(asked, NOISE_NOT_POSITIVE) for asked in request.exits),
        grid=np.linspace(*line.bounds, request.density_points)
        if np.any(window.diffusion > 0)
        else None,
    )


def _not_positive_at(zeros: list[float]) -> Reason:
    places = " and ".join(f"x = {zero:.6g}" for zero in zeros)
    return Reason(
        Outcome.NOT_POSITIVE,
        "no stationary distribution on the circle: the diffusion a is zero or negative at "
        f"{places}, but must be positive everywhere; give other terms",
    )
