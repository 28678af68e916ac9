"""The public record of a job: its state, its progress, and how it ended."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from contract.base import Document
from contract.jobs import Labels
from contract.kinds import JobRequest, KindName
from contract.problems import Problem

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
TERMINAL: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})


class Progress(Document):
    """Progress of a job."""

    fraction: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Completed fraction, between 0 and 1."""
    stage: str = "queued"
    """Current stage, for programs."""
    message: str = ""
    """Current stage, for people."""


class JobRecord(Document):
    """The public record of a job."""

    id: str
    """Identifier: `job_…`. Ids of later jobs sort after those of earlier ones."""
    kind: KindName
    """Job kind."""
    state: State
    """State: queued → running → succeeded, failed or cancelled. The last three are final."""
    created_at: datetime
    """Time at which the job was accepted."""
    started_at: datetime | None = None
    """Time at which the latest attempt started."""
    finished_at: datetime | None = None
    """Time at which the job ended."""
    progress: Progress = Progress()
    """Progress of the job."""
    attempt: int = 0
    """Number of times a worker has started the job."""
    dataset: str | None = None
    """Id of the dataset."""
    labels: Labels = {}
    """Your own labels for this job."""
    request: JobRequest
    """The job as accepted, with every default filled in."""
    error: Problem | None = None
    """Problem that made the job fail."""
    links: dict[str, str] = {}
    """Addresses of related resources: `self`, `events`, `result`, `cancel`."""

    @property
    def linked(self) -> "JobRecord":
        """The record with the addresses of related resources, as the service returns it."""
        address = f"/v1/jobs/{self.id}"
        links = {"self": address, "events": f"{address}/events", "result": f"{address}/result"}
        if not self.terminal:
            links["cancel"] = f"{address}/cancel"
        return self.model_copy(update={"links": links})

    @property
    def terminal(self) -> bool:
        """True if the state can no longer change."""
        return self.state in TERMINAL

    @model_validator(mode="after")
    def _failed_says_why(self) -> "JobRecord":
        if self.state == "failed" and self.error is None:
            raise ValueError("a failed job carries the problem that ended it")
        return self


class JobEvent(Document):
    """A change of a job's record."""

    id: str
    """Identifier of the event. Ids of later events sort after those of earlier ones."""
    at: datetime
    """Time of the change."""
    state: State
    """State of the job after the change."""
    attempt: int
    """Number of times a worker had started the job."""
    progress: Progress
    """Progress of the job after the change."""


class JobList(Document):
    """A page of jobs, newest first."""

    items: tuple[JobRecord, ...]
    """The jobs on this page."""
    next_cursor: str | None = None
    """Value of the `cursor` parameter for the next page; null on the last page."""
