"""A model near a solved one, on the solution's coarsest cells: its numbers are the solution's, moved by the difference there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from worker.generator.line.spectrum import matched
from worker.generator.plane.box.box import Box
from worker.generator.plane.box.coordinates import Chart, lowest_diffusion
from worker.generator.plane.box.escape import escapes
from worker.generator.plane.eigenmodes import ComplexArray
from worker.generator.plane.grid_refinement import (
    Level,
    Solution,
    law_numbers,
    solve_near,
)
from worker.generator.plane.integrated_autocorrelation import integrated_times_on
from worker.generator.plane.sampled_correlations import CoarseMemory
from worker.generator.plane.sampled_density import CoarseDensity
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.correlations import Memory
from worker.generator.quantities.multivariate_distribution import LawNumbers, SpatialLaw

AT_THE_EDGE = 1e-3
"""Share of the law in the outermost cells of an open side above which the model does not fit into the solution's box."""
NEGATIVE = 1e-3
"""Share of the law where the diffusion is not positive above which the model is no process."""
EXTRA = 4
"""Eigenvalues beyond the reference's; see `slow_modes`."""
TOLERANCE = 1e-5
"""Likewise; the rates are right to 1e-8."""
SMALL = 1e-2
"""Integral of an autocorrelation, in typical times, below which it counts as vanishing."""
DISTANCES, FAR, STEPS = (1.0, 8.0, 64.0), 1e5, 150
"""Of paths from outside, see `escape`: fewer and shorter than for the reference, as the model is near it."""


@dataclass(frozen=True, slots=True, eq=False)
class SpatialSample:
    """What one model of several coordinates says.

    ergodic           it has a stationary law, as far as was looked
    rates             (k,) as many as the reference has; nan where the sample has none like it [1/time]; None with the next ones
                      where the model is too far from the reference to be compared
    law               numbers of its law
    integrated_times  (d,) of each coordinate's autocorrelation; nan where there is none [time]
    density           (n₀, n₁) on the grid of the reference's law [1/state²]
    autocorrelation, power_spectrum  (d, n) and (d, k) at the lags and frequencies of the reference's memory; each of the last
                      three None where the reference has none like it, or the sample
    """

    ergodic: bool
    rates: ComplexArray | None = None
    law: LawNumbers | None = None
    integrated_times: FloatArray | None = None
    density: FloatArray | None = None
    autocorrelation: FloatArray | None = None
    power_spectrum: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Reference:
    """The solution, and what else of it samples are compared with: its integrated times, exact and on its coarsest cells, both
    of its curves, its density."""

    solution: Solution
    times: tuple[FloatArray, FloatArray] | None
    memory: CoarseMemory | None
    density: CoarseDensity | None


def sampled_in_the_plane(
    processes: Sequence[DiffusionProcess],
    solution: Solution,
    memory: Memory | None = None,
    law: SpatialLaw | None = None,
) -> list[SpatialSample]:
    """Each model's numbers next to the solution's; also those of one that would escape, but from outside its law only.

    memory, law   the solution's, if integrated times and curves, and densities of the models are wanted too
    """
    box = solution.box
    found = escapes(
        box.chart, processes, box.spans, box.walls, distances=DISTANCES, far=FAR, steps=STEPS
    )
    times = None
    if memory is not None:
        known = np.array(
            [np.nan if time.value is None else time.value for time in memory.integrated_times]
        )
        times = known, integrated_times_on(box.chart, solution.first)
    reference = _Reference(
        solution,
        times,
        None if memory is None else CoarseMemory.of(solution, memory),
        None if law is None or not law.density.size else CoarseDensity.of(solution, law),
    )
    return [
        _next_to(process, reference, at is None)
        for process, at in zip(processes, found, strict=True)
    ]


def _next_to(process: DiffusionProcess, compared: _Reference, returns: bool) -> SpatialSample:
    """The sample next to the reference."""
    solution = compared.solution
    chart, coarse = replace(solution.box.chart, process=process), solution.first
    count = len(solution.numbers.rates)
    try:
        level = solve_near(
            chart,
            coarse.grid,
            solution.schemes,
            count,
            solution.rate,
            coarse.modes,
            extra=EXTRA,
            tolerance=TOLERANCE,
        )
        masses = level.density * level.grid.volumes
        if (
            masses[
                (lowest_diffusion(chart.raw_diffusion(level.grid.centres)) < -1e-9).reshape(
                    masses.shape
                )
            ].sum()
            > NEGATIVE
        ):
            return SpatialSample(False)
        if _at_open_sides(solution.box, masses) > AT_THE_EDGE:
            return SpatialSample(returns)
        own, reference = (
            matched(rates, solution.numbers.rates)
            for rates in (level.numbers.rates, coarse.numbers.rates)
        )
        rates = _moved(own, reference, solution.numbers.rates)
        curves = None if compared.memory is None else compared.memory.moved(chart, level, rates)
        return SpatialSample(
            returns,
            rates,
            law_numbers(solution.numbers.moments + level.numbers.moments - coarse.numbers.moments),
            None
            if compared.times is None
            else _moved_times(chart, level, compared.times, SMALL / solution.rate),
            None if compared.density is None else compared.density.moved(chart, level),
            *((None, None) if curves is None else curves),
        )
    except (RuntimeError, ValueError):
        # A draw far out in the coefficients' distribution may have no matrix to speak of.
        return SpatialSample(False)


def _moved_times(
    chart: Chart, level: Level, times: tuple[FloatArray, FloatArray], small: float
) -> FloatArray:
    """By their ratio, as a time may be long; by their difference where the integral vanishes, as that of a velocity does."""
    exact, coarse = times
    own = integrated_times_on(chart, level)
    large = np.minimum(np.abs(coarse), np.abs(exact)) > small
    return np.where(large, exact * own / np.where(large, coarse, 1.0), exact + own - coarse)


def _moved(own: ComplexArray, coarse: ComplexArray, exact: ComplexArray) -> ComplexArray:
    """Real parts by their ratio, so that they stay positive; imaginary parts by their difference, as they may vanish."""
    return np.asarray(
        exact.real * own.real / coarse.real + 1j * (exact.imag + own.imag - coarse.imag)
    )


def _at_open_sides(box: Box, masses: FloatArray) -> float:
    largest = 0.0
    for axis, span in enumerate(box.spans):
        along = np.abs(masses.sum(axis=1 - axis))
        for end, side in ((span.low, 0), (span.high, -1)):
            if not span.circle and end != box.walls[axis, side]:
                largest = max(largest, float(along[side]))
    return largest
