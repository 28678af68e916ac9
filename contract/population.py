"""A population of records: the job, and the distribution of every coefficient over the records."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.base import Document, Name
from contract.datasets import Dataset, DatasetReport, difference_of
from contract.jobs import DataJob
from contract.results import (
    SCHEMA_VERSION,
    Array,
    DataSummary,
    Estimate,
    Model,
    Notice,
    Provenance,
    Result,
)

FEWEST_RECORDS = 3
MOST_DATASETS = 1000
"""Largest number of datasets in a population."""


class PopulationJob(DataJob):
    """Estimate how the coefficients differ between trajectories, the records of a population.

    All trajectories together choose the terms. One more pass takes the sums of each, however many
    and however short they are.
    """

    kind: Literal["population"]
    """Job kind: estimate how coefficients differ between records."""
    datasets: Annotated[
        tuple[Name, ...],
        Field(max_length=MOST_DATASETS, examples=[["ds_9tq4m2k7h3xa5c6e", "ds_2b7c4d8e1f6a5h3k"]]),
    ] = ()
    """Ids of several datasets, instead of one, whose trajectories are the records. All have the
    same variables, in the same units."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Confidence level of every interval."""

    @property
    def dataset_ids(self) -> tuple[str, ...]:
        """Ids of all datasets that the job starts from."""
        return super().dataset_ids or self.datasets

    @property
    def analyses(self) -> float:
        """Cost in analyses of a model: a tenth, for none is analysed."""
        return 0.1

    def unsuitable(self, data: DatasetReport) -> tuple[str, str] | None:
        """Return that a population needs three records, where the data have fewer."""
        if data.inputs:
            named = ", ".join(i.column or i.symbol for i in data.inputs)
            return (
                f"a population takes no inputs, and the dataset has {named}",
                "Upload the states alone.",
            )
        n = data.n_trajectories
        if n >= FEWEST_RECORDS:
            return None
        found = f"the datasets have {n}" if self.datasets else f"the dataset has {n}"
        return (
            f"a population needs {FEWEST_RECORDS} trajectories or more, and {found}",
            "Name the column that tells records apart (id_column=…), upload several files in one "
            "archive, or name several datasets in `datasets`.",
        )

    def unlike(self, datasets: Mapping[str, Dataset]) -> tuple[tuple[str, ...], str, str] | None:
        """Return where a dataset has not the first one's variables, and so on; None if all have.

        datasets   by id
        """
        for number, id_ in enumerate(self.datasets):
            difference = difference_of(datasets[self.datasets[0]].report, datasets[id_].report)
            if difference is not None:
                return ("datasets", str(number)), *difference
        return None

    @model_validator(mode="after")
    def _of_one_source(self) -> Self:
        if not self.datasets:
            return self
        if self.dataset is not None or self.data is not None:
            raise ValueError("datasets: give `datasets`, or one `dataset`, not both")
        if self.trajectories is not None:
            raise ValueError(
                "trajectories: numbers are of one `dataset`; with `datasets` leave them out"
            )
        first: dict[str, int] = {}
        for place, id_ in enumerate(self.datasets):
            if first.setdefault(id_, place) < place:
                raise ValueError(
                    f"datasets: {id_} is there twice, at {first[id_]} and {place}; a record counts "
                    "once"
                )
        return self

    @model_validator(mode="after")
    def _by_the_efficient_estimator(self) -> Self:
        if self.parameters.estimator == "paper":
            raise ValueError(
                "a population is estimated by the efficient estimator: leave parameters.estimator "
                "out"
            )
        return self

    @model_validator(mode="after")
    def _of_first_order(self) -> Self:
        if self.parameters.dynamics in ("second-order", "coloured-noise"):
            raise ValueError(
                "a population is estimated for dynamics of first order: set parameters.dynamics to "
                "first-order, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _of_free_coefficients(self) -> Self:
        if self.parameters.forcing.any:
            raise ValueError("a population takes no forcing: leave parameters.forcing out")
        if self.parameters.constraints.joint:
            raise ValueError(
                "records of a population have coefficients of their own: leave bounds, equalities, "
                "gradient and detailed_balance out of parameters.constraints"
            )
        return self


class Heterogeneity(Document):
    """Scatter of one number between the records."""

    q: float | None
    """Generalised Q: the sum of the squared distances of the records from their mean, weighted by
    what they know of the number. If it is the same in all records, however short, Q follows a χ²
    distribution."""
    degrees: float | None
    """Degrees of freedom of that distribution: the number of records, less 1, where all know
    equally much of the number; else fewer."""
    share: float | None
    """I²: share of the variance of a typical record's own estimate that is due to differences
    between records; null where no record has an estimate of its own."""


class PopulationNumber(Document):
    """The distribution of one number over the records, in the units of the data."""

    term: str
    """The term whose coefficient it is, as in the model; `relaxation rate` for that."""
    pooled: Estimate
    """Coefficient of the pooled model, which takes all records for samples of one process. Where
    levels differ, it relaxes more slowly than the records do."""
    mean: Estimate
    """Mean over the population, with the interval of Knapp and Hartung."""
    std_error: float | None
    """Standard error of the mean."""
    standard_deviation: Estimate
    """Standard deviation between records, by restricted maximum likelihood, with its profile
    interval."""
    p_value: float
    """Probability of so much difference if the number is the same in all records, however short
    they are: of a larger Q, and of a level also of a larger effect of first states (Bonferroni)."""
    heterogeneity: Heterogeneity
    """Scatter between the records: Q and I²."""
    estimates: Array
    """Estimate from each record alone; null where it is too short."""
    std_errors: Array
    """Standard errors of `estimates`."""
    shrunken: Array
    """Estimate of each record given the population (best linear unbiased prediction)."""
    shrunken_std_errors: Array
    """Standard errors of `shrunken`."""


class RecordApart(Document):
    """A record that stands apart from the others by more than chance."""

    number: int
    """Position of the record, from 0."""
    record: str
    """Name of the record, or its position from 1 if it has none."""
    component: str
    """Component of the model in which it stands apart."""
    term: str
    """Term in which it is farthest away."""
    away: float | None
    """Distance from the middle of the others, in their standard deviations."""
    p_value: float
    """Probability of such a distance, corrected for the number of records (Holm)."""


class PopulationResult(Result):
    """Distributions of the coefficients over the records of a dataset."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Version of this document's schema."""
    kind: Literal["population"] = "population"
    """Kind of the job."""
    job: str
    """Id of the job."""
    data: DataSummary
    """The data the distributions were estimated from."""
    pooled: Model
    """Model of all records together, which chose the terms."""
    records: tuple[str, ...]
    """Name of each record, or its number from 1, in the order of all lists."""
    increments: Array
    """Number of increments of each record."""
    drift: dict[str, tuple[PopulationNumber, ...]]
    """Coefficients of the drift, by variable."""
    diffusion: dict[str, tuple[PopulationNumber, ...]]
    """Coefficients of the diffusion, by pair of variables."""
    relaxation_rate: PopulationNumber | None = None
    """Relaxation rate, where the drift is linear in a single variable [1/time]."""
    relaxation_time: Estimate
    """Relaxation time 1/rate at the mean rate [time]."""
    variation_of_rate: Estimate
    """Standard deviation of the relaxation rate between records over its mean: that of the
    logarithm of rate or time, where it is small."""
    apart: tuple[RecordApart, ...]
    """Records that stand apart."""
    warnings: tuple[Notice, ...] = ()
    """Findings that the reader should know."""
    provenance: Provenance
    """Data, version and parameters that produced the result."""
