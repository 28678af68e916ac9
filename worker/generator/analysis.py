"""The analysis of a diffusion process, from its coefficients to its time scales. Start reading here.

On the line the chain is `line.py`: window → ends → landscape (the one integral) → law, wells, passages, spectrum. In several
coordinates it is `space.py`: closed form where the process is linear, and cells in the plane, `plane/planar.py`, where it is not.
"""

from collections.abc import Sequence
from dataclasses import replace

from worker.generator.circle.analysis import analysed_on_the_circle
from worker.generator.errors import NoFiniteRangeError
from worker.generator.line.analysis import analysed_on_the_line
from worker.generator.line.domain.metastable import held_before_escape
from worker.generator.line.domain.positive_diffusion import reflecting_interval
from worker.generator.line.passages.exits import Exit, Triple
from worker.generator.multivariate import analysed_in_space, closed_in_space
from worker.generator.probability_outside_data import with_support
from worker.generator.process import DiffusionProcess, ScalarProcess, scalar_view
from worker.generator.quantities.regions import Pair, numbers_and_places
from worker.generator.quantities.report import (
    GeneratorReport,
    Questions,
    Range,
    observed_ranges,
    unanswered,
)

__all__ = ["GeneratorReport", "analyse"]

FOR_ONE = "exits from intervals are for one variable; request the passage to a region instead"
FOR_NUMBERS = "in one variable a passage is between two numbers; give two numbers"


def analyse(
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
) -> GeneratorReport:
    """Everything the generator says about the process; `Questions` explains the arguments, docs/generator.md has the equations.

    observed_range   of the one coordinate, or of each
    reflecting_ends  where there is no stationary law, analyse the observed range (or a finite domain) with reflecting ends

    Raises a GeneratorError for a process that cannot be analysed at all. Having no stationary law is no error.
    """
    ranges = observed_ranges(observed_range, process.dimension)
    numbers, places = numbers_and_places(passages, process.dimension)
    questions = Questions(
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
        report = analysed_in_space(process, questions)
        if reflecting_ends and not report.ergodic:
            report = closed_in_space(process, questions, report)
        report = replace(report, exits=tuple(Exit.without(asked, FOR_ONE) for asked in exits))
    else:
        report = _analysed_in_one(scalar_view(process), questions, reflecting_ends)
        report = replace(report, between=unanswered(questions, FOR_NUMBERS)[0])
    # Where on a circle data were not is another question (`identification/unvisited.py`).
    return (
        report
        if any(period is not None for period in process.periods)
        else with_support(report, ranges)
    )


def _analysed_in_one(
    model: ScalarProcess, questions: Questions, reflecting_ends: bool
) -> GeneratorReport:
    if model.period is not None:
        return analysed_on_the_circle(model, questions)
    report = analysed_on_the_line(model, questions)
    if report.ergodic:
        return report
    if reflecting_ends:
        return _closed(model, questions, report)
    return held_before_escape(model, questions, report) or report


def _closed(model: ScalarProcess, questions: Questions, report: GeneratorReport) -> GeneratorReport:
    """The analysis between reflecting ends of a model that has no stationary law, labelled so."""
    interval = reflecting_interval(model, questions.observed_range)
    if interval is None:
        raise NoFiniteRangeError(
            "reflecting boundaries need a finite interval; give a finite domain or an observed range"
        )
    inner = analysed_on_the_line(replace(model, bounds=interval), questions)
    reason = (
        report.reason
        if inner.ergodic
        else f"{report.reason}. With reflecting boundaries: {inner.reason}"
    )
    return replace(inner, ergodic=False, reason=reason, boundaries="reflecting")
