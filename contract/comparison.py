"""Groups of trajectories compared: the job, and what differs between the groups."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.base import Document, Name
from contract.datasets import Dataset, DatasetReport, difference_of
from contract.generator import AnalysisParameters
from contract.jobs import DataJob
from contract.results import (
    SCHEMA_VERSION,
    DataSummary,
    Estimate,
    GeneratorAnalysis,
    Model,
    Notice,
    Place,
    Provenance,
    Result,
)

MOST_GROUPS = 20
MOST_DATASETS = 200
"""Largest number of datasets in all groups together."""

GROUPS = {"control": ["ds_9tq4m2k7h3xa5c6e"], "treated": ["ds_2b7c4d8e1f6a5h3k"]}
"""Groups shown as an example in the interface."""

_Datasets = Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_DATASETS)]


class ComparisonJob(DataJob):
    """Compare groups of trajectories: which coefficients and which time scales differ.

    The groups are several datasets, or the groups of one dataset whose report has `groups`. They
    may differ in sampling interval, length and measurement noise.
    """

    kind: Literal["comparison"]
    """Job kind: compare groups of trajectories."""
    groups: Annotated[
        dict[Annotated[Name, Field(max_length=60)], _Datasets],
        Field(max_length=MOST_GROUPS, examples=[GROUPS]),
    ] = {}
    """Ids of the datasets in each group, two groups or more, instead of one dataset that has
    groups. All have the same variables, in the same units."""
    reference: Annotated[Name | None, Field(examples=["control"])] = None
    """Group that the others are compared with; the first one if omitted."""
    analysis: AnalysisParameters = AnalysisParameters()
    """Quantities to derive from the model of each group. With `model_only`, coefficients alone are
    compared."""

    @property
    def dataset_ids(self) -> tuple[str, ...]:
        """Ids of all datasets that the job starts from."""
        return super().dataset_ids or tuple(id_ for ids in self.groups.values() for id_ in ids)

    @property
    def analyses(self) -> float:
        """Number of analysed models: two, or one for each group."""
        return 0.0 if self.analysis.model_only else float(max(len(self.groups), 2))

    @property
    def fits_of_each(self) -> int:
        """Number of fits: free, on the terms of all, and on those that are present."""
        return 3

    def in_order(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of groups, the one that others are compared with first."""
        first = self.reference if self.reference is not None else names[0]
        return (first, *(name for name in names if name != first))

    def unsuitable(self, data: DatasetReport) -> tuple[str, str] | None:
        """Return why the groups of one dataset cannot be compared, and what to try; None if so."""
        if self.trajectories is not None:
            return (
                "a comparison uses all trajectories of its groups",
                "Leave `trajectories` out, or upload those of each group as a dataset.",
            )
        if self.groups:
            return None
        if len(data.groups) < 2:
            found = f"it has only the group {next(iter(data.groups))}" if data.groups else "it has "
            found += "" if data.groups else "no groups"
            return (
                f"a comparison needs a dataset with two groups or more, and {found}",
                "Upload the data again with layout.group_column, or a ZIP archive with a folder "
                "for each group; or name several datasets in `groups`.",
            )
        if len(data.groups) > MOST_GROUPS:
            return (
                f"a comparison is of at most {MOST_GROUPS} groups, and the dataset has "
                f"{len(data.groups)}",
                "Upload the groups that matter, or choose another layout.group_column.",
            )
        if self.reference is not None and self.reference not in data.groups:
            return (
                f"the reference {self.reference!r} is none of its groups",
                f"The groups are {', '.join(data.groups)}.",
            )
        return None

    def unlike(self, datasets: Mapping[str, Dataset]) -> tuple[tuple[str, ...], str, str] | None:
        """Return where two datasets cannot be compared, why, and what to try; None if they can.

        datasets   by id
        """
        first = datasets[self.dataset_ids[0]].report
        for group, ids in self.groups.items():
            for number, id_ in enumerate(ids):
                difference = difference_of(first, datasets[id_].report)
                if difference is not None:
                    return ("groups", group, str(number)), *difference
        return None

    @model_validator(mode="after")
    def _has_groups(self) -> Self:
        if not self.groups:
            return self
        if len(self.groups) < 2:
            raise ValueError("groups: a comparison needs two groups or more")
        if not all(name.isprintable() for name in self.groups):
            raise ValueError("groups: the name of a group has a character that cannot be printed")
        if self.dataset is not None or self.data is not None:
            raise ValueError("groups: give `groups`, or one `dataset` that has groups, not both")
        ids = self.dataset_ids
        if len(ids) > MOST_DATASETS:
            raise ValueError(f"groups: at most {MOST_DATASETS} datasets in all groups together")
        if len(set(ids)) < len(ids):
            twice = next(id_ for id_ in ids if ids.count(id_) > 1)
            raise ValueError(f"groups: dataset {twice} is there twice; data are in one group once")
        if self.reference is not None and self.reference not in self.groups:
            known = ", ".join(self.groups)
            raise ValueError(f"reference: {self.reference!r} is no group; the groups are {known}")
        return self

    @model_validator(mode="after")
    def _of_first_order(self) -> Self:
        if self.parameters.estimator == "paper":
            raise ValueError(
                "groups are compared by the efficient estimator: leave parameters.estimator out"
            )
        if self.parameters.dynamics not in ("auto", "first-order"):
            raise ValueError(
                "groups are compared by models of first order: leave parameters.dynamics out, or "
                "identify each group by a job of its own"
            )
        constraints = self.parameters.constraints
        if constraints.joint or constraints.odd:
            raise ValueError(
                "of what is known, a comparison takes known, required and excluded terms: leave "
                "bounds, equalities, odd, gradient and detailed_balance out of "
                "parameters.constraints"
            )
        if self.parameters.selection.method not in ("bic", "pastis"):
            raise ValueError(
                "shared terms are selected by a criterion: set parameters.selection.method to bic "
                "or pastis, or leave it out"
            )
        return self


