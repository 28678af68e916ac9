"""Passage times and committors between places of the plane: those asked for, and those between neighbouring wells."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from worker.generator.line.fixed_points import FixedPoint
from worker.generator.linear.fixed_points import gaussian_covariance
from worker.generator.plane.passages.committor import SolvedCommittor, committed
from worker.generator.plane.passages.passage_mesh import Scene, Stage, scene_of
from worker.generator.plane.passages.passage_moments import Hit, hit
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.committor import Committor
from worker.generator.quantities.passage_time import Timing
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
class SpatialPassage:
    """First passage between two places [state].

    mean_time  from a point; from a region the mean over the stationary law restricted to it, equation (G50) [time]
    deviation  standard deviation of the passage time, over its starts too [time]
    scene, hit   what a time was read from, for samples to be compared with; None without one
    """

    start: Place
    to: Place
    mean_time: Timing
    deviation: Timing | None = None
    scene: Scene | None = None
    hit: Hit | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SpatialCommittor(Committor):
    """A committor between two regions [state].

    scene, solved   what it was read from, for samples to be compared with
    """

    scene: Scene
    solved: SolvedCommittor


def passages_between(
    stage: Stage, asked: Sequence[Pair], fixed: tuple[FixedPoint, ...]
) -> tuple[SpatialPassage, ...]:
    """The passages asked for, then those between neighbouring wells in both directions."""
    wells = wells_of(stage.process, fixed)
    around = [pair for a, b in neighbours(wells) for pair in ((a, b), (b, a))]
    return tuple(
        _passage(stage, *pair) for pair in (*asked, *(pair for pair in around if pair not in asked))
    )


def committors_between(
    stage: Stage, asked: Sequence[Pair], fixed: tuple[FixedPoint, ...]
) -> tuple[Committor, ...]:
    """The committors asked for, then those between neighbouring wells."""
    around = neighbours(wells_of(stage.process, fixed))
    return tuple(
        _committor(stage, *pair)
        for pair in (*asked, *(pair for pair in around if pair not in asked))
    )


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


def _passage(stage: Stage, start: Place, to: Place) -> SpatialPassage:
    problem = _problem(start) or (_problem(to) if isinstance(to, Region) else NOT_HIT)
    if problem is not None:
        return SpatialPassage(start, to, Timing(None, problem))
    assert isinstance(to, Region)
    assert not isinstance(start, float)
    if not isinstance(start, Region) and to.holds(np.array([start]), stage.process.periods)[0]:
        return SpatialPassage(start, to, Timing(0.0), Timing(0.0))
    scene = scene_of(stage, start, to)
    if isinstance(scene, str):
        return SpatialPassage(start, to, Timing(None, scene))
    found = hit(scene)
    if isinstance(found, str):
        return SpatialPassage(start, to, Timing(None, found))
    return SpatialPassage(
        start,
        to,
        Timing.from_log(found.log_mean),
        Timing.from_log(found.log_deviation),
        scene,
        found,
    )


def _committor(stage: Stage, start: Place, to: Place) -> Committor:
    if not isinstance(start, Region) or not isinstance(to, Region):
        return Committor(
            start,
            to,
            None,
            "a committor of two variables is between two regions; a single point is never hit",
        )
    problem = (
        _problem(start)
        or _problem(to)
        or ("the two regions overlap" if _overlap(start, to) else None)
    )
    scene = problem if problem is not None else scene_of(stage, start, to)
    found = scene if isinstance(scene, str) else committed(scene, start)
    if isinstance(scene, str) or isinstance(found, str):
        return Committor(start, to, None, str(found))
    return SpatialCommittor(start, to, found, None, scene=scene, solved=found)


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
