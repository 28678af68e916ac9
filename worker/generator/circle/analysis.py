"""Processes on a circle: a density with a current, complex rates, and passages that may go either way round."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from worker.generator.circle.correlations import memory_on_the_circle
from worker.generator.circle.degenerate_circle import circle_without_noise
from worker.generator.circle.fourier import MODES, fourier_rates
from worker.generator.circle.passages import circular_committor, circular_exit, circular_passage
from worker.generator.circle.unrolled_circle import Turn, opened
from worker.generator.line.effective_potential import effective_potential
from worker.generator.line.extrapolation import extrapolated_beyond
from worker.generator.line.fixed_points import work_between
from worker.generator.line.local_relaxation import local_relaxation
from worker.generator.line.passages.committors import with_neighbours
from worker.generator.line.stationary import law_on_grid
from worker.generator.numerics.quadrature import CUMULATIVE, WEIGHTS
from worker.generator.numerics.roots import roots, separators
from worker.generator.process import ScalarProcess, read_only, values
from worker.generator.quantities.barrier import Barrier
from worker.generator.quantities.exit import Triple
from worker.generator.quantities.fixed_point import FixedPoint
from worker.generator.quantities.regions import Pair, facing_numbers
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import StationaryLaw
from worker.generator.request import Questions, pairs_to_time

SCAN = 2048
"""Points of one turn at which fixed points are looked for."""
SETTLED = 1e-8
ANGLE = "the variable is an angle: its moments depend on the choice of origin, so they are omitted"


def analysed_on_the_circle(model: ScalarProcess, questions: Questions) -> GeneratorReport:
    """The report of a process whose coordinate is an angle; the turn starts at the domain's lower end, or at −period/2.

    Where a is not positive all the way round there is no law, but a reason.
    """
    assert model.period is not None
    low = model.bounds[0] if np.isfinite(model.bounds[0]) else -model.period / 2
    fixed = circular_fixed_points(model, low)
    still = circle_without_noise(model, low, fixed, questions)
    if still is not None:
        return still
    pairs = pairs_to_time(questions, fixed, model.period)
    between = with_neighbours(questions.committors, fixed)
    circle = opened(model, low, points_of(fixed, pairs, between, questions.exits))
    law, current = circular_law(circle, questions.density_points)
    barriers = circular_barriers(circle, fixed)
    passages = tuple(circular_passage(circle, start, to) for start, to in pairs)
    spectrum = circular_spectrum(model, low, questions.eigenpairs)
    return GeneratorReport(
        ergodic=True,
        reason=None,
        domain=circle.model.bounds,
        boundaries="natural",
        stationary=law,
        spectrum=spectrum,
        memory=memory_on_the_circle(
            model, low, model.period, spectrum, questions.lags, questions.frequencies
        ),
        fixed_points=fixed,
        barriers=barriers,
        passages=passages,
        committors=tuple(circular_committor(circle, pair) for pair in between),
        exits=tuple(circular_exit(circle, asked) for asked in questions.exits),
        effective_potential=effective_potential(circle.landscape, law.grid[0]),
        local_relaxation=local_relaxation(model, law.grid[0]),
        probability_current=current,
        extrapolated=extrapolated_beyond(fixed, barriers, passages, questions.observed_range),
    )


def points_of(
    fixed: Iterable[FixedPoint],
    pairs: Iterable[Range],
    between: Iterable[Pair],
    exits: Iterable[Triple],
) -> list[float]:
    """Where panels have to meet, for all that is asked of a circle [state]."""
    numbers = (facing_numbers(pair) or () for pair in between)
    return [*(point.at[0] for point in fixed), *chain.from_iterable((*pairs, *numbers, *exits))]


def circular_law(circle: Turn, points: int) -> tuple[StationaryLaw, float]:
    """The invariant law over one turn, equation (G17), and the probability current through every point [1/time]."""
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
    behind = np.logaddexp(before[:, None], log_inside) - circle.climb
    tilted = replace(landscape, psi=psi + np.logaddexp(ahead, behind))
    grid = np.linspace(*circle.model.bounds, points)
    law, log_total = law_on_grid(tilted, grid, ANGLE)
    # C (1 − e^−Ψ) / 2 with the density's own constant C = 1/∫π.
    current = 0.5 * np.exp(-log_total) * -np.expm1(-circle.climb)
    return law, float(current)


def circular_spectrum(model: ScalarProcess, low: float, count: int) -> Spectrum:
    """The slowest rates on the turn from `low`, by Fourier's method, equation (G18); complex where the process goes round."""
    assert model.period is not None
    rates, error = np.zeros(0, complex), np.full(count, np.inf)
    for modes in MODES:
        previous, rates = rates, fourier_rates(model, low, model.period, modes)[:count]
        if len(previous) == len(rates):
            error = np.abs(rates - previous) / np.maximum(np.abs(rates), np.finfo(float).tiny)
            if np.all(error < SETTLED):
                break
    # A faster one that settled is not the slowest: what comes after one that did not is left out with it.
    settled = np.logical_and.accumulate(error < SETTLED**0.5)
    reason = None
    if not settled.all():
        first = (
            f"only the {settled.sum()} slowest of {count} rates converge"
            if settled.any()
            else "the slowest rate does not converge"
        )
        reason = f"{first}: the noise is too weak for the Fourier method; first-passage times are not affected"
    rates, error = rates[settled], error[settled]
    return Spectrum(read_only(rates), read_only(1 / rates.real), None, read_only(error), reason)


def circular_fixed_points(model: ScalarProcess, low: float) -> tuple[FixedPoint, ...]:
    """The drift's sign changes in the turn from `low`."""
    assert model.period is not None
    period = model.period
    x = low + period * (np.arange(SCAN + 1) - 0.5) / SCAN
    x = np.union1d(x, separators(partial(values, model.b), x[::8]))
    found, stable = roots(model, x, values(model.b, x))
    inside = low + np.mod(found - low, period)
    slopes = values(model.db, inside)
    order = np.argsort(inside)
    return tuple(FixedPoint((float(inside[i]),), bool(stable[i]), float(slopes[i])) for i in order)


def circular_barriers(circle: Turn, fixed: tuple[FixedPoint, ...]) -> tuple[Barrier, ...]:
    """The two ways out of each well; a drift that goes round makes them unequal. The next well may be the same, one turn on.
    Panels break at the fixed points."""
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
