"""Several sets of parameters on one dataset: what came out of each."""

from typing import Any, Literal

from contract.base import Document
from contract.problems import Problem
from contract.results import (
    SCHEMA_VERSION,
    DataSummary,
    Diagnostics,
    GeneratorAnalysis,
    Model,
    Notice,
    Provenance,
    Selection,
)


class SweepItem(Document):
    """One set of parameters, as an identification with them would have answered; or why it has no answer."""

    parameters: dict[str, Any]
    """What was put in place of the job's parameters."""
    model: Model | None = None
    """What was found."""
    selection: Selection | None = None
    """Which other models were considered."""
    generator: GeneratorAnalysis | None = None
    """What its generator says."""
    diagnostics: Diagnostics | None = None
    """Whether it can be trusted."""
    warnings: tuple[Notice, ...] = ()
    """What the reader should know."""
    error: Problem | None = None
    """Why there is none of these."""


class SweepResult(Document):
    """The same data under several sets of parameters."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Of this document."""
    kind: Literal["sweep"] = "sweep"
    """Of the job."""
    job: str
    """Its id."""
    data: DataSummary
    """What was looked at."""
    items: tuple[SweepItem, ...]
    """In the order of the job's variants."""
    passes_taken: int
    """Passes over all increments."""
    passes_shared: int
    """Passes that did not have to be taken, as their sums were there from another set."""
    provenance: Provenance
    """How it was made."""
