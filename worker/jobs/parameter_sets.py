"""A sweep of parameter sets over the same data: each is identified as if alone, sums are shared."""

from collections.abc import Sequence
from dataclasses import dataclass

from worker import pipeline
from worker.analysis import Analysed, AnalysisSettings
from worker.comparison.compare import Comparison
from worker.fan_out.cache import SumCache
from worker.generator.errors import GeneratorError
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import IdentificationError
from worker.identification.estimation.setup import Settings
from worker.identification.identified_model import IdentifiedModel
from worker.identification.sums.block_sums import Summing
from worker.progress import Report


@dataclass(frozen=True, slots=True, eq=False)
class SweepEntry:
    """Results of one set of parameters; the analysis is None if only the model was requested."""

    answer: IdentifiedModel
    analysed: Analysed | None
    comparison: Comparison


@dataclass(frozen=True, slots=True, eq=False)
class SweepResults:
    """Results in the order of the sets.

    items    an entry for each set, or the error for which it has none
    taken    number of passes over all increments
    shared   number of passes whose sums were known already
    """

    items: tuple[SweepEntry | IdentificationError | GeneratorError, ...]
    taken: int
    shared: int


def sweep(
    data: Trajectories,
    sets: Sequence[Settings],
    asked: AnalysisSettings,
    report: Report,
    summing: Summing,
) -> SweepResults:
    """Identify, analyse and compare under each set. Raises what `report` raises."""
    sum_cache = SumCache(summing)
    found: dict[int, SweepEntry | IdentificationError | GeneratorError] = {}
    # Sums for a library of high degree contain those for a lower degree.
    for done, number in enumerate(
        sorted(range(len(sets)), key=lambda i: -sets[i].polynomial_degree)
    ):
        try:
            found[number] = _entry(
                data, sets[number], asked, _part_of(report, done, len(sets)), sum_cache
            )
        except (IdentificationError, GeneratorError) as error:
            found[number] = error
    return SweepResults(
        tuple(found[number] for number in range(len(sets))), sum_cache.taken, sum_cache.shared
    )


def _entry(
    data: Trajectories,
    settings: Settings,
    asked: AnalysisSettings,
    report: Report,
    summing: Summing,
) -> SweepEntry:
    answer = pipeline.identify(data, settings, report, summing)
    return SweepEntry(answer, *pipeline.analyse_and_compare(answer, data, asked, report))


def _part_of(report: Report, done: int, count: int) -> Report:
    """Return a report of one set's progress as part of all sets'."""

    def report_part(fraction: float, stage: str, message: str) -> None:
        report(0.95 * (done + fraction) / count, stage, f"set {done + 1} of {count}: {message}")

    return report_part
