"""Parameters of a generator analysis: a model in, time scales and stationary distribution out."""

from typing import Annotated, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from contract.base import CHECKED, Document, Interval, Name, Term
from grammar.terms import parse, variables_of

Coefficients = Annotated[
    dict[Term, float], Field(max_length=100, examples=[{"x": 1.0, "x^3": -1.0}])
]
"""Coefficient of each term, e.g. `{"x": 1, "x^3": -1}`."""


class ModelTerms(Document):
    """A model dX = b dt + σ dW, given by the terms of b and of a = σσᵀ."""

    drift: Annotated[
        dict[Name, Coefficients],
        Field(min_length=1, max_length=64, examples=[{"x": {"x": 1.0, "x^3": -1.0}}]),
    ]
    """Drift b: the coefficients of its terms, by variable [state/time]. The variables may have any
    names; they are x, y, z, … in this order in the result's keys. A model such as
    `{"x": {"v": 1}, "v": {"x": -4, "v": -1}}`, in which half of the variables are velocities of the
    others and only these have noise, is of second order: its keys are x and v, or x, y, … and
    vx, vy, …"""
    diffusion: Annotated[
        dict[Name, Coefficients],
        Field(min_length=1, max_length=2080, examples=[{"x,x": {"1": 0.25}}]),
    ]
    """Diffusion a: the coefficients of its terms, by pair of variables, e.g. `{"x,x": {"1":
    0.25}}` [state²/time]."""
    domain: Annotated[
        dict[Name, Interval], Field(max_length=64, examples=[{"x": [0.0, None]}])
    ] = {}
    """Known bounds of a variable; `null` means unbounded [state]."""
    periodic: Annotated[
        dict[Name, Annotated[float, Field(gt=0)]], Field(max_length=64, examples=[{"x": 360.0}])
    ] = {}
    """Period of each periodic variable (an angle), e.g. `{"x": 360}` [state]."""

    @field_validator("drift", "diffusion")
    @classmethod
    def _terms_name_variables_that_have_a_drift(
        cls, value: dict[str, dict[str, float]], info: ValidationInfo
    ) -> dict[str, dict[str, float]]:
        if info.context is CHECKED:
            return value
        known = (value if info.field_name == "drift" else info.data.get("drift", {})).keys()
        for component, terms in value.items():
            for term in terms:
                unknown = sorted(variables_of(parse(term)) - known)
                if known and unknown:
                    names = ", ".join(unknown)
                    message = f"the term {term} of {component} names {names}, which has no drift"
                    raise PydanticCustomError("term", "{message}", {"message": message})
        return value


class ModelOfJob(Document):
    """The model identified by an earlier job."""

    job: Annotated[Name, Field(examples=["job_0cp5v0sc0qk3mt7d2a8n4e6r1g"])]
    """Id of that job, which must have succeeded."""


Place = (
    float
    | Annotated[tuple[float, ...], Field(min_length=1, max_length=64)]
    | Annotated[dict[Name, Interval], Field(max_length=64)]
)
"""In one variable a number. In several variables a point such as `[0.5, 0]`, or a region: an
interval for each variable, e.g. `{"x": [0.8, null]}`. A `null` bound and a variable that is not
named are unbounded [state]."""


class PassageRequest(Document):
    """A first-passage time to compute [state].

    In one variable, between two numbers. In two variables, the target is a region and the start
    is a point or a region; from a region, the time is the mean over the stationary distribution
    restricted to it. Of a position and its velocity, two numbers are positions: the path starts at
    rest, and arrives where it first crosses the other number.
    """

    from_: Annotated[Place, Field(alias="from", examples=[-1.0, {"x": [None, -0.8]}])]
    """Start of the passage [state]."""
    to: Annotated[Place, Field(examples=[1.0, {"x": [0.8, None]}])]
    """Target of the passage [state]."""


class CommittorRequest(Document):
    """A committor to compute: the probability of reaching `to` before `from`.

    Both are numbers in one variable, or positions of a model of second order; regions in two
    variables [state].
    """

    from_: Annotated[Place, Field(alias="from", examples=[-1.0, {"x": [None, -0.8]}])]
    """The set that must not be reached first [state]."""
    to: Annotated[Place, Field(examples=[1.0, {"x": [0.8, None]}])]
    """The set to be reached first [state]."""


class ExitRequest(Document):
    """An interval of one variable and a starting point in it [state].

    For an angle, the interval is the arc from `low` up to `high`.
    """

    from_: Annotated[float, Field(alias="from", examples=[0.0])]
    """Starting point, between `low` and `high` [state]."""
    low: Annotated[float, Field(examples=[-1.0])]
    """Lower end of the interval [state]."""
    high: Annotated[float, Field(examples=[1.0])]
    """Upper end of the interval [state]."""


class AnalysisParameters(Document):
    """Quantities to derive from the generator L f = b f' + ½ a f'' of a model."""

    model_only: bool = False
    """Fit only: estimate drift and diffusion, skip derived quantities. `generator` is then
    empty, and the model is not compared with the data at longer times. This takes a tenth of the
    computing time. For identifications only."""
    passages: Annotated[
        tuple[PassageRequest, ...], Field(max_length=100, examples=[[{"from": -1.0, "to": 1.0}]])
    ] = ()
    """Additional mean first-passage times to compute. Those between neighbouring wells are
    always computed."""
    committors: Annotated[
        tuple[CommittorRequest, ...], Field(max_length=20, examples=[[{"from": -1.0, "to": 1.0}]])
    ] = ()
    """Additional committors to compute. Those between neighbouring wells are always computed."""
    exits: Annotated[
        tuple[ExitRequest, ...],
        Field(max_length=100, examples=[[{"from": 0.0, "low": -1.0, "high": 1.0}]]),
    ] = ()
    """Intervals for which to compute exit probabilities and mean exit times; one variable only."""
    inputs: Annotated[
        dict[Name, Annotated[float, Field(allow_inf_nan=False)]],
        Field(max_length=16, examples=[{"u": 1.5}]),
    ] = {}
    """Value of each input at which the model is analysed, and of the time `t` where it has a trend;
    by default their means. Periodic forcing is zero in this analysis, its mean over a period. For
    identifications only."""
    density_points: Annotated[int, Field(ge=10, le=20_000)] = 400
    """Number of grid points for the stationary density and the local relaxation rate."""
    eigenpairs: Annotated[int, Field(ge=1, le=50)] = 5
    """Number of non-zero eigenvalues to compute."""
    eigenfunctions: bool = False
    """If true, the eigenfunctions are returned on the grid of the stationary density."""
    lags: Annotated[int, Field(ge=2, le=2_000)] = 100
    """Number of lags of the model's autocorrelation function, from 0 to five relaxation times."""
    frequencies: Annotated[int, Field(ge=2, le=2_000)] = 100
    """Number of frequencies of the model's power spectral density, around its relaxation rates."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Confidence level of every interval in the result."""
    reflecting_ends: bool = False
    """If the model has no stationary distribution: analyse it on the range of the data (or on
    the domain) with reflecting boundaries, and label the result so."""

    @model_validator(mode="after")
    def _nothing_is_asked_of_the_model_alone(self) -> Self:
        asked = [
            name
            for name in (
                "passages",
                "committors",
                "exits",
                "inputs",
                "eigenfunctions",
                "reflecting_ends",
            )
            if getattr(self, name)
        ]
        if self.model_only and asked:
            raise ValueError(
                f"model_only skips derived quantities: omit {', '.join(asked)}, or model_only"
            )
        return self
