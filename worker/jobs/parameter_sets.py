"""The same data under several sets of parameters: each is identified as if alone, and sums are taken once."""

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
    """What one set of parameters gives; no analysis where the model alone is asked for."""

    answer: IdentifiedModel
    analysed: Analysed | None
    comparison: Comparison


@dataclass(frozen=True, slots=True, eq=False)
class SweepResults:
    """In the order of the sets; an error where one of them has no answer.

    taken, shared   passes over all increments, and passes whose sums were there already
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
    """Identify, analyse and compare under each set. What `report` raises goes through."""
    sum_cache = SumCache(summing)
    found: dict[int, SweepEntry | IdentificationError | GeneratorError] = {}
    # Sums for a library of high degree hold those for a lower one.
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
    """Progress of one set among all."""

    def report_part(fraction: float, stage: str, message: str) -> None:
        report(0.95 * (done + fraction) / count, stage, f"set {done + 1} of {count}: {message}")

    return report_part
