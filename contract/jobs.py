"""One computation: what is asked for, and the record of how it goes."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from contract.base import Document, Name
from contract.generator import AnalysisParameters, ModelOfJob, ModelTerms
from contract.identification import PRESETS, IdentificationParameters
from contract.problems import Problem
from contract.rolling import RollingWindows
from contract.webhooks import Webhook

Kind = Literal["identification", "generator", "rolling", "sweep"]
State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
TERMINAL: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})

Labels = Annotated[
    dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=255)]],
    Field(max_length=32, examples=[{"experiment": "trap-17"}]),
]


DOUBLE_WELL = {"drift": {"x": {"x": 1.0, "x^3": -1.0}}, "diffusion": {"x,x": {"1": 0.25}}}
VARIANTS = [{"selection": {"method": "pastis"}}, {"library": {"polynomial_degree": 6}}]
SHORT_RECORD = {"dt": 0.01, "trajectories": [[0.13, 0.17, 0.22, None, 0.18]]}
"""Examples."""


class InlineData(Document):
    """A small dataset inside the job itself."""

    dt: Annotated[Annotated[float, Field(gt=0)] | None, Field(examples=[0.01])] = None
    """Sampling interval [time]; may be left out where `times` is given."""
    times: Annotated[
        Annotated[tuple[tuple[float, ...], ...], Field(max_length=10_000)] | None, Field(examples=[[[0.0, 0.01, 0.02]]])
    ] = None
    """Sample times of each trajectory [time]."""
    trajectories: Annotated[
        tuple[tuple[float | tuple[float | None, ...] | None, ...], ...],
        Field(min_length=1, max_length=10_000, examples=[SHORT_RECORD["trajectories"]]),
    ]
    """Samples of each trajectory: numbers, or one list of d numbers per sample; `null` is a missing value [state]."""


class JobBase(Document):
    """What every job has."""

    labels: Labels = {}
    """Your own names for this job; the list of jobs can be filtered by them."""
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] = 600.0
    """The job fails with `timed-out` after this long on a worker [s]."""
    webhook: Annotated[Webhook | None, Field(examples=[{"url": "https://lab.example.org/itoscope"}])] = None
    """Who is told, by a signed POST, when the job has ended."""


class DataJob(JobBase):
    """A job that starts from data."""

    dataset: Annotated[Name | None, Field(examples=["ds_9tq4m2k7h3xa5c6e"])] = None
    """Id of an uploaded dataset."""
    data: Annotated[InlineData | None, Field(examples=[SHORT_RECORD])] = None
    """Or the data themselves."""
    parameters: IdentificationParameters = IdentificationParameters()
    """How the model is found."""

    def parameter_sets(self) -> dict[str, IdentificationParameters]:
        """All that models are found by, by their place in the job."""
        return {"parameters": self.parameters}


class IdentificationJob(DataJob):
    """Data → model → analysis of its generator."""

    kind: Literal["identification"]
    """Data → model."""
    preset: Annotated[Literal["paper"] | None, Field(examples=["paper"])] = None
    """`paper`: Algorithm 1 with the paper's settings. Parameters given beside it win."""
    analysis: AnalysisParameters = AnalysisParameters()
    """What to read off the model."""

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
    """A model → analysis."""
    model: Annotated[ModelTerms | ModelOfJob, Field(examples=[DOUBLE_WELL])]
    """By its terms, or that of an earlier job."""
    analysis: AnalysisParameters = AnalysisParameters()
    """What to read off the model."""

    @model_validator(mode="after")
    def _is_the_analysis(self) -> Self:
        if self.analysis.model_only:
            raise ValueError("a generator job is the analysis of a model: leave analysis.model_only out")
        return self


class RollingJob(DataJob):
    """One record of one variable, a window moved along it → coefficients, wells and spectral gap of every window."""

    kind: Literal["rolling"]
    """A window moved along the data."""
    windows: RollingWindows = RollingWindows()
    """How many, and how long."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Coverage of every interval."""

    @model_validator(mode="after")
    def _by_the_efficient_estimator(self) -> Self:
        if self.parameters.estimator == "paper":
            raise ValueError("windows are fitted by the efficient estimator: leave parameters.estimator out")
        return self


class SweepJob(DataJob):
    """Several sets of parameters on the same data, whose sums are taken once where they can be: one model for each."""

    kind: Literal["sweep"]
    """Several sets of parameters."""
    variants: Annotated[
        tuple[dict[str, Any], ...],
        Field(min_length=1, max_length=50, examples=[VARIANTS]),
    ]
    """What each puts in place of `parameters`, object by object."""
    analysis: AnalysisParameters = AnalysisParameters()
    """What to read off each model."""

    @model_validator(mode="after")
    def _each_variant_is_valid(self) -> Self:
        base = self.parameters.model_dump(mode="json")
        for number, variant in enumerate(self.variants):
            try:
                IdentificationParameters.model_validate(_overlaid(base, variant))
            except ValidationError as error:
                first = error.errors()[0]
                place = "/".join(str(part) for part in ("variants", number, *first["loc"]))
                raise ValueError(f"{place}: {first['msg']}") from None
        return self

    def parameter_sets(self) -> dict[str, IdentificationParameters]:
        """One for each variant."""
        base = self.parameters.model_dump(mode="json")
        sets = enumerate(_overlaid(base, variant) for variant in self.variants)
        return {f"variants/{number}": IdentificationParameters.model_validate(overlaid) for number, overlaid in sets}


Job = IdentificationJob | GeneratorJob | RollingJob | SweepJob
JobRequest = Annotated[Job, Field(discriminator="kind")]
JOB_REQUEST: TypeAdapter[Job] = TypeAdapter(JobRequest)


class Progress(Document):
    """How far a job has come."""

    fraction: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Between 0 and 1."""
    stage: str = "queued"
    """What is being done, for programs."""
    message: str = ""
    """The same for people."""


class JobRecord(Document):
    """The public record of a job. It is the only truth about it."""

    id: str
    """`job_…`; later jobs sort after it."""
    kind: Kind
    """What is computed."""
    state: State
    """queued → running → succeeded, failed or cancelled; the last three are final."""
    created_at: datetime
    """When it was accepted."""
    started_at: datetime | None = None
    """When the latest attempt began."""
    finished_at: datetime | None = None
    """When it ended."""
    progress: Progress = Progress()
    """How far it has come."""
    attempt: int = 0
    """How often a worker has started it."""
    dataset: str | None = None
    """Id of the data it is about."""
    labels: Labels = {}
    """Your own names for it."""
    request: JobRequest
    """The job as accepted, with every default filled in."""
    error: Problem | None = None
    """Why it failed."""
    links: dict[str, str] = {}
    """`self`, `events`, `result`, `cancel`."""

    @property
    def linked(self) -> "JobRecord":
        """The record as it is answered, with the addresses of what belongs to it."""
        address = f"/v1/jobs/{self.id}"
        links = {"self": address, "events": f"{address}/events", "result": f"{address}/result"}
        if not self.terminal:
            links["cancel"] = f"{address}/cancel"
        return self.model_copy(update={"links": links})

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
    """When."""
    state: State
    """The job's, after the change."""
    attempt: int
    """How often a worker had started it."""
    progress: Progress
    """How far it had come."""


class JobList(Document):
    """A page of jobs, newest first."""

    items: tuple[JobRecord, ...]
    """The jobs of this page."""
    next_cursor: str | None = None
    """To be given as `cursor` for the next page; null on the last."""


def _overlaid(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over` put on top, object by object."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _overlaid(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
