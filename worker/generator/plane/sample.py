"""A model near a solved one, on the solution's coarsest cells: its numbers are the solution's, moved by the difference there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from worker.generator.plane.between import SpatialPassage
from worker.generator.plane.box import Box
from worker.generator.plane.chart import lowest_diffusion
from worker.generator.plane.escape import escapes
from worker.generator.plane.hitting import LEVELS, log_moments
from worker.generator.plane.modes import ComplexArray
from worker.generator.plane.scene import with_process
from worker.generator.plane.solution import Solution, matched, solve_near
from worker.generator.process import DiffusionProcess, FloatArray

AT_THE_EDGE = 1e-3
"""Share of the law in the outermost cells of an open side above which the model does not fit into the solution's box."""
NEGATIVE = 1e-3
"""Share of the law where the diffusion is not positive above which the model is no process."""
EXTRA = 4
"""Eigenvalues beyond the reference's; see `slow_modes`."""
TOLERANCE = 1e-5
"""Likewise; the rates are right to 1e-8."""
DISTANCES, FAR, STEPS = (1.0, 8.0, 64.0), 1e5, 150
"""Of paths from outside, see `escape`: fewer and shorter than for the reference, as the model is near it."""


@dataclass(frozen=True, slots=True, eq=False)
class SpatialSample:
    """What one model of several coordinates says.

    ergodic           it has a stationary law, as far as was looked
    rates             (k,) as many as the reference has; nan where the sample has none like it [1/time]; None with the next two
                      where the model is too far from the reference to be compared
    mean, covariance  (d,), (d, d) [state], [state²]
    """

    ergodic: bool
    rates: ComplexArray | None = None
    mean: FloatArray | None = None
    covariance: FloatArray | None = None


def sampled_in_the_plane(processes: Sequence[DiffusionProcess], solution: Solution) -> list[SpatialSample]:
    """Each model's numbers next to the solution's; also those of one that would escape, but from outside its law only."""
    box = solution.box
    found = escapes(box.chart, processes, box.spans, box.walls, distances=DISTANCES, far=FAR, steps=STEPS)
    return [_next_to(process, solution, at is None) for process, at in zip(processes, found, strict=True)]


def _next_to(process: DiffusionProcess, solution: Solution, returns: bool) -> SpatialSample:
    chart, coarse = replace(solution.box.chart, process=process), solution.first
    try:
        level = solve_near(
            chart,
            coarse.grid,
            solution.schemes,
            len(solution.numbers.rates),
            solution.rate,
            coarse.modes,
            EXTRA,
            TOLERANCE,
        )
    except (RuntimeError, ValueError):
        # A draw far out in the coefficients' distribution may have no matrix to speak of.
        return SpatialSample(False)
    masses = level.density * level.grid.volumes
    if masses[(lowest_diffusion(chart.raw_diffusion(level.grid.centres)) < -1e-9).reshape(masses.shape)].sum() > NEGATIVE:
        return SpatialSample(False)
    if _at_open_sides(solution.box, masses) > AT_THE_EDGE:
        return SpatialSample(returns)
    moved = solution.numbers.moments + level.numbers.moments - coarse.numbers.moments
    own, reference = (matched(rates, solution.numbers.rates) for rates in (level.numbers.rates, coarse.numbers.rates))
    return SpatialSample(returns, _moved(own, reference, solution.numbers.rates), moved[:2], moved[2:6].reshape(2, 2))


def sampled_times(process: DiffusionProcess, passages: tuple[SpatialPassage, ...]) -> list[float | None]:
    """Logarithm of each passage's mean time in the model, from the ratio to the reference's on the coarsest cells; None where the
    reference has none or the cells cannot tell."""
    logs: list[float | None] = []
    for passage in passages:
        if passage.scene is None or passage.hit is None:
            logs.append(None)
            continue
        try:
            own, _ = log_moments(with_process(passage.scene, process), LEVELS[0], passage.hit.schemes)
        except (RuntimeError, ValueError):
            own = np.nan
        moved = passage.hit.log_mean + float(own) - float(passage.hit.logs[0, 0])
        logs.append(moved if np.isfinite(moved) else None)
    return logs


def _moved(own: ComplexArray, coarse: ComplexArray, exact: ComplexArray) -> ComplexArray:
    """Real parts by their ratio, so that they stay positive; imaginary parts by their difference, as they may vanish."""
    return np.asarray(exact.real * own.real / coarse.real + 1j * (exact.imag + own.imag - coarse.imag))


def _at_open_sides(box: Box, masses: FloatArray) -> float:
    largest = 0.0
    for axis, span in enumerate(box.spans):
        along = np.abs(masses.sum(axis=1 - axis))
        for end, side in ((span.low, 0), (span.high, -1)):
            if not span.circle and end != box.walls[axis, side]:
                largest = max(largest, float(along[side]))
    return largest
