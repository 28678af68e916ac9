"""The analysis of a diffusion process, from its coefficients to its time scales. Start here.

The chain on the line is `line/analysis.py`: window → ends → landscape (the one integral) →
stationary distribution, wells, passages, spectrum. Several coordinates are in
`multivariate/analysis.py`: closed form where the process is linear, and cells in the plane,
`plane/analysis.py`, where it is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from worker.generator.circle.analysis import analysed_on_the_circle
from worker.generator.circle.perturbed_model import PerturbedCircleAnalysis
from worker.generator.errors import NoFiniteRangeError
from worker.generator.line.analysis import analysed_on_the_line
from worker.generator.line.domain.metastable import held_before_escape
from worker.generator.line.domain.positive_diffusion import reflecting_interval
from worker.generator.line.landscape import Landscape
from worker.generator.line.perturbed_model import PerturbedLineAnalysis
from worker.generator.line.stationary import probability_below
from worker.generator.multivariate.analysis import analysed_in_space, closed_in_space
from worker.generator.multivariate.perturbed_linear import PerturbedLinearAnalysis
from worker.generator.plane.grid_refinement import Solution
from worker.generator.plane.perturbed_model import PerturbedPlaneAnalysis
from worker.generator.process import DiffusionProcess, ScalarProcess, scalar_view
from worker.generator.quantities.derived import with_derived
from worker.generator.quantities.outcomes import FOR_ONE, NOT_TWO_NUMBERS
from worker.generator.quantities.passages import Exit, Triple
from worker.generator.quantities.regions import Pair, numbers_and_places
from worker.generator.quantities.report import (
    GeneratorReport,
    Range,
    extrapolated,
    widened,
    with_reflecting_ends,
)
from worker.generator.quantities.stationary import MultivariateDistribution, StationaryDistribution
from worker.generator.request import AnalysisRequest, observed_ranges, unanswered

__all__ = ["Analysis", "GeneratorReport", "analyse", "analysis"]


class PerturbedGeometry(Protocol):
    """Analysis of processes like one that was analysed, in one geometry."""

    def __call__(self, process: DiffusionProcess) -> GeneratorReport:
        """Return the report of a process: the reference's quantities, on its grids."""
        ...

    def has_distribution(self, processes: Sequence[DiffusionProcess]) -> NDArray[np.bool_]:
        """Return (n,) whether each process has a stationary distribution, judged far away."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedAnalysis:
    """Analysis of processes like one that was analysed, with all that follows from it.

    geometry   what only the geometry can compute
    """

    geometry: PerturbedGeometry

    def __call__(self, process: DiffusionProcess) -> GeneratorReport:
        """Return the report of a process: the reference's quantities, on its grids."""
        return with_derived(self.geometry(process), process)

    def has_distribution(self, processes: Sequence[DiffusionProcess]) -> NDArray[np.bool_]:
        """Return (n,) whether each process has a stationary distribution, judged far away."""
        return self.geometry.has_distribution(processes)


