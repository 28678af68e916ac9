"""One computation: what is asked for, and the record of how it goes."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from contract.base import Document, Name
from contract.generator import AnalysisParameters, ModelOfJob, ModelTerms
from contract.identification import PRESETS, IdentificationParameters
from contract.problems import Problem

Kind = Literal["identification", "generator"]
State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
TERMINAL: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})

Labels = Annotated[dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=255)]], Field(max_length=32)]


class InlineData(Document):
    """A small dataset inside the job itself."""

    dt: Annotated[float, Field(gt=0)] | None = None
    """Sampling interval [time]; may be left out where `times` is given."""
    times: Annotated[tuple[tuple[float, ...], ...], Field(max_length=10_000)] | None = None
    """Sample times of each trajectory [time]."""
    trajectories: Annotated[
        tuple[tuple[float | tuple[float | None, ...] | None, ...], ...], Field(min_length=1, max_length=10_000)
    ]
    """Samples of each trajectory: numbers, or one list of d numbers per sample; `null` is a missing value [state]."""


class JobBase(Document):
    labels: Labels = {}
    """Your own names for this job; the list of jobs can be filtered by them."""
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] = 600.0
    """The job fails with `timed-out` after this long on a worker."""
    analysis: AnalysisParameters = AnalysisParameters()


class IdentificationJob(JobBase):
    """Data → model → analysis of its generator."""

    kind: Literal["identification"]
    dataset: Name | None = None
    """Id of an uploaded dataset."""
    data: InlineData | None = None
    """Or the data themselves."""
    preset: Literal["paper"] | None = None
    """`paper`: Algorithm 1 with the paper's settings. Parameters given beside it win."""
    parameters: IdentificationParameters = IdentificationParameters()

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        given = dict(given)
        parameters = given.get("parameters")
        if isinstance(parameters, dict) and "preset" in parameters:
            parameters = dict(parameters)
            given.setdefault("preset", parameters.pop("preset"))
            given["parameters"] = parameters
        preset = PRESETS.get(given["preset"]) if isinstance(given.get("preset"), str) else None
        if preset is not None and (parameters is None or isinstance(parameters, dict)):
            given["parameters"] = _overlaid(preset.model_dump(mode="json"), parameters or {})
        return given


class GeneratorJob(JobBase):
    """A model → analysis of its generator."""

    kind: Literal["generator"]
    model: ModelTerms | ModelOfJob


JobRequest = Annotated[IdentificationJob | GeneratorJob, Field(discriminator="kind")]
JOB_REQUEST: TypeAdapter[IdentificationJob | GeneratorJob] = TypeAdapter(JobRequest)


class Progress(Document):
    """How far a job has come."""

    fraction: Annotated[float, Field(ge=0, le=1)] = 0.0
    stage: str = "queued"
    message: str = ""


class JobRecord(Document):
    """The public record of a job. It is the only truth about it."""

    id: str
    kind: Kind
    state: State
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    progress: Progress = Progress()
    attempt: int = 0
    """How often a worker has started it."""
    dataset: str | None = None
    labels: Labels = {}
    request: JobRequest
    """The job as accepted, with every default filled in."""
    error: Problem | None = None
    """Why it failed."""
    links: dict[str, str] = {}
    """`self`, `events`, `result`, `cancel`."""

    @property
    def terminal(self) -> bool:
        """Whether the state can still change."""
        return self.state in TERMINAL

    @model_validator(mode="after")
    def _failed_says_why(self) -> Self:
        if self.state == "failed" and self.error is None:
            raise ValueError("a failed job carries the problem that ended it")
        return self


class JobEvent(Document):
    """What a job's record said after a change."""

    id: str
    """Of the event; later events sort after it."""
    at: datetime
    state: State
    attempt: int
    progress: Progress


class JobList(Document):
    """A page of jobs, newest first."""

    items: tuple[JobRecord, ...]
    next_cursor: str | None = None


def _overlaid(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over` put on top, object by object."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _overlaid(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
