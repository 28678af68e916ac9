"""The table of job kinds, from which unions, schemas, routes, pages and examples are derived."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from contract.base import CHECKED
from contract.comparison import GROUPS, ComparisonJob, ComparisonResult
from contract.jobs import DOUBLE_WELL, DataJob, GeneratorJob, IdentificationJob, Job
from contract.plan import PlanJob, PlanResult
from contract.population import PopulationJob, PopulationResult
from contract.results import GeneratorResult, IdentificationResult, ModelResult, Result
from contract.rolling import RollingJob, RollingResult
from contract.sweep import SweepJob, SweepResult


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job.

    name      value of the field `kind` in its job and in its result
    job       class of its requests
    result    class of its results
    example   title and fields, besides kind and dataset, of the example job in the interface
    """

    name: str
    job: type[Job]
    result: type[Result]
    example: tuple[str, Mapping[str, Any]]

    @property
    def needs_data(self) -> bool:
        """True if the job starts from a dataset."""
        return issubclass(self.job, DataJob)

    @property
    def gives_one_model(self) -> bool:
        """True if the result is one model, which can be compared with another."""
        return issubclass(self.result, ModelResult)


_PASSAGE = {
    "analysis": {"passages": [{"from": -1.0, "to": 1.0}]},
    "labels": {"experiment": "trap-17"},
}
_MODEL = {"model": DOUBLE_WELL}
_WINDOWS = {"windows": {"count": 100, "share": 0.1}}
_SETS = {"variants": [{}, {"selection": {"method": "pastis"}}]}
_GROUPS = {"groups": GROUPS, **_PASSAGE}
_PLAN = {"model": DOUBLE_WELL, "target": {"quantity": "passage", "precision": 0.05}}
_TRACKS = {
    "data": {
        "dt": 0.01,
        "trajectories": [[0.13, 0.17, 0.22, 0.18], [0.2, 0.16, 0.19, 0.25], [0.31, 0.27, 0.29]],
    }
}
_TABLE = (
    Kind("identification", IdentificationJob, IdentificationResult, ("on a dataset", _PASSAGE)),
    Kind("generator", GeneratorJob, GeneratorResult, ("a model given by its terms", _MODEL)),
    Kind("rolling", RollingJob, RollingResult, ("a window moved along the data", _WINDOWS)),
    Kind("plan", PlanJob, PlanResult, ("how long to record", _PLAN)),
    Kind("population", PopulationJob, PopulationResult, ("records of a population", _TRACKS)),
    Kind("sweep", SweepJob, SweepResult, ("several sets of parameters", _SETS)),
    Kind("comparison", ComparisonJob, ComparisonResult, ("groups of datasets", _GROUPS)),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _TABLE}


if TYPE_CHECKING:
    KindName = str
    JobRequest = Job
    AnyResult = Result
else:
    KindName = Literal[tuple(KINDS)]
    JobRequest = Annotated[reduce(or_, [kind.job for kind in _TABLE]), Field(discriminator="kind")]
    AnyResult = reduce(or_, [kind.result for kind in _TABLE])

JOB_REQUEST: TypeAdapter[Job] = TypeAdapter(JobRequest)


def recorded_job(text: str) -> Job:
    """Return a job that was checked when it was accepted; its terms are not parsed again.

    A job of 241 kB took 0.6 s to parse whenever its record was looked at.
    """
    return JOB_REQUEST.validate_json(text, context=CHECKED)


RESULT: TypeAdapter[Result] = TypeAdapter(Annotated[AnyResult, Field(discriminator="kind")])
