"""Batches: one request for the same job on each of many records, and the table of its results."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, field_validator

from contract.base import Document, Name
from contract.jobs import Labels
from contract.kinds import JobRequest, KindName
from contract.problems import Problem
from contract.records import State

MOST_RECORDS = 1000
"""Most records of one batch."""
OWN_LABELS = ("batch", "record")
"""Labels that the service gives to the jobs of a batch."""
MOST_LABELS = 30
"""Most labels of a batch's template: a job has 32, and two are the service's."""

_Records = Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_RECORDS)]
_Numbers = Annotated[
    tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1, max_length=MOST_RECORDS)
]
Values = dict[str, float | str | None]
"""Numbers and formulas of a result by the name of their column."""


class BatchRequest(Document):
    """The same job for each of many records.

    The records are datasets, or the trajectories of one dataset: give `datasets` or `dataset`.
    """

    datasets: Annotated[_Records | None, Field(examples=[["ds_9tq4m2k7h3xa5c6e"]])] = None
    """Ids of the datasets, each of which is a record."""
    dataset: Annotated[Name | None, Field(examples=["ds_9tq4m2k7h3xa5c6e"])] = None
    """Id of a dataset, each trajectory of which is a record: a ZIP archive of files, or a table
    with a column that identifies trajectories."""
    trajectories: Annotated[_Numbers | None, Field(examples=[[0, 1]])] = None
    """Numbers of the trajectories of `dataset`, counted from 0; all of them if omitted."""
    job: Annotated[JobRequest, Field(examples=[{"kind": "identification"}])]
    """The job without data: its kind and its parameters. Its labels are given to every job of the
    batch, besides the labels `batch` and `record`."""
    label: Annotated[str | None, Field(max_length=200, examples=["traps of March"])] = None
    """Your own words for the batch."""


class BatchCounts(Document):
    """Numbers of the jobs of a batch by state."""

    queued: int = 0
    """Number of jobs that wait."""
    running: int = 0
    """Number of jobs that run."""
    succeeded: int = 0
    """Number of jobs with a result."""
    failed: int = 0
    """Number of jobs that failed. `POST /v1/batches/{batch_id}/retry` starts them again."""
    cancelled: int = 0
    """Number of jobs that were cancelled."""
    gone: int = 0
    """Number of jobs whose record is no longer kept."""

    @field_validator("*")
    @classmethod
    def _counts(cls, given: int) -> int:
        return max(given, 0)

    @property
    def open(self) -> int:
        """Number of jobs that have not ended."""
        return self.queued + self.running


class BatchRow(Document):
    """A record of a batch, and its job."""

    number: int
    """Number of the row, starting at 0."""
    record: str
    """Name of the record: that of the trajectory, or the name of the dataset's file."""
    dataset: str
    """Id of the dataset."""
    trajectory: int | None = None
    """Number of the trajectory in the dataset; null if the record is the whole dataset."""
    job: str
    """Id of the job."""
    state: State | None
    """State of the job; null if its record is no longer kept."""
    attempt: int = 0
    """Number of times a worker has started the job."""
    error: Problem | None = None
    """Problem that made the job fail."""
    values: Values = {}
    """Values of the result by the name of their column; empty without a result, and for a kind of
    job whose result is not one model."""


class Batch(Document):
    """A batch of jobs: their states, and a page of the table of results."""

    id: str
    """Identifier: `batch_…`."""
    label: str | None = None
    """Your own words for the batch."""
    created_at: datetime
    """Time at which the batch was accepted."""
    kind: KindName
    """Kind of the jobs."""
    labels: Labels = {}
    """Your own labels of the jobs."""
    dataset: str | None = None
    """Id of the dataset whose trajectories are the records; null if each record is a dataset."""
    n_records: int
    """Number of records."""
    counts: BatchCounts
    """Number of jobs in each state."""
    rows: tuple[BatchRow, ...] = ()
    """Rows of this page. A list of batches has none."""
    next_cursor: str | None = None
    """Value of the `cursor` parameter for the next rows; null on the last page."""
    links: dict[str, str] = {}
    """Addresses of related resources: `self`, `table`, `retry`, `cancel`."""

    @property
    def linked(self) -> "Batch":
        """The batch with the addresses of related resources, as the service returns it."""
        address = f"/v1/batches/{self.id}"
        links = {"self": address, "table": f"{address}?format=csv"}
        if self.counts.failed:
            links["retry"] = f"{address}/retry"
        if self.counts.queued:
            links["cancel"] = f"{address}/cancel"
        return self.model_copy(update={"links": links})


class BatchList(Document):
    """A page of batches, newest first."""

    items: tuple[Batch, ...]
    """The batches on this page, without their rows."""
    next_cursor: str | None = None
    """Value of the `cursor` parameter for the next page; null on the last page."""
