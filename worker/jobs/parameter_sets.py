"""The same data under several sets of parameters: each is identified as if alone, and sums are taken once."""

from collections.abc import Sequence
from dataclasses import dataclass

from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.comparison.compare import Comparison
from worker.fan_out.cache import Remembering
from worker.generator.errors import GeneratorError
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import IdentificationError
from worker.identification.identified_model import Answer
from worker.identification.identified_system import JointAnswer
from worker.identification.sums.block_sums import Summing
from worker.pipeline import Analysed
from worker.progress import Report


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What one set of parameters gives; no analysis where the model alone is asked for."""

    answer: Answer | JointAnswer
    analysed: Analysed | None
    comparison: Comparison


@dataclass(frozen=True, slots=True, eq=False)
class Swept:
    """In the order of the sets; an error where one of them has no answer.

    taken, shared   passes over all increments, and passes whose sums were there already
    """

    items: tuple[Found | IdentificationError | GeneratorError, ...]
    taken: int
    shared: int


def swept(
    data: Trajectories,
    sets: Sequence[IdentificationParameters],
    wanted: AnalysisParameters,
    report: Report,
    summing: Summing,
) -> Swept:
    """Identify, analyse and compare under each set. What `report` raises goes through."""
    remembering = Remembering(summing)
    found: dict[int, Found | IdentificationError | GeneratorError] = {}
    # Sums for a library of high degree hold those for a lower one.
    for done, number in enumerate(
        sorted(range(len(sets)), key=lambda i: -sets[i].library.polynomial_degree)
    ):
        try:
            found[number] = _found(
                data, sets[number], wanted, _part_of(report, done, len(sets)), remembering
            )
        except (IdentificationError, GeneratorError) as error:
            found[number] = error
    return Swept(
        tuple(found[number] for number in range(len(sets))), remembering.taken, remembering.shared
    )


def _found(
    data: Trajectories,
    parameters: IdentificationParameters,
    wanted: AnalysisParameters,
    report: Report,
    summing: Summing,
) -> Found:
    answer = pipeline.identify(data, parameters, report, summing)
    return Found(answer, *pipeline.judged(answer, data, wanted, report))


def _part_of(report: Report, done: int, count: int) -> Report:
    """Progress of one set among all."""

    def report_part(fraction: float, stage: str, message: str) -> None:
        report(0.95 * (done + fraction) / count, stage, f"set {done + 1} of {count}: {message}")

    return report_part
