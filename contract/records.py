"""The public record of a job: how it goes, and how it ended."""

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
    kind: KindName
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
    def _failed_says_why(self) -> "JobRecord":
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