class GroupEstimate(Estimate):
    """A number of one group with its confidence interval."""

    group: str
    """Name of the group."""


GroupEstimates = tuple[GroupEstimate, ...]


class ComparedTerm(Document):
    """The coefficient of one term in all groups, in the units of the data."""

    term: str
    """The term, as in the models."""
    shared: bool
    """True if the criterion takes one coefficient for all groups, false if each has its own."""
    values: GroupEstimates
    """Coefficient in each group, with its confidence interval."""
    common: Estimate | None = None
    """Coefficient of all groups together if `shared`."""
    ratios: GroupEstimates
    """Coefficient of each further group divided by that of the reference."""
    differences: GroupEstimates
    """Coefficient of each further group minus that of the reference."""
    p_value: float
    """Probability of a larger difference if the coefficient is equal in all groups."""
    adjusted_p_value: float
    """The p-value adjusted for the number of terms of all components (Holm)."""


class ComparedComponent(Document):
    """A component of the drift or of the diffusion in all groups."""

    differs: bool
    """True if the adjusted p-value is at most 1 minus the confidence level."""
    p_value: float
    """Probability of larger differences if all coefficients are equal in all groups."""
    adjusted_p_value: float
    """The p-value adjusted for the number of components (Holm)."""
    statistic: float
    """Statistic of this test, χ² with `degrees` degrees of freedom."""
    degrees: int
    """Degrees of freedom."""
    permuted_p_value: float | None = None
    """p-value of the same question if the groups' labels are permuted over trajectories: it rests
    on no standard error, and allows for trajectories that differ among themselves. Null if there
    are too few trajectories, see `permutations`."""
    terms: tuple[ComparedTerm, ...]
    """The terms that are in the models, the same in all groups."""


class ComparedQuantity(Document):
    """A quantity derived from the model of each group."""

    quantity: Literal[
        "relaxation-time", "period", "passage-time", "mean", "variance", "mean-velocity"
    ]
    """What it is: the slowest relaxation time [time], the period of oscillation of that mode
    [time], the mean of a first-passage time [time], mean [state] or variance [state²] of the
    stationary distribution, mean velocity of an angle [state/time]."""
    name: str
    """Words for it, in the variables' symbols."""
    variable: str | None = None
    """Variable of a mean, a variance or a mean velocity, by standard name."""
    from_: Annotated[Place | None, Field(alias="from")] = None
    """Start of a passage; between wells, the well of the reference [state]."""
    to: Place | None = None
    """Target of a passage; between wells, the well of the reference [state]."""
    values: GroupEstimates
    """Value in each group that has it, with its confidence interval."""
    contrast: Literal["ratio", "difference"]
    """Kind of `contrasts`: ratios of positive quantities, differences of means and velocities."""
    contrasts: GroupEstimates
    """Ratio or difference of each further group to the first of `values`."""
    p_value: float
    """Probability of larger differences if it is equal in these groups."""
    adjusted_p_value: float
    """The p-value adjusted for the number of quantities (Holm)."""


class PermutationTest(Document):
    """Check of the comparison by permuted labels."""

    n_permutations: int
    """Number of permutations; 0 if there was no check."""
    reason: str | None = None
    """Reason why there was no check."""


class ComparedGroup(Document):
    """One group: its data and its model, on the terms that all groups have."""

    group: str
    """Name of the group."""
    datasets: tuple[str, ...]
    """Ids of its datasets."""
    data: DataSummary
    """The data of the group."""
    model: Model
    """Drift and diffusion."""
    generator: GeneratorAnalysis
    """Quantities derived from the model's generator."""
    warnings: tuple[Notice, ...] = ()
    """Findings about this group that the reader should know."""


class ComparisonResult(Result):
    """What differs between groups of trajectories, and their models on common terms."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Version of this document's schema."""
    kind: Literal["comparison"] = "comparison"
    """Kind of the job."""
    job: str
    """Id of the job."""
    summary: tuple[str, ...]
    """What differs, in sentences, in the variables' symbols."""
    reference: str
    """Group that the others are compared with."""
    confidence: float
    """Confidence level of every interval; 1 minus it is the level of the tests."""
    data: DataSummary
    """The data of all groups together; `dt` is that of the reference."""
    groups: tuple[ComparedGroup, ...]
    """The groups, the reference first."""
    drift: dict[str, ComparedComponent]
    """Comparison of the drift, by variable."""
    diffusion: dict[str, ComparedComponent]
    """Comparison of the diffusion, by pair of variables."""
    quantities: tuple[ComparedQuantity, ...] = ()
    """Comparison of derived quantities."""
    permutations: PermutationTest
    """Check by permuted labels."""
    warnings: tuple[Notice, ...] = ()
    """Findings about the comparison that the reader should know."""
    provenance: Provenance
    """Data, version and parameters that produced the result."""

    @property
    def components(self) -> dict[str, ComparedComponent]:
        """All components, by words such as `drift` or `diffusion x,y`."""
        one = len(self.drift) == 1
        found = (("drift", self.drift), ("diffusion", self.diffusion))
        return {
            what if one else f"{what} {key}": component
            for what, components in found
            for key, component in components.items()
        }
