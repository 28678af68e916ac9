"""Plans of measurements: a model and a wanted precision in, duration and sampling interval out."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.base import Document, Name, Term
from contract.jobs import ModelJob
from contract.results import SCHEMA_VERSION, Model, Notice, Provenance, Result

QuantityName = Literal["relaxation_time", "passage", "variance", "coefficient", "difference"]
Positive = Annotated[float, Field(gt=0, le=1e300)]

_FIELDS = {
    "relaxation_time": {"precision"},
    "passage": {"precision", "from_", "to"},
    "variance": {"precision"},
    "coefficient": {"precision", "component", "term"},
    "difference": {"component", "term", "other", "power", "level"},
}


class PlanTarget(Document):
    """The quantity that is wanted, and its precision."""

    quantity: QuantityName
    """`relaxation_time`: the longest relaxation time 1/λ₁. `passage`: the mean first-passage time
    from `from` to `to`. `variance`: that of the
    stationary distribution. `coefficient`: that of `term` in `component`.
    `difference`: to tell this coefficient from the value `other` by a test."""
    precision: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Wanted standard error, as a fraction of the value."""
    from_: Annotated[float | None, Field(alias="from", examples=[-1.0])] = None
    """Start of the passage [state]. If omitted with `to`: the slower passage between two wells."""
    to: Annotated[float | None, Field(examples=[1.0])] = None
    """End of the passage [state]."""
    component: Annotated[Name | None, Field(examples=["x"])] = None
    """Component of a coefficient: a variable of the drift, or a pair of the diffusion, e.g.
    `x,x`."""
    term: Annotated[Term | None, Field(examples=["x^3"])] = None
    """Term of a coefficient; it must be in the model."""
    other: Annotated[float | None, Field(examples=[1.2])] = None
    """Value from which the coefficient is to be told [data's units]."""
    power: Annotated[float, Field(gt=0, lt=1)] = 0.9
    """Probability that the test finds the difference."""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Probability that it finds one where there is none."""

    @model_validator(mode="after")
    def _has_what_its_quantity_needs(self) -> Self:
        # A recorded job has every field: what was given is what differs from its default.
        given = {n for n, f in type(self).model_fields.items() if getattr(self, n) != f.default}
        unused = given - {"quantity"} - _FIELDS[self.quantity]
        if unused:
            names = ", ".join(sorted(name.strip("_") for name in unused))
            raise ValueError(f"a target of quantity {self.quantity} has no {names}: omit it")
        if (self.from_ is None) != (self.to is None):
            raise ValueError("a passage needs both from and to, or neither")
        if self.from_ is not None and self.from_ == self.to:
            raise ValueError("a passage needs two different states in from and to")
        if "term" in _FIELDS[self.quantity] and (self.component is None or self.term is None):
            raise ValueError(f"a target of quantity {self.quantity} needs component and term")
        if self.quantity == "difference":
            if self.other is None:
                raise ValueError("a target of quantity difference needs other")
            if self.power <= self.level:
                raise ValueError("power must be above level")
        return self


class PlanJob(ModelJob):
    """Plan a measurement: how long and how often to record.

    The model has one variable and is of first order. It is taken as known, and so are its terms:
    that they have to be selected costs more.
    """

    kind: Literal["plan"]
    """Job kind: plan a measurement."""
    target: Annotated[
        PlanTarget,
        Field(examples=[{"quantity": "passage", "from": -1, "to": 1, "precision": 0.05}]),
    ]
    """The quantity that is wanted, and its precision."""
    noise: Annotated[Annotated[float, Field(ge=0, le=1e300)] | None, Field(examples=[0.1])] = None
    """Standard deviation of the measurement noise [state]. If omitted: that of the job's data, or
    0."""
    dt: Annotated[tuple[Positive, ...], Field(max_length=50, examples=[[0.01, 0.1]])] = ()
    """Sampling intervals to choose from [time]. If omitted, twelve from a 200th to 0.6 of the
    fast relaxation time."""
    trajectory_duration: Annotated[Positive | None, Field(examples=[100.0])] = None
    """Duration of every trajectory [time]. If omitted, one trajectory has the whole duration."""
    start: Annotated[float | None, Field(examples=[-1.0])] = None
    """State at which every trajectory begins, e.g. after a preparation [state]; needs
    `trajectory_duration`. If omitted, they begin anywhere in the stationary distribution."""
    max_duration: Annotated[Positive | None, Field(examples=[1000.0])] = None
    """Longest total duration that can be recorded [time]. The plan says which error it reaches."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the simulated records, which tell what noise costs and check the plan."""

    @model_validator(mode="after")
    def _begins_where_trajectories_do(self) -> Self:
        if self.start is not None and self.trajectory_duration is None:
            raise ValueError("start needs trajectory_duration: one long trajectory forgets it")
        return self


