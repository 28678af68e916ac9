"""Parameters of a generator analysis: a model in, time scales and stationary law out."""

from typing import Annotated, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from contract.base import Document, Interval, Name
from contract.terms import Term
from grammar.terms import parse, variables_of

Coefficients = Annotated[dict[Term, float], Field(max_length=100, examples=[{"x": 1.0, "x^3": -1.0}])]
"""Coefficient of each term, e.g. `{"x": 1, "x^3": -1}`."""


class ModelTerms(Document):
    """dX = b dt + σ dW, given by the terms of b and of a = σσᵀ."""

    drift: Annotated[dict[Name, Coefficients], Field(min_length=1, max_length=64, examples=[{"x": {"x": 1.0, "x^3": -1.0}}])]
    """b by variable [state/time]."""
    diffusion: Annotated[dict[Name, Coefficients], Field(min_length=1, max_length=2080, examples=[{"x,x": {"1": 0.25}}])]
    """a by pair of variables, e.g. `{"x,x": {"1": 0.25}}` [state²/time]."""
    domain: Annotated[dict[Name, Interval], Field(max_length=64, examples=[{"x": [0.0, None]}])] = {}
    """Known bounds of a variable; open where not given [state]."""
    periodic: Annotated[dict[Name, Annotated[float, Field(gt=0)]], Field(max_length=64, examples=[{"x": 360.0}])] = {}
    """Period of each variable that is an angle, e.g. `{"x": 360}` [state]."""

    @field_validator("drift", "diffusion")
    @classmethod
    def _terms_name_variables_that_have_a_drift(
        cls, value: dict[str, dict[str, float]], info: ValidationInfo
    ) -> dict[str, dict[str, float]]:
        known = (value if info.field_name == "drift" else info.data.get("drift", {})).keys()
        for component, terms in value.items():
            for term in terms:
                unknown = sorted(variables_of(parse(term)) - known)
                if known and unknown:
                    message = f"the term {term} of {component} names {', '.join(unknown)}, which has no drift"
                    raise PydanticCustomError("term", "{message}", {"message": message})
        return value


class ModelOfJob(Document):
    """The model that an earlier job identified."""

    job: Annotated[Name, Field(examples=["job_0cp5v0sc0qk3mt7d2a8n4e6r1g"])]
    """Its id; the job must have succeeded."""


Place = (
    float
    | Annotated[tuple[float, ...], Field(min_length=1, max_length=64)]
    | Annotated[dict[Name, Interval], Field(max_length=64)]
)
"""Of one variable a number. Of several a point, `[0.5, 0]`, or a region: an interval for each variable, open where an end is
`null` and for variables that are not named, e.g. `{"x": [0.8, null]}` [state]."""


class PassageRequest(Document):
    """A first passage to be timed [state].

    Between two numbers of one variable. In two variables the goal is a region; the start is a point, or a region: then the time
    is the mean over the stationary law in it.
    """

    from_: Annotated[Place, Field(alias="from", examples=[-1.0, {"x": [None, -0.8]}])]
    """Where it begins [state]."""
    to: Annotated[Place, Field(examples=[1.0, {"x": [0.8, None]}])]
    """Where it ends [state]."""


class CommittorRequest(Document):
    """Two numbers of one variable, or two regions of two: how likely is the second entered before the first? [state]"""

    from_: Annotated[Place, Field(alias="from", examples=[-1.0, {"x": [None, -0.8]}])]
    """The place not to be entered first [state]."""
    to: Annotated[Place, Field(examples=[1.0, {"x": [0.8, None]}])]
    """The place to be entered first [state]."""


class ExitRequest(Document):
    """An interval of one variable, and a state in it; of an angle the arc from `low` up to `high` [state]."""

    from_: Annotated[float, Field(alias="from", examples=[0.0])]
    """Where it begins, between the ends [state]."""
    low: Annotated[float, Field(examples=[-1.0])]
    """Lower end of the interval [state]."""
    high: Annotated[float, Field(examples=[1.0])]
    """Upper end of the interval [state]."""


class AnalysisParameters(Document):
    """What to read off the generator L f = b f' + ½ a f''."""

    model_only: bool = False
    """Of an identification: drift and diffusion with their errors, and nothing read off them. `generator` then holds no numbers,
    and the model is not compared with the data at longer times. A tenth of the computing time."""
    passages: Annotated[tuple[PassageRequest, ...], Field(max_length=100, examples=[[{"from": -1.0, "to": 1.0}]])] = ()
    """Passages to time, besides those between neighbouring wells."""
    committors: Annotated[tuple[CommittorRequest, ...], Field(max_length=20, examples=[[{"from": -1.0, "to": 1.0}]])] = ()
    """Committors to give, besides those between neighbouring wells."""
    exits: Annotated[tuple[ExitRequest, ...], Field(max_length=100, examples=[[{"from": 0.0, "low": -1.0, "high": 1.0}]])] = ()
    """Intervals of one variable: at which end, and how soon, are they left?"""
    density_points: Annotated[int, Field(ge=10, le=20_000)] = 400
    """Points of the grid on which stationary density and local relaxation rate are given."""
    eigenpairs: Annotated[int, Field(ge=1, le=50)] = 5
    """Number of non-zero eigenvalues."""
    eigenfunctions: bool = False
    """Also return the eigenfunctions on the density's grid."""
    lags: Annotated[int, Field(ge=2, le=2_000)] = 100
    """Lags at which the model's autocorrelation function is given, from 0 to five relaxation times."""
    frequencies: Annotated[int, Field(ge=2, le=2_000)] = 100
    """Frequencies at which its power spectral density is given, around its relaxation rates."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Coverage of every interval in the result."""
    reflecting_ends: bool = False
    """Where the model has no stationary law: analyse it on the data's range (or the domain) with reflecting ends, labelled so."""

    @model_validator(mode="after")
    def _nothing_is_asked_of_the_model_alone(self) -> Self:
        asked = [name for name in ("passages", "committors", "exits", "eigenfunctions", "reflecting_ends") if getattr(self, name)]
        if self.model_only and asked:
            raise ValueError(f"with model_only nothing is read off the model: leave out {', '.join(asked)}, or model_only")
        return self
