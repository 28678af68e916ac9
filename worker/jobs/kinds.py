"""The table of procedures, one for each kind of job, and the execution of a claimed job."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from contract.jobs import DataJob, Job
from contract.results import Notice, Result
from contract.symbols import Symbols, in_words, job_in_standard_names
from storage.stores import Claim, Stores
from worker.fan_out.serialization import unpack
from worker.fan_out.shards import Share, Sum
from worker.fan_out.summing import packed_sums, summing_with
from worker.generator.errors import GeneratorError
from worker.identification.errors import IdentificationError
from worker.identification.sums.block_sums import Summing
from worker.jobs import (
    comparison,
    generator,
    identification,
    plan,
    population,
    rolling,
    sweep,
)
from worker.jobs.problems import JobProblem, of_core
from worker.jobs.sources import groups_of, record_of, understood
from worker.progress import Report

J = TypeVar("J", bound=Job)
S = TypeVar("S", bound="Source")
F = TypeVar("F")


class Source(Protocol):
    """What a job starts from. The core calls its variables x, y, z, its reader by their symbols."""

    @property
    def symbols(self) -> Symbols:
        """Symbol of each variable."""

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """Warnings about it, in which columns have their own names."""

    def periods(self, job: Any) -> Mapping[str, float]:
        """Return the period of each angle, by standard name."""


@dataclass(frozen=True, slots=True)
class Procedure(Generic[J, S, F]):
    """Steps of one kind of job; each raises JobProblem or an error of the core.

    load       (tenant, job, stores) → the job's source, open during the computation; a `Source`
    compute    (job, source, report, summing) → values of the core
    describe   (job's id, job, source, values, seconds) → the result document
    """

    load: Callable[[str, J, Stores], AbstractContextManager[S]]
    compute: Callable[[J, S, Report, Summing], F]
    describe: Callable[[str, J, S, F, float], Result]


PROCEDURES: Mapping[str, Procedure[Any, Any, Any]] = {
    "identification": Procedure(record_of, identification.compute, identification.describe),
    "generator": Procedure(generator.model_of, generator.compute, generator.describe),
    "rolling": Procedure(record_of, rolling.compute, rolling.describe),
    "plan": Procedure(generator.model_of, plan.compute, plan.describe),
    "population": Procedure(record_of, population.compute, population.describe),
    "sweep": Procedure(record_of, sweep.compute, sweep.describe),
    "comparison": Procedure(groups_of, comparison.compute, comparison.describe),
}


def execute(
    claim: Claim, stores: Stores, report: Report, share: Share, fan_out_increments: float
) -> Result:
    """Compute a job's result.

    fan_out_increments   a pass over more increments is shared among workers

    Raises JobProblem where data or model do not allow it, and what `report` and `share` raise.
    """
    begun = time.monotonic()
    procedure = PROCEDURES[claim.job.kind]
    with procedure.load(claim.tenant, claim.job, stores) as source:
        with understood("parameters", source.symbols):
            job = job_in_standard_names(claim.job, source.symbols)
        said = partial(in_words, symbols=source.symbols, periods=source.periods(job))

        def report_in_words(share_done: float, stage: str, message: str) -> None:
            report(share_done, stage, source.symbols.sentence(message, {}))

        try:
            found = procedure.compute(
                job, source, report_in_words, summing_with(share, fan_out_increments)
            )
            report(0.95, "writing", "result")
            seconds = time.monotonic() - begun
            result = procedure.describe(claim.job_id, job, source, found, seconds)
        except (IdentificationError, GeneratorError) as error:
            raise JobProblem(said(of_core(error))) from error
        return said(result, given=source.warnings)


@contextmanager
def helper(claim: Claim, stores: Stores, work: bytes, shards: int) -> Iterator[Sum]:
    """Yield the function that sums shards of another's job. Raises JobProblem without its data."""
    assert isinstance(claim.job, DataJob), "no other job has data"
    with record_of(claim.tenant, claim.job, stores) as record:
        yield partial(packed_sums, unpack(work, record.data), shards)
