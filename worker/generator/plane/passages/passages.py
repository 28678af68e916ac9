"""First-passage times and committors between places: requested ones, and those between wells.

Models near an analysed one have theirs on the coarsest cells of the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from worker.generator.linear.fixed_points import gaussian_covariance
from worker.generator.plane.finite_volumes import Schemes
from worker.generator.plane.passages.committor import LEVELS as COMMITTOR_LEVELS
from worker.generator.plane.passages.committor import at_corners, solve_committor
from worker.generator.plane.passages.passage_mesh import (
    PassageDomain,
    PassageMesh,
    passage_mesh,
    position_mesh,
    with_process,
)
from worker.generator.plane.passages.passage_moments import (
    LEVELS,
    Discretised,
    log_moments,
    passage_moments,
)
from worker.generator.process import DiffusionProcess, FloatArray, velocities
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import (
    NEVER_HIT,
    NO_REGIONS,
    NO_STATES,
    OVERLAP,
    Outcome,
    Reason,
)
from worker.generator.quantities.passages import Committed, Committor, SpatialPassage, Timing
from worker.generator.quantities.regions import Pair, Place, Region

MOST_WELLS = 6
"""Stable fixed points above which only requested passages are timed."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """Domain and schemes from which a passage or a committor was computed."""

    mesh: PassageMesh
    schemes: Schemes


Passages = list[tuple[SpatialPassage, Solved | None]]
Committors = list[tuple[Committor, Solved | None]]


def passages_between(
    domain: PassageDomain, asked: Sequence[Pair], fixed: tuple[FixedPoint, ...]
) -> Passages:
    """Return the requested passages, then those between neighbouring wells in both directions.

    Each comes with its domain and schemes, None where it has no time.

    Parameters
    ----------
    domain : rectangle of states
    asked : requested pairs of places
    fixed : fixed points
    """
    wells = wells_of(domain.process, fixed)
    around = [pair for a, b in neighbours(wells) for pair in ((a, b), (b, a))]
    pairs = (*asked, *(pair for pair in around if pair not in asked))
    discretised = Discretised()
    return [_passage(domain, *pair, discretised) for pair in pairs]


def committors_between(
    domain: PassageDomain, asked: Sequence[Pair], fixed: tuple[FixedPoint, ...]
) -> Committors:
    """Return the requested committors, then those between neighbouring wells.

    Each comes with its domain and schemes, None where there is no committor.

    Parameters
    ----------
    domain : rectangle of states
    asked : requested pairs of places
    fixed : fixed points
    """
    around = neighbours(wells_of(domain.process, fixed))
    pairs = (*asked, *(pair for pair in around if pair not in asked))
    return [_committor(domain, *pair) for pair in pairs]


def wells_of(process: DiffusionProcess, fixed: tuple[FixedPoint, ...]) -> list[Region]:
    """Return a box around each stable fixed point; none where there are too many.

    Along each coordinate it reaches one standard deviation of the linearised process, and in a
    process of second order it holds all velocities: a passage ends as the position comes within one
    standard deviation of the other well.
    """
    found, free = [], list(velocities(process))
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
            ends[free] = -np.inf, np.inf
            found.append(Region(tuple((float(low), float(high)) for low, high in ends)))
    return found if len(found) <= MOST_WELLS else []


def neighbours(wells: list[Region]) -> list[tuple[Region, Region]]:
    """Return the pairs of wells that do not overlap and have no third one between them."""
    middles = [
        np.array(
            [(low + high) / 2 if np.isfinite(high - low) else 0.0 for low, high in w.intervals]
        )
        for w in wells
    ]
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


def _passage(
    domain: PassageDomain, start: Place, to: Place, discretised: Discretised
) -> tuple[SpatialPassage, Solved | None]:
    problem = _problem(start) or (_problem(to) if isinstance(to, Region) else NEVER_HIT)
    if problem is not None:
        return SpatialPassage(start, to, Timing(None, problem)), None
    assert isinstance(to, Region)
    assert not isinstance(start, float)
    if not isinstance(start, Region) and to.holds(np.array([start]), domain.process.periods)[0]:
        return SpatialPassage(start, to, Timing(0.0), Timing(0.0)), None
    mesh = position_mesh(domain, start, to) or passage_mesh(domain, start, to)
    if isinstance(mesh, Reason):
        return SpatialPassage(start, to, Timing(None, mesh)), None
    found = passage_moments(mesh, discretised)
    if isinstance(found, Reason):
        return SpatialPassage(start, to, Timing(None, found)), None
    passage = SpatialPassage(
        start, to, Timing.from_log(found.log_mean), Timing.from_log(found.log_deviation)
    )
    return passage, Solved(mesh, found.schemes)


def _committor(domain: PassageDomain, start: Place, to: Place) -> tuple[Committor, Solved | None]:
    if not isinstance(start, Region) or not isinstance(to, Region):
        return Committor(start, to, NO_REGIONS), None
    problem = _problem(start) or _problem(to)
    if problem is None and _overlap(start, to):
        problem = OVERLAP
    mesh = problem if problem is not None else passage_mesh(domain, start, to)
    if isinstance(mesh, Reason):
        return Committor(start, to, mesh), None
    found, schemes = solve_committor(mesh, start)
    solved = Solved(mesh, schemes) if isinstance(found, Committed) else None
    return Committor(start, to, found), solved


def _problem(place: Place) -> Reason | None:
    if isinstance(place, float):
        return NO_STATES
    if isinstance(place, Region):
        return place.problem
    if len(place) == 2:
        return None
    why = f"a point in two variables has two numbers, not {len(place)}"
    return Reason(Outcome.NO_PLACE, why)


def _overlap(first: Region, second: Region) -> bool:
    return all(
        max(a, c) < min(b, d)
        for (a, b), (c, d) in zip(first.intervals, second.intervals, strict=True)
    )


def _distance(a: FloatArray, b: FloatArray, size: FloatArray) -> float:
    return float(np.linalg.norm((a - b) / size))


def passages_near(
    process: DiffusionProcess, passages: Sequence[SpatialPassage], solved: Sequence[Solved | None]
) -> Iterator[SpatialPassage]:
    """Yield a report's passages for another process.

    Passages on the same cells, such as the way there and the way back, share what they can.

    Parameters
    ----------
    process : process
    passages : passages of the report
    solved : domain and schemes of each of them, None where it has no time
    """
    discretised = Discretised()
    for passage, on in zip(passages, solved, strict=True):
        if on is None:
            yield replace(passage, mean_time=Timing(None), deviation=None)
            continue
        mesh = with_process(on.mesh, process)
        mean, deviation = (
            Timing(None) if np.isnan(log) else Timing.from_log(float(log))
            for log in log_moments(mesh, discretised(mesh, LEVELS[0], on.schemes))
        )
        yield replace(passage, mean_time=mean, deviation=deviation)


def committors_near(
    process: DiffusionProcess, committors: Sequence[Committor], solved: Sequence[Solved | None]
) -> Iterator[Committor]:
    """Yield a report's committors for another process.

    Parameters
    ----------
    process : process
    committors : committors of the report
    solved : domain and schemes of each of them, None where there is none
    """
    for committor, on in zip(committors, solved, strict=True):
        if (
            on is None
            or not isinstance(committor.found, Committed)
            or not isinstance(committor.start, Region)
        ):
            yield committor
            continue
        values = at_corners(
            with_process(on.mesh, process), committor.start, COMMITTOR_LEVELS[0], on.schemes
        )
        yield replace(committor, found=Committed(committor.found.grid, values))