class PlannedQuantity(Document):
    """The quantity that the plan is for."""

    detail: str
    """What it is, in words."""
    value: float
    """Its value in the model [data's units]."""
    precision: float
    """Wanted standard error, as a fraction of the value. Of a difference: the one with which the
    test has its power."""
    from_: Annotated[float | None, Field(alias="from")] = None
    """Start of the passage [state]."""
    to: float | None = None
    """End of the passage [state]."""


class PlanOption(Document):
    """A sampling interval, and what it takes to reach the precision."""

    dt: float
    """Sampling interval [time]."""
    duration: float
    """Total duration of all trajectories [time]."""
    clean_duration: float
    """The same without measurement noise [time]."""
    trajectories: int
    """Number of trajectories."""
    samples: int
    """Number of samples."""


class PlannedCoefficient(Document):
    """A coefficient, and its standard error if the plan is followed."""

    component: str
    """A variable of the drift, or a pair of the diffusion."""
    term: str
    """The term."""
    value: float
    """Coefficient in the model."""
    std_error: float
    """Predicted standard error."""


class PlanCurves(Document):
    """What the best option's neighbours would give, for plotting."""

    duration: tuple[float, ...]
    """Total durations at the best sampling interval [time]."""
    relative_error: tuple[float, ...]
    """Standard error over the value at each of them."""
    noise: tuple[float, ...]
    """Standard deviations of the measurement noise, at the best sampling interval [state]."""
    duration_with_noise: tuple[float, ...]
    """Total duration that each of them takes [time]."""


class PlanCheck(Document):
    """Simulated records of the best option, identified with the model's terms.

    Errors are of the records' own duration, as fractions of the value.
    """

    records: int
    """Number of simulated records."""
    duration: float
    """Duration of each [time]."""
    predicted: float
    """Standard error that the plan predicts for this duration."""
    claimed: float | None = None
    """Standard error that the identification reports, as the mean over the records."""
    realised: float | None = None
    """Root of the mean squared error. Of few records it varies much."""
    reason: str | None = None
    """Reason why there are no records."""


class PlanResult(Result):
    """A plan: what to record, in words, numbers and curves."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Version of this document's schema."""
    kind: Literal["plan"] = "plan"
    """Kind of the job."""
    job: str
    """Id of the job."""
    assumed_model: Model
    """The model that the data are expected to have."""
    message: str
    """The plan in words."""
    quantity: PlannedQuantity
    """The quantity that the plan is for."""
    noise: float
    """Standard deviation of the measurement noise [state]."""
    time_unit: str | None = None
    """Unit of time of the job's data; only a label."""
    best: PlanOption
    """The option to choose: the longest sampling interval that takes at most 5 % more time than the
    best one."""
    options: tuple[PlanOption, ...]
    """Every sampling interval that was tried, shortest first."""
    coefficients: tuple[PlannedCoefficient, ...]
    """Standard errors of all coefficients by the best option."""
    reachable: float | None = None
    """Standard error over the value after `max_duration`, at the best sampling interval."""
    fast_time: float
    """Relaxation time inside the wells, ⟨a⟩/(2⟨b²⟩) [time]."""
    relaxation_time: float | None
    """Longest relaxation time [time]."""
    curves: PlanCurves
    """The curves."""
    check: PlanCheck
    """The plan, simulated."""
    warnings: tuple[Notice, ...] = ()
    """Findings that the reader should know."""
    provenance: Provenance
    """Version and parameters that produced the result."""
