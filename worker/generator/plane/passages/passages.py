"""Passage times and committors between places of the plane: those asked for, and those between neighbouring wells."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from worker.generator.linear.fixed_points import gaussian_covariance
from worker.generator.plane.finite_volumes import Schemes
from worker.generator.plane.passages.committor import committed
from worker.generator.plane.passages.passage_mesh import Scene, Stage, scene_of
from worker.generator.plane.passages.passage_moments import hit
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.passages import Committor, SpatialPassage, Timing
from worker.generator.quantities.regions import Pair, Place, Region

MOST_WELLS = 6
"""Stable fixed points above which no passages are timed unless they are asked for."""
NOT_HIT = (
    "a process of two variables with noise never hits a single point; give a region as the target"
)
NUMBERS = (
    "two numbers name no states of a process of {dimension} coordinates; give points or regions"
)


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """What a passage or a committor was read from: cells, and the schemes by which fluxes were had."""

    scene: Scene
    schemes: Schemes


Passages = list[tuple[SpatialPassage, Solved | None]]
Committors = list[tuple[Committor, Solved | None]]


def passages_between(
    stage: Stage, asked: Sequence[Pair], fixed: tuple[FixedPoint, ...]
) -> Passages:
    """The passages asked for, then those between neighbouring wells in both directions; each with what it was read from, None
    where it has no time."""
    wells = wells_of(stage.process, fixed)
    around = [pair for a, b in neighbours(wells) for pair in ((a, b), (b, a))]
    return [
        _passage(stage, *pair) for pair in (*asked, *(pair for pair in around if pair not in asked))
    ]


def committors_between(
    stage: Stage, asked: Sequence[Pair], fixed: tuple[FixedPoint, ...]
) -> Committors:
    """The committors asked for, then those between neighbouring wells; each with what it was read from, None where there is
    none."""
    around = neighbours(wells_of(stage.process, fixed))
    return [
        _committor(stage, *pair)
        for pair in (*asked, *(pair for pair in around if pair not in asked))
    ]


def wells_of(process: DiffusionProcess, fixed: tuple[FixedPoint, ...]) -> list[Region]:
    """The box around each stable fixed point that reaches one standard deviation of the linear process next to it along each
    coordinate; none where there are too many."""
    found = []
    for point in fixed:
        at = np.array(point.at)
        if not point.stable:
            continue
        covariance = gaussian_covariance(
            process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0]
        )
        if covariance is not None and (np.diag(covariance) > 0).all():
            reach = np.sqrt(np.diag(covariance))
            ends = np.clip(
                np.column_stack([at - reach, at + reach]),
                *np.array(process.domain, dtype=float).T[:, :, None],
            )
            found.append(Region(tuple((float(low), float(high)) for low, high in ends)))
    return found if len(found) <= MOST_WELLS else []


def neighbours(wells: list[Region]) -> list[tuple[Region, Region]]:
    """The pairs of wells that have no third one between them, and do not overlap."""
    middles = [np.mean(well.intervals, axis=1) for well in wells]
    size = np.ptp(middles, axis=0) if wells else np.ones(2)
    size = np.where(size > 0, size, 1.0)
    pairs = []
    for i, j in combinations(range(len(wells)), 2):
        centre, radius = (middles[i] + middles[j]) / 2, _distance(middles[i], middles[j], size) / 2
        between = any(
            _distance(middles[k], centre, size) < radius * (1 - 1e-9)
            for k in range(len(wells))
            if k not in (i, j)
        )
        if not between and not _overlap(wells[i], wells[j]):
            pairs.append((wells[i], wells[j]))
    return pairs


def _passage(stage: Stage, start: Place, to: Place) -> tuple[SpatialPassage, Solved | None]:
    problem = _problem(start) or (_problem(to) if isinstance(to, Region) else NOT_HIT)
    if problem is not None:
        return SpatialPassage(start, to, Timing(None, problem)), None
    assert isinstance(to, Region)
    assert not isinstance(start, float)
    if not isinstance(start, Region) and to.holds(np.array([start]), stage.process.periods)[0]:
        return SpatialPassage(start, to, Timing(0.0), Timing(0.0)), None
    scene = scene_of(stage, start, to)
    if isinstance(scene, str):
        return SpatialPassage(start, to, Timing(None, scene)), None
    found = hit(scene)
    if isinstance(found, str):
        return SpatialPassage(start, to, Timing(None, found)), None
    passage = SpatialPassage(
        start, to, Timing.from_log(found.log_mean), Timing.from_log(found.log_deviation)
    )
    return passage, Solved(scene, found.schemes)


def _committor(stage: Stage, start: Place, to: Place) -> tuple[Committor, Solved | None]:
    if not isinstance(start, Region) or not isinstance(to, Region):
        return Committor(
            start,
            to,
            None,
            "a committor of two variables is between two regions; a single point is never hit",
        ), None
    problem = (
        _problem(start)
        or _problem(to)
        or ("the two regions overlap" if _overlap(start, to) else None)
    )
    scene = problem if problem is not None else scene_of(stage, start, to)
    if isinstance(scene, str):
        return Committor(start, to, None, scene), None
    found, schemes = committed(scene, start)
    if isinstance(found, str):
        return Committor(start, to, None, found), None
    return Committor(start, to, found), Solved(scene, schemes)


def _problem(place: Place) -> str | None:
    if isinstance(place, float):
        return NUMBERS.format(dimension=2)
    if isinstance(place, Region):
        return place.problem
    return (
        None if len(place) == 2 else f"a point in two variables has two numbers, not {len(place)}"
    )


def _overlap(first: Region, second: Region) -> bool:
    return all(
        max(a, c) < min(b, d)
        for (a, b), (c, d) in zip(first.intervals, second.intervals, strict=True)
    )


def _distance(a: FloatArray, b: FloatArray, size: FloatArray) -> float:
    return float(np.linalg.norm((a - b) / size))
