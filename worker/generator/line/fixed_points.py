"""Fixed points and barriers on the line, and their counterparts in a reference."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worker.generator.line.domain.domain_scan import Window
from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import WEIGHTS
from worker.generator.numerics.roots import roots
from worker.generator.process import FloatArray, ScalarProcess, values
from worker.generator.quantities.fixed_points import Barrier, FixedPoint
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.quantities.stationary import StationaryDistribution


def fixed_points_of(model: ScalarProcess, window: Window) -> tuple[FixedPoint, ...]:
    """Return every point where the drift changes sign, from left to right.

    A point where it only touches zero is not one.
    """
    found, stable = roots(model, window.points, window.drift)
    slopes = values(model.db, found)
    return tuple(
        FixedPoint((float(x),), bool(s), float(db))
        for x, s, db in zip(found, stable, slopes, strict=True)
    )


def barriers_of(
    model: ScalarProcess, landscape: Landscape, fixed: tuple[FixedPoint, ...]
) -> tuple[Barrier, ...]:
    """Return one barrier for each neighbouring well and unstable point, from left to right."""
    barriers = []
    for index, well in enumerate(fixed):
        if not well.stable:
            continue
        for step in (-1, 1):
            if not 0 <= index + step < len(fixed):
                continue
            top = fixed[index + step].at[0]
            behind = fixed[index + 2 * step].at[0] if 0 <= index + 2 * step < len(fixed) else None
            pair = np.array([well.at[0], top])
            if not (landscape.edges[0] <= pair.min() and pair.max() <= landscape.edges[-1]):
                continue
            log_density = landscape.log_density_at(pair)
            height = -work_between(model, landscape, *pair)
            barriers.append(
                Barrier(well.at[0], top, behind, height, float(log_density[0] - log_density[1]))
            )
    return tuple(barriers)


def work_between(model: ScalarProcess, landscape: Landscape, start: float, stop: float) -> float:
    """Return ∫ b dx from start to stop, both of them edges of panels [state²/time].

    Parameters
    ----------
    model : process in one coordinate
    landscape : its panels
    start, stop : edges of panels [state]
    """
    first, last = sorted(int(np.argmin(np.abs(landscape.edges - x))) for x in (start, stop))
    x: FloatArray = landscape.at_nodes[0][first:last]
    work = float(landscape.half[first:last] @ (values(model.b, x) @ WEIGHTS))
    return work if start < stop else -work


def range_of_places(reference: GeneratorReport) -> Range:
    """Return the range in which fixed points must match the reference's in order [state]."""
    law = reference.stationary
    if not isinstance(law, StationaryDistribution):
        return -np.inf, np.inf
    return float(law.grid[0][0]), float(law.grid[0][-1])


def counterparts(
    wanted: Sequence[FixedPoint], found: Sequence[FixedPoint], within: Range
) -> tuple[FloatArray, dict[float, float]]:
    """Return (n,) the counterpart of each wanted fixed point, nan without one, and a map to these.

    Between the two ends there have to be as many, of the same kinds.

    Parameters
    ----------
    wanted : fixed points of the reference
    found : fixed points of the model
    within : the two ends [state]
    """
    inside, own = (
        [p for p in points if within[0] <= p.at[0] <= within[1]] for points in (wanted, found)
    )
    if [p.stable for p in inside] != [p.stable for p in own]:
        return np.full(len(wanted), np.nan), {}
    places = {p.at[0]: q.at[0] for p, q in zip(inside, own, strict=True)}
    return np.array([places.get(p.at[0], np.nan) for p in wanted]), places


def counterparts_round(
    wanted: Sequence[FixedPoint], found: Sequence[FixedPoint], period: float
) -> tuple[FloatArray, dict[float, float]]:
    """Return the counterparts on a circle, where the first fixed point may come round as the last.

    Parameters
    ----------
    wanted : fixed points of the reference
    found : fixed points of the model; the results are on the turn nearest to the wanted
    period : of the circle [state]
    """
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


def barriers_round(
    reference: GeneratorReport, places: dict[float, float], own: Sequence[Barrier]
) -> tuple[Barrier, ...]:
    """Return the model's barrier for each of the reference's; heights are nan where there is none.

    Parameters
    ----------
    reference : report with the wanted barriers
    places : the reference's fixed points, each with the model's [state]
    own : barriers of the model
    """
    known: dict[tuple[float, float], list[Barrier]] = {}
    for barrier in own:
        known.setdefault((barrier.start, barrier.over), []).append(barrier)
    found = []
    for barrier in reference.barriers:
        # On a circle the one barrier of a well is left over on either side, the lower side first.
        left = known.get((places.get(barrier.start, np.nan), places.get(barrier.over, np.nan)), [])
        heights = (left[0].height, left.pop(0).height_over_noise) if left else (np.nan, np.nan)
        found.append(replace(barrier, height=heights[0], height_over_noise=heights[1]))
    return tuple(found)


def fixed_points_at(reference: GeneratorReport, places: FloatArray) -> tuple[FixedPoint, ...]:
    """Return the reference's fixed points, moved to the places (n,) of their counterparts."""
    return tuple(
        replace(point, at=(float(x),))
        for point, x in zip(reference.fixed_points, places, strict=True)
    )