MUCH = 0.05
"""Stationary probability well beyond the data from which distribution and rates are extrapolated.

A range of data of ten relaxation times leaves out this much, next to its ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """The report on a process, and what else the analysis knows.

    report     what the generator says
    process    the process
    perturbed  analysis of processes like this one, with the same report on the same grids;
               None where there is nothing to compare
    """

    report: GeneratorReport
    process: DiffusionProcess
    perturbed: PerturbedAnalysis | None = None

    @property
    def closed_form(self) -> bool:
        """Whether processes like this one are analysed in closed form, in a few milliseconds."""
        near = None if self.perturbed is None else self.perturbed.geometry
        return isinstance(near, PerturbedLinearAnalysis) and not (near.passages or near.committors)

    @property
    def solution(self) -> Solution | None:
        """The solution on cells that a report of two coordinates was read from; None for others."""
        near = None if self.perturbed is None else self.perturbed.geometry
        return near.solution if isinstance(near, PerturbedPlaneAnalysis) else None


def analyse(process: DiffusionProcess, **asked: Any) -> GeneratorReport:
    """Return everything the generator says about the process; for arguments see `analysis`."""
    return analysis(process, **asked).report


def analysis(
    process: DiffusionProcess,
    *,
    passages: Sequence[Pair] | Sequence[Range] = (),
    committors: Sequence[Pair] = (),
    exits: Sequence[Triple] = (),
    density_points: int = 400,
    eigenpairs: int = 5,
    lags: int = 100,
    frequencies: int = 100,
    observed_range: Range | Sequence[Range] | None = None,
    reflecting_ends: bool = False,
    eigenfunctions: bool = False,
) -> Analysis:
    """Analyse the process: everything its generator says (equations in docs/generator.md).

    Parameters
    ----------
    process : diffusion process in d coordinates
    passages, committors, exits : what is asked for, see `AnalysisRequest`
    density_points, eigenpairs, lags, frequencies, eigenfunctions : sizes, see `AnalysisRequest`
    observed_range : where the data were, of the one coordinate or of each [state]
    reflecting_ends : where there is no stationary distribution, analyse the observed range (or a
        finite domain) with reflecting ends

    Raises
    ------
    GeneratorError
        The process cannot be analysed at all. Having no stationary distribution is no error.
    """
    near: PerturbedGeometry | None
    ranges = observed_ranges(observed_range, process.dimension)
    numbers, places = numbers_and_places(passages, process.dimension)
    request = AnalysisRequest(
        passages=numbers,
        places=places,
        committors=tuple(committors),
        exits=tuple(exits),
        density_points=density_points,
        eigenpairs=eigenpairs,
        eigenfunctions=eigenfunctions,
        lags=lags,
        frequencies=frequencies,
        observed_range=ranges[0] if ranges else None,
        observed_ranges=ranges,
    )
    if process.dimension > 1:
        report, near = analysed_in_space(process, request)
        if reflecting_ends and not report.ergodic:
            report, near = closed_in_space(process, request, report)
        report = replace(report, exits=tuple(Exit.without(asked, FOR_ONE) for asked in exits))
    else:
        report, near = _analysed_in_one(scalar_view(process), request, reflecting_ends)
        report = replace(report, between=unanswered(request, NOT_TWO_NUMBERS)[0])
    report = with_derived(report, process)
    # Unvisited arcs of a circle are found by `identification/findings/domain.py`.
    if ranges is not None and all(period is None for period in process.periods):
        report = replace(report, extrapolated=extrapolated(report, ranges))
        landscape = near.landscape if isinstance(near, PerturbedLineAnalysis) else None
        report = with_support(report, ranges, landscape)
    return Analysis(report, process, None if near is None else PerturbedAnalysis(near))


def _analysed_in_one(
    model: ScalarProcess, request: AnalysisRequest, reflecting_ends: bool
) -> tuple[GeneratorReport, PerturbedLineAnalysis | PerturbedCircleAnalysis]:
    if model.period is not None:
        report = analysed_on_the_circle(model, request)
        return report, PerturbedCircleAnalysis(report)
    report, landscape = analysed_on_the_line(model, request)
    if not report.ergodic and reflecting_ends:
        report, landscape = _closed(model, request, report)
    elif not report.ergodic:
        report, landscape = held_before_escape(model, request, report) or (report, landscape)
    return report, PerturbedLineAnalysis(report, request.observed_range, landscape)


def _closed(
    model: ScalarProcess, request: AnalysisRequest, report: GeneratorReport
) -> tuple[GeneratorReport, Landscape | None]:
    """Analyse a model without a stationary distribution between reflecting ends, labelled so."""
    interval = reflecting_interval(model, request.observed_range)
    if interval is None:
        raise NoFiniteRangeError(
            "reflecting boundaries need a finite interval; give a finite domain"
        )
    inner, landscape = analysed_on_the_line(replace(model, bounds=interval), request)
    return with_reflecting_ends(report, inner), landscape


def with_support(
    report: GeneratorReport, ranges: tuple[Range, ...], landscape: Landscape | None
) -> GeneratorReport:
    """Return the report with the ranges of the data and the probability beyond them.

    Parameters
    ----------
    report : of any number of coordinates
    ranges : (low, high) of each coordinate [state]
    landscape : what the distribution of one coordinate was read from; None for others
    """

    def beyond(within: tuple[Range, ...]) -> float | None:
        if landscape is None:
            return unseen_mass(report.stationary, within)
        return _beyond(landscape, within[0])

    mass, said = beyond(ranges), report.extrapolated
    if mass is not None and (beyond(tuple(map(widened, ranges))) or 0.0) > MUCH:
        said = (
            *said,
            f"{100 * mass:.3g} % of the model's stationary probability lies outside the range of "
            "the data: its distribution, rates and times are extrapolated; record longer, or start "
            "trajectories further out",
        )
    return replace(report, observed_ranges=ranges, unseen_mass=mass, extrapolated=said)


def _beyond(landscape: Landscape, observed: Range) -> float:
    below = probability_below(landscape, np.array(observed))
    return float(1 - below[1] + below[0])


def unseen_mass(
    law: StationaryDistribution | MultivariateDistribution | None, ranges: tuple[Range, ...]
) -> float | None:
    """Return the probability outside of the ranges; None without a density on a plane."""
    if (
        not isinstance(law, MultivariateDistribution)
        or len(law.grid) != len(ranges)
        or not law.density.size
    ):
        return None
    density, total = law.density, law.density.sum()
    for axis, (grid, (low, high)) in enumerate(zip(law.grid, ranges, strict=True)):
        # A point stands for a cell, of which the end of a range may cut off a part.
        step = grid[1] - grid[0]
        inside = np.clip(
            (np.minimum(high, grid + step / 2) - np.maximum(low, grid - step / 2)) / step, 0, 1
        )
        density = density * np.expand_dims(inside, [k for k in range(len(ranges)) if k != axis])
    return float(1 - density.sum() / total)
