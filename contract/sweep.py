"""Several sets of parameters on one dataset: the job, and the result of each set."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from contract.base import Document
from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters
from contract.jobs import DataJob, overlaid
from contract.problems import Problem
from contract.results import (
    SCHEMA_VERSION,
    DataSummary,
    Diagnostics,
    GeneratorAnalysis,
    Model,
    Notice,
    Provenance,
    Result,
    Selection,
)

VARIANTS = [{"selection": {"method": "pastis"}}, {"library": {"polynomial_degree": 6}}]
"""Variants shown as an example in the interface."""


class SweepJob(DataJob):
    """Identify one model from the same data for each of several parameter sets.

    Sums over the data are shared where possible.
    """

    kind: Literal["sweep"]
    """Job kind: identify a model for each of several parameter sets."""
    variants: Annotated[
        tuple[dict[str, Any], ...], Field(min_length=1, max_length=50, examples=[VARIANTS])
    ]
    """The parameter sets. Each is merged into `parameters`, object by object."""
    analysis: AnalysisParameters = AnalysisParameters()
    """Quantities to derive from each model."""

    @property
    def analyses(self) -> float:
        """Number of analysed models: one for each set, or none if only the models are requested."""
        return 0.0 if self.analysis.model_only else float(len(self.variants))

    @model_validator(mode="after")
    def _each_variant_is_valid(self) -> Self:
        base = self.parameters.model_dump(mode="json")
        for number, variant in enumerate(self.variants):
            try:
                IdentificationParameters.model_validate(overlaid(base, variant))
            except ValidationError as error:
                first = error.errors()[0]
                place = "/".join(str(part) for part in ("variants", number, *first["loc"]))
                raise ValueError(f"{place}: {first['msg']}") from None
        return self

    def parameter_sets(self) -> dict[str, IdentificationParameters]:
        """Return the parameters of each variant, by its place in the job."""
        base = self.parameters.model_dump(mode="json")
        sets = enumerate(overlaid(base, variant) for variant in self.variants)
        return {
            f"variants/{number}": IdentificationParameters.model_validate(overlaid)
            for number, overlaid in sets
        }


class SweepItem(Document):
    """The result for one parameter set.

    It is what an identification with it returns, or the reason for its failure.
    """

    parameters: dict[str, Any]
    """The variant: the values that replaced the job's parameters."""
    model: Model | None = None
    """The identified model."""
    selection: Selection | None = None
    """The sets of terms that were considered."""
    generator: GeneratorAnalysis | None = None
    """Quantities derived from the model's generator."""
    diagnostics: Diagnostics | None = None
    """Checks of the model against the data."""
    warnings: tuple[Notice, ...] = ()
    """Findings that the reader should know."""
    error: Problem | None = None
    """Problem that left this parameter set without a result."""


class SweepResult(Result):
    """Models identified from the same data with several parameter sets."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Version of this document's schema."""
    kind: Literal["sweep"] = "sweep"
    """Kind of the job."""
    job: str
    """Id of the job."""
    data: DataSummary
    """The data the models were identified from."""
    items: tuple[SweepItem, ...]
    """The results, in the order of the job's variants."""
    passes_taken: int
    """Number of passes over all increments."""
    passes_shared: int
    """Number of passes saved because another parameter set needed the same sums."""
    provenance: Provenance
    """Data, version and parameters that produced the result."""
