"""The table of procedures, one for each kind of job."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from contract.jobs import Job
from contract.results import Result
from storage.stores import Stores
from worker.identification.sums.block_sums import Summing
from worker.jobs import generator, identification, rolling, sweep
from worker.jobs.sources import record_of
from worker.progress import Report

J = TypeVar("J", bound=Job)
S = TypeVar("S")
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Procedure(Generic[J, S, F]):
    """Steps of one kind of job; each raises JobProblem or an error of the core.

    load       (tenant, job, stores) → the job's source, open during the computation
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
    "sweep": Procedure(record_of, sweep.compute, sweep.describe),
}
