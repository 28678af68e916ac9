"""The mean of each variable: the job, and what came out."""

from typing import Annotated, Literal

from pydantic import Field

from contract.jobs import DataJob
from contract.results import SCHEMA_VERSION, Provenance, Result


class MeanJob(DataJob):
    """The mean of each variable, without its extremes."""

    kind: Literal["mean"]
    """The mean of the data."""
    trim: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Share of the samples that is left out at either end."""


class MeanResult(Result):
    """The mean of each variable."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Version of this document."""
    kind: Literal["mean"] = "mean"
    """Kind of the job."""
    job: str
    """The job's id."""
    means: dict[str, float]
    """Mean by variable [state]."""
    provenance: Provenance
    """How it was made."""
