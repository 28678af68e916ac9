"""What the landscape of one model drawn around a reference is like, where the reference's was looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker.generator.circle.analysis import circular_barriers, circular_law
from worker.generator.circle.unrolled_circle import Turn
from worker.generator.line.fixed_points import Barrier, FixedPoint, barriers_of
from worker.generator.line.landscape import Landscape
from worker.generator.line.local_relaxation import local_relaxation
from worker.generator.line.stationary import StationaryLaw
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.report import GeneratorReport, Range


@dataclass(frozen=True, slots=True, eq=False)
class Topography:
    """On the reference's grids, and at the fixed points that stand for its own.

    density       (g,) stationary density [1/state]; None without a law
    potential     (g,) effective potential, zero at its lowest point of the grid [kT]
    relaxation    (g,) |b'|/a; inf where a is not positive [1/state²]
    fixed_points  (n,) where the model has each of the reference's [state]; nan where it has none like it
    barriers      (k, 2) ΔV and ΔΦ of each of the reference's barriers [state²/time], [kT]; nan where it has none like it
    """

    density: FloatArray | None
    potential: FloatArray
    relaxation: FloatArray
    fixed_points: FloatArray
    barriers: FloatArray


def topography_on_the_line(
    model: ScalarProcess,
    landscape: Landscape,
    fixed: tuple[FixedPoint, ...],
    reference: GeneratorReport,
    log_total: float | None,
) -> Topography | None:
    """Of a model with this landscape and these fixed points; `log_total` is log ∫π, None without a law. None where there is no
    potential of the reference to compare with."""
    if reference.effective_potential is None:
        return None
    grid = reference.effective_potential.grid
    log_density = landscape.log_density_at(grid)
    within = range_of_places(reference)
    at, own = counterparts(reference.fixed_points, fixed, within)
    return Topography(
        density=None if log_total is None else np.exp(log_density - log_total),
        potential=above_lowest(log_density),
        relaxation=_relaxation(model, grid),
        fixed_points=at,
        barriers=_matched(reference, own, barriers_of(model, landscape, fixed)),
    )


def topography_on_the_circle(
    model: ScalarProcess, circle: Turn, fixed: tuple[FixedPoint, ...], reference: GeneratorReport
) -> tuple[Topography | None, float]:
    """Of a model on a circle, where panels break at its fixed points, and its probability current [1/time]."""
    potential = reference.effective_potential
    law, current = circular_law(circle, 2 if potential is None else len(potential.grid))
    if potential is None:
        return None, current
    at, own = _counterparts_round(reference.fixed_points, fixed, circle.period)
    return Topography(
        density=law.density,
        potential=above_lowest(circle.landscape.log_density_at(potential.grid)),
        relaxation=_relaxation(model, potential.grid),
        fixed_points=at,
        barriers=_matched(reference, own, circular_barriers(circle, fixed) if own else ()),
    ), current


def range_of_places(reference: GeneratorReport) -> Range:
    """Where fixed points have to be those of the reference, as many and in the same order, to stand for them [state]."""
    law = reference.stationary
    if not isinstance(law, StationaryLaw):
        return -np.inf, np.inf
    return float(law.grid[0][0]), float(law.grid[0][-1])


def counterparts(
    wanted: Sequence[FixedPoint], found: Sequence[FixedPoint], within: Range
) -> tuple[FloatArray, dict[float, float]]:
    """(n,) which of `found` stands for each of `wanted` [state], nan where none does; and the same from one to the other. Between
    the two ends there have to be as many, of the same kinds."""
    inside, own = (
        [p for p in points if within[0] <= p.at[0] <= within[1]] for points in (wanted, found)
    )
    if [p.stable for p in inside] != [p.stable for p in own]:
        return np.full(len(wanted), np.nan), {}
    places = {p.at[0]: q.at[0] for p, q in zip(inside, own, strict=True)}
    return np.array([places.get(p.at[0], np.nan) for p in wanted]), places


def above_lowest(log_density: FloatArray) -> FloatArray:
    """(..., g) effective potential, zero at its lowest point, from log π up to a constant."""
    return np.asarray(log_density.max(axis=-1, keepdims=True) - log_density)


def _counterparts_round(
    wanted: Sequence[FixedPoint], found: Sequence[FixedPoint], period: float
) -> tuple[FloatArray, dict[float, float]]:
    """Likewise on a circle, where the first of them may come round as the last; those found on the turn nearest to the wanted."""
    here, there = (np.array([p.at[0] for p in points]) for points in (wanted, found))
    best, turned = np.inf, None
    for shift in range(len(there) if len(here) == len(there) else 0):
        order = np.roll(np.arange(len(there)), shift)
        if [found[int(k)].stable for k in order] != [p.stable for p in wanted]:
            continue
        away = np.mod(there[order] - here + period / 2, period) - period / 2
        if np.sum(np.abs(away)) < best:
            best, turned = float(np.sum(np.abs(away))), (order, away)
    if turned is None:
        return np.full(len(here), np.nan), {}
    order, away = turned
    return here + away, dict(zip(here.tolist(), there[order].tolist(), strict=True))


def _relaxation(model: ScalarProcess, grid: FloatArray) -> FloatArray:
    rate = local_relaxation(model, grid).rate
    return np.where(np.isnan(rate), np.inf, rate)


def _matched(
    reference: GeneratorReport, places: dict[float, float], own: Sequence[Barrier]
) -> FloatArray:
    """(k, 2) the heights of the own barrier that stands for each of the reference's."""
    known: dict[tuple[float, float], list[Barrier]] = {}
    for barrier in own:
        known.setdefault((barrier.start, barrier.over), []).append(barrier)
    heights = np.full((len(reference.barriers), 2), np.nan)
    for row, barrier in zip(heights, reference.barriers, strict=True):
        pair = places.get(barrier.start), places.get(barrier.over)
        if None in pair or pair not in known:
            continue
        # On a circle the one barrier of a well is left over on either side, the lower side first.
        left = known[pair]
        first = left.pop(0)
        row[:] = first.height, first.height_over_noise
    return heights
