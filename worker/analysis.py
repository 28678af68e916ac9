"""Time scales of a model, with intervals from the covariance of its coefficients."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.driven import Driven, driven_of
from worker.generator.analysis import Analysis, GeneratorReport, analysis
from worker.generator.errors import GeneratorError
from worker.generator.line.domain.positive_diffusion import narrowed_to_positive
from worker.generator.plane.grid_refinement import Solution
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.outcomes import Outcome, Reason
from worker.generator.quantities.passages import Passage, SpatialPassage
from worker.generator.quantities.regions import Pair, Place, Region
from worker.generator.quantities.second_order import is_in_one_coordinate
from worker.generator.uncertainty.confidence_intervals import confidence_intervals
from worker.generator.uncertainty.intervals import Intervals
from worker.identification.checks.transitions import (
    Counts,
    beyond,
    count_round,
    count_transitions,
)
from worker.identification.data.trajectories import Trajectories
from worker.identification.findings.derived import (
    few_transitions,
    not_analysed,
    rarely_ergodic,
    sentence_findings,
)
from worker.identification.findings.finding import Finding
from worker.identification.identified_model import IdentifiedModel
from worker.progress import Report

Transitions = tuple[Counts | None, ...]
"""Transitions of each passage in the data, and back; None where they cannot be counted."""

NEGLIGIBLE = 0.01
"""Stationary probability beyond the data up to which it does not matter where the domain ends."""


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """Requests for an analysis.

    passages     pairs of states or regions
    committors   pairs of states or regions
    exits        start, low end and high end of each
    options      further arguments of `generator.analysis.analysis`
    confidence   coverage of the intervals
    model_only   whether nothing is derived
    """

    passages: tuple[tuple[Any, Any], ...] = ()
    committors: tuple[tuple[Any, Any], ...] = ()
    exits: tuple[tuple[float, float, float], ...] = ()
    options: Mapping[str, Any] | None = None
    confidence: float = 0.95
    model_only: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """Analysis of a model.

    spread       confidence intervals; None for a model that was given by its terms
    findings     warnings about the analysis
    solution     cells from which the report of two variables was derived
    transitions  transitions of each passage in the data, and back; empty without data
    driven       what drives the model; None where nothing does
    """

    generator: GeneratorReport
    spread: Intervals | None
    findings: tuple[Finding, ...] = ()
    solution: Solution | None = None
    transitions: Transitions = ()
    driven: Driven | None = None


def analyse_process(
    process: DiffusionProcess,
    asked: AnalysisSettings,
    observed: Any = None,
    variables: Sequence[str] = (),
) -> Analysis:
    """Derive spectrum, stationary distribution, first-passage times, … Raises GeneratorError.

    observed    range of the data, for several variables of each [state]
    variables   names of the variables; default: x, y, z, …
    """
    names = tuple(variables) or tuple(variable_name(i) for i in range(process.dimension))
    passages, committors = (
        [(_place(a, names), _place(b, names)) for a, b in pairs]
        for pairs in (
            (_crossing(pair, names, process) for pair in asked.passages),
            (_sides(pair, names, process) for pair in asked.committors),
        )
    )
    return analysis(
        process,
        passages=passages,
        committors=committors,
        exits=asked.exits,
        observed_range=observed,
        **asked.options or {},
    )


def analyse_model(
    model: IdentifiedModel, data: Trajectories, asked: AnalysisSettings, report: Report
) -> Analysed:
    """Analyse an identified model and the models drawn around it.

    Places that are points have the record's variables, in its order.
    """
    asked = _in_order(asked, model.columns)
    one = model.process.dimension == 1
    try:
        if one:
            narrowed = narrowed_to_positive(model.process, model.observed[0])
            found = analyse_process(narrowed.process, asked, model.observed[0])
            mass = found.report.unseen_mass
            # Where the data end with the noise, as at zero, nothing rests on the cut.
            cut = narrowed.sentences if mass is None or mass > NEGLIGIBLE else ()
        else:
            found = analyse_process(model.process, asked, model.observed, tuple(model.drift))
            cut = found.report.cut
    except GeneratorError as error:
        # The model remains valid without an analysis; the report gives the reason.
        why = Reason(Outcome.NOT_ANALYSED, error.args[0])
        ends = model.process.domain[0] if one else (-np.inf, np.inf)
        return Analysed(
            GeneratorReport(
                None, why, ends, "natural", domains=() if one else model.process.domain
            ),
            None,
            tuple(not_analysed(error.args[0])),
            driven=driven_of(model, asked.confidence),
        )
    report(0.8, "analysing", "intervals of derived quantities")
    generator = found.report
    uncertainty = (
        None if model.draws is None else confidence_intervals(found, model.draws, asked.confidence)
    )
    transitions = _transitions(generator, data, model.process.periods)
    share = None if uncertainty is None or not generator.ergodic else uncertainty.ergodic_share
    return Analysed(
        generator,
        uncertainty,
        (
            *sentence_findings("diffusion-cut", cut),
            *sentence_findings("extrapolated", generator.extrapolated),
            *_few(generator, transitions, tuple(model.drift)),
            *rarely_ergodic(share, asked.confidence),
        ),
        found.solution,
        transitions,
        driven_of(
            model, asked.confidence, [(p.start, p.to) for p in generator.passages] if one else ()
        ),
    )


def _in_order(asked: AnalysisSettings, columns: tuple[int, ...]) -> AnalysisSettings:
    """Put points of a record's variables into the order of the model's."""

    def point(place: Any) -> Any:
        known = isinstance(place, tuple | list) and len(place) == len(columns)
        return tuple(place[c] for c in columns) if known else place

    passages, committors = (
        tuple((point(a), point(b)) for a, b in pairs)
        for pairs in (asked.passages, asked.committors)
    )
    return replace(asked, passages=passages, committors=committors)


def _passages(generator: GeneratorReport) -> tuple[Passage | SpatialPassage, ...]:
    return *generator.passages, *generator.between


def _transitions(
    generator: GeneratorReport, data: Trajectories, periods: tuple[float | None, ...]
) -> Transitions:
    """Count the transitions of every passage in the data; those of a pair are counted once."""
    known: dict[Pair, Counts | None] = {}
    for passage in _passages(generator):
        pair = passage.start, passage.to
        if pair not in known:
            known[pair] = counts = _counted(data, *pair, periods)
            known[pair[::-1]] = None if counts is None else counts[::-1]
    return tuple(known[p.start, p.to] for p in _passages(generator))


def _counted(
    data: Trajectories, start: Place, to: Place, periods: tuple[float | None, ...]
) -> Counts | None:
    """Count transitions; None from a point of several variables, which no path comes back to.

    None, too, of regions that are bounded in velocities, which no record of positions has.
    """
    if isinstance(start, Region) and isinstance(to, Region):
        if start.problem or to.problem or max(start.bounded, to.bounded) > data.dimension:
            return None

        def sides(states: NDArray[np.float64]) -> NDArray[np.int8]:
            first, second = start.holds(states, periods), to.holds(states, periods)
            return second.astype(np.int8) - first.astype(np.int8)

        return count_transitions(data, sides)
    if not isinstance(start, float | int) or not isinstance(to, float | int) or start == to:
        return None
    if periods[0] is not None:
        return count_round(data, start, to, periods[0])
    there, back = count_transitions(data, beyond(min(start, to), max(start, to)))
    return (there, back) if start < to else (back, there)


def _few(
    generator: GeneratorReport, transitions: Transitions, variables: Sequence[str]
) -> Iterator[Finding]:
    """Warn of first-passage times that rest on few transitions, or none, once for each pair."""
    said: set[frozenset[Place]] = set()
    for passage, counts in zip(_passages(generator), transitions, strict=True):
        pair = frozenset((passage.start, passage.to))
        if counts is None or passage.mean_time.value is None or pair in said:
            continue
        said.add(pair)
        yield from few_transitions(
            _written(passage.start, variables), _written(passage.to, variables), sum(counts)
        )


def _written(place: Place, variables: Sequence[str]) -> str:
    if not isinstance(place, Region):
        return f"{place:.3g}"
    ends = (
        f"{name} in [{low:.4g}, {high:.4g}]"
        for name, (low, high) in zip(variables, place.intervals, strict=True)
        if np.isfinite((low, high)).any()
    )
    return ", ".join(ends)


def _crossing(
    pair: tuple[Any, Any], variables: Sequence[str], process: DiffusionProcess
) -> tuple[Any, Any]:
    """Return the places of a passage; of a position and its velocity two numbers are positions.

    The path starts at rest, and arrives where it first crosses the other number at any velocity.
    """
    if not _are_positions(pair, process):
        return pair
    return (pair[0], 0.0), _sides(pair, variables, process)[1]


def _sides(
    pair: tuple[Any, Any], variables: Sequence[str], process: DiffusionProcess
) -> tuple[Any, Any]:
    """Return the regions beyond two positions at any velocity; other places as they are."""
    if not _are_positions(pair, process):
        return pair
    below, above = {variables[0]: (None, min(pair))}, {variables[0]: (max(pair), None)}
    return (below, above) if pair[0] < pair[1] else (above, below)


def _are_positions(pair: tuple[Any, Any], process: DiffusionProcess) -> bool:
    """Return whether two places are numbers, and the variables a position and its velocity."""
    numbers = all(isinstance(place, int | float) for place in pair)
    return numbers and is_in_one_coordinate(process)


def _place(place: Any, variables: Sequence[str]) -> Place:
    """Resolve a number, a point, or a region whose intervals are given by variable."""
    if not isinstance(place, dict):
        return place  # type: ignore[no-any-return]
    ends = tuple(_ends(*place.get(v, (None, None))) for v in variables)
    return Region(ends, tuple(name for name in place if name not in variables))


def _ends(low: float | None, high: float | None) -> tuple[float, float]:
    return -np.inf if low is None else low, np.inf if high is None else high
